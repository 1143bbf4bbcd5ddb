/* SPDX-License-Identifier: MIT */
/* A machine of eight CPUs, in the place of the real one. Threads are told to
 * run on some of them, but are not moved. tests/CMakeLists.txt lists the
 * programs that have this machine. */
#ifndef TEST_CPUS_H
#define TEST_CPUS_H

#include <pthread.h>
#include <stdbool.h>

/* Every thread runs on this one. */
enum { CPUS = 8, CPU = 5 };

/* Whether the thread was told where to run. Otherwise it may use all. */
bool cpus_are_told(pthread_t thread);

/* New threads may have the names of those that have ended. */
void cpus_forget(void);

#endif
