/* SPDX-License-Identifier: MIT */
/* Which threads there are, and how often they are woken. tests/CMakeLists.txt
 * lists the programs that count them. */
#ifndef TEST_THREADS_H
#define TEST_THREADS_H

/* Started by pthread_create and not joined yet, in the whole program. */
int threads_count(void);

/* How often pthread_cond_wait has returned, in all threads. */
long threads_woken(void);

#endif
