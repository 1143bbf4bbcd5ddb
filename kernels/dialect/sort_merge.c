/* SPDX-License-Identifier: MIT */
/* Sorted runs of one row become one run, by merge paths [Green2012]. Behind
 * sort_keys.c. */
#if defined(HR_HAS_DOUBLE) /* as hr_scan, whose kernel scans the counts */

#ifndef CARRIED

/* How many elements of a run are below some numbers: those that begin with a
 * prefix and go on with each digit. */
HR_KERNEL5(KERNEL(ranks), (IN, KEY, 2, run), (IN, unsigned long, 2, prefixes),
           (OUT, long, 2, ranks), (VALUE, hri_sort_form, 0, form),
           (VALUE, int, 0, shift))
{
    HR_EACH2(q, digit)
    {
        const KEY least =
            (KEY)(HR_AT2(prefixes, q, 0) | (unsigned long)digit << shift);
        hr_index low = 0, high = HR_EXTENT(run, 1);
        while (low < high) {
            const hr_index middle = low + (high - low) / 2;
            if (key_of(HR_AT2(run, 0, middle), form) < least) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        HR_AT2(ranks, q, digit) = low;
    }
}

#endif

/* An item makes `each` elements of the result. Of equal ones those of the left
 * run come first. The right run has its first `rights` elements. */
#define MERGE                                                                  \
    HR_EACH2(line, item)                                                       \
    {                                                                          \
        const hr_index lefts = HR_EXTENT(left, 1), all = lefts + rights;       \
        const hr_index first = item * each;                                    \
        const hr_index end = first + each < all ? first + each : all;          \
        hr_index i = first > rights ? first - rights : 0;                      \
        hr_index high = first < lefts ? first : lefts;                         \
        while (i < high) {                                                     \
            const hr_index middle = i + (high - i) / 2;                        \
            if (key_of(HR_AT2(left, line, middle), form) <=                    \
                key_of(HR_AT2(right, line, first - 1 - middle), form)) {       \
                i = middle + 1;                                                \
            } else {                                                           \
                high = middle;                                                 \
            }                                                                  \
        }                                                                      \
        for (hr_index k = first; k < end; k++) {                               \
            const hr_index j = k - i;                                          \
            const int take =                                                   \
                j >= rights ||                                                 \
                (i < lefts && key_of(HR_AT2(left, line, i), form) <=           \
                                  key_of(HR_AT2(right, line, j), form));       \
            HR_AT2(to, line, k) =                                              \
                take ? HR_AT2(left, line, i) : HR_AT2(right, line, j);         \
            CARRY(HR_AT2(to_values, line, k) =                                 \
                      take ? HR_AT2(left_values, line, i)                      \
                           : HR_AT2(right_values, line, j);)                   \
            i += take;                                                         \
        }                                                                      \
    }

#ifdef CARRIED
HR_KERNEL9(KERNEL(merge), (IN, KEY, 2, left), (IN, CARRIED, 2, left_values),
           (IN, KEY, 2, right), (IN, CARRIED, 2, right_values),
           (OUT, KEY, 2, to), (OUT, CARRIED, 2, to_values),
           (VALUE, hri_sort_form, 0, form), (VALUE, hr_index, 0, rights),
           (VALUE, hr_index, 0, each)){MERGE}
#else
HR_KERNEL6(KERNEL(merge), (IN, KEY, 2, left), (IN, KEY, 2, right),
           (OUT, KEY, 2, to), (VALUE, hri_sort_form, 0, form),
           (VALUE, hr_index, 0, rights), (VALUE, hr_index, 0, each))
{
    MERGE
}
#endif

#endif
