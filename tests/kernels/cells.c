/* SPDX-License-Identifier: MIT */
/* Steps of grids with cells of one or more words. There is a word size for each
 * way of filling halos. tests/support/grid_model.c does the same. */
#include <headrace/dialect.h>

/* How many cells are read before and after one's own, and factors that make the
 * place matter. */
typedef struct reach {
    int before[3], after[3];
    int place[3];
} reach;

HR_FUNCTION unsigned long stirred(unsigned long sum, unsigned long value)
{
    return (sum ^ value) * 16777619ul + 7ul;
}

/* Each word of a cell becomes a mix of the same words of all cells around. */
#define STIR(bytes, word, words)                                               \
    typedef struct cell##bytes {                                               \
        word of[words];                                                        \
    } cell##bytes;                                                             \
    HR_KERNEL3(stir1_##bytes, (IN, cell##bytes, 1, from),                      \
               (OUT, cell##bytes, 1, to), (VALUE, reach, 0, r))                \
    {                                                                          \
        HR_EACH1(i)                                                            \
        {                                                                      \
            cell##bytes c;                                                     \
            for (int w = 0; w < words; w++) {                                  \
                unsigned long sum = (unsigned long)(i * r.place[0] + w);       \
                for (int x = -r.before[0]; x <= r.after[0]; x++) {             \
                    sum = stirred(sum, HR_AT1(from, i + x).of[w]);             \
                }                                                              \
                c.of[w] = (word)sum;                                           \
            }                                                                  \
            HR_AT1(to, i) = c;                                                 \
        }                                                                      \
    }                                                                          \
    HR_KERNEL3(stir2_##bytes, (IN, cell##bytes, 2, from),                      \
               (OUT, cell##bytes, 2, to), (VALUE, reach, 0, r))                \
    {                                                                          \
        HR_EACH2(i, j)                                                         \
        {                                                                      \
            cell##bytes c;                                                     \
            for (int w = 0; w < words; w++) {                                  \
                unsigned long sum =                                            \
                    (unsigned long)(i * r.place[0] + j * r.place[1] + w);      \
                for (int y = -r.before[0]; y <= r.after[0]; y++) {             \
                    for (int x = -r.before[1]; x <= r.after[1]; x++) {         \
                        sum = stirred(sum, HR_AT2(from, i + y, j + x).of[w]);  \
                    }                                                          \
                }                                                              \
                c.of[w] = (word)sum;                                           \
            }                                                                  \
            HR_AT2(to, i, j) = c;                                              \
        }                                                                      \
    }                                                                          \
    HR_KERNEL3(stir3_##bytes, (IN, cell##bytes, 3, from),                      \
               (OUT, cell##bytes, 3, to), (VALUE, reach, 0, r))                \
    {                                                                          \
        HR_EACH3(i, j, k)                                                      \
        {                                                                      \
            cell##bytes c;                                                     \
            for (int w = 0; w < words; w++) {                                  \
                unsigned long sum =                                            \
                    (unsigned long)(i * r.place[0] + j * r.place[1] +          \
                                    k * r.place[2] + w);                       \
                for (int z = -r.before[0]; z <= r.after[0]; z++) {             \
                    for (int y = -r.before[1]; y <= r.after[1]; y++) {         \
                        for (int x = -r.before[2]; x <= r.after[2]; x++) {     \
                            sum = stirred(                                     \
                                sum, HR_AT3(from, i + z, j + y, k + x).of[w]); \
                        }                                                      \
                    }                                                          \
                }                                                              \
                c.of[w] = (word)sum;                                           \
            }                                                                  \
            HR_AT3(to, i, j, k) = c;                                           \
        }                                                                      \
    }

STIR(1, unsigned char, 1)
STIR(2, unsigned short, 1)
STIR(4, unsigned, 1)
STIR(8, unsigned long, 1)
STIR(12, unsigned, 3)
STIR(16, unsigned long, 2)
STIR(24, unsigned long, 3)
STIR(40, unsigned long, 5)

/* A view beside the grid, which the kernel indexes with cells of the grid. */
HR_KERNEL2(weighed, (OUT, float, 2, to), (IN, float, 1, weights))
{
    HR_EACH2(i, j)
    {
        HR_AT2(to, i, j) = HR_AT1(weights, i);
    }
}
