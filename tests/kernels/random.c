/* SPDX-License-Identifier: MIT */
/* Random numbers one by one, in a file that is compiled with -ffast-math. */
#include <headrace/dialect.h>

/* What Philox makes of each counter: four numbers in a row. */
HR_KERNEL4(philox_words, (IN, long, 1, counters), (OUT, unsigned, 2, words),
           (VALUE, unsigned long, 0, seed), (VALUE, unsigned long, 0, stream))
{
    HR_EACH1(i)
    {
        const hr_random4 r =
            hr_philox(seed, stream, (unsigned long)HR_AT1(counters, i));
        for (int w = 0; w < 4; w++) {
            HR_AT2(words, i, w) = r.word[w];
        }
    }
}

/* Numbers of 32 bits, as random.h counts them. */
HR_KERNEL6(random_f32, (OUT, unsigned, 1, bits), (OUT, float, 1, uniform32),
           (OUT, float, 1, normal32), (VALUE, unsigned long, 0, seed),
           (VALUE, unsigned long, 0, stream), (VALUE, unsigned long, 0, offset))
{
    HR_EACH1(i)
    {
        const unsigned long n = offset + (unsigned long)i;
        const unsigned x = hr_philox(seed, stream, n / 4).word[n % 4];
        HR_AT1(bits, i) = x;
        HR_AT1(uniform32, i) = hr_uniform_f32(x);
        HR_AT1(normal32, i) = hr_normal_f32(x);
    }
}

#if defined(HR_HAS_DOUBLE)
/* Numbers of 64 bits, likewise. */
HR_KERNEL5(random_f64, (OUT, double, 1, uniform64), (OUT, double, 1, normal64),
           (VALUE, unsigned long, 0, seed), (VALUE, unsigned long, 0, stream),
           (VALUE, unsigned long, 0, offset))
{
    HR_EACH1(i)
    {
        const unsigned long n = offset + (unsigned long)i;
        const unsigned long x =
            hr_random_u64(hr_philox(seed, stream, n / 2), (int)(n % 2));
        HR_AT1(uniform64, i) = hr_uniform_f64(x);
        HR_AT1(normal64, i) = hr_normal_f64(x);
    }
}

/* Normal numbers of given bits. */
HR_KERNEL3(normals_of, (IN, unsigned long, 1, bits), (OUT, float, 1, floats),
           (OUT, double, 1, doubles))
{
    HR_EACH1(i)
    {
        const unsigned long x = HR_AT1(bits, i);
        HR_AT1(floats, i) = hr_normal_f32((unsigned)(x >> 32));
        HR_AT1(doubles, i) = hr_normal_f64(x);
    }
}
#endif
