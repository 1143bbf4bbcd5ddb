/* SPDX-License-Identifier: MIT */
#include "bench/peers/peer.h"

extern const char bench_numpy_text[]; /* run_numpy.py, by the build */

bool bench_python_start(bench_peer *peer, const char *text, const char *word)
{
    /* The first of PATH, else the system's. */
    static const char *const files[] = {"python3", "/usr/bin/python3"};
    char option[] = "-c", name[] = "python3";
    bool started = false;
    for (size_t i = 0; i < sizeof files / sizeof files[0] && !started; i++) {
        char *const arguments[] = {name, option, (char *)text, (char *)word,
                                   NULL};
        started = bench_peer_spawn(peer, files[i], arguments);
    }
    return started;
}

bool bench_numpy_start(bench_peer *peer)
{
    return bench_python_start(peer, bench_numpy_text, NULL);
}
