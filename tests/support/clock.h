/* SPDX-License-Identifier: MIT */
/* A clock of the test's own, in the place of that of base/clock.h. It stands
 * still while any thread of the process works. When all threads sleep, it goes
 * on to the first time that one of them waits for. So nothing is late because
 * the machine is busy, and nobody waits for an hour to pass.
 *
 * What sleeps and then works by itself is not seen: other processes, and sleep
 * without base/clock.h. Waiting awake (hri_linger) ends at once. tests/
 * CMakeLists.txt lists the programs that have this clock. */
#ifndef TEST_CLOCK_H
#define TEST_CLOCK_H

#include <stdint.h>

/* From now on the library has this clock. Before that it has the machine's.
 * Nothing of the library has been used. It finds no CBLAS: threads of one stay
 * awake for long after a product. */
void test_clock_start(void);

/* How much CPU time the process gets while its threads wait for a time, as if
 * so many of them worked. At first none. */
void test_clock_works(int threads);

/* So much time passes now, whoever works. */
void test_clock_pass(uint64_t ns);

#endif
