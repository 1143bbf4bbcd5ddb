/* SPDX-License-Identifier: MIT */
/* OpenBLAS in a process of its own, because its core type can be chosen only
 * before it is loaded. */
#ifndef CLI_PEER_H
#define CLI_PEER_H

#include <stdbool.h>

#include <headrace/headrace.h>

#include "child.h"

typedef struct cli_peer {
    cli_child child;
    char core[48]; /* as OpenBLAS says */
} cli_peer;

enum { CLI_PEERS_MAX = 8 };

/* Start one process for each core type that OpenBLAS accepts on this CPU, its
 * own choice first. Returns how many: 0 when there is no OpenBLAS. */
int cli_peers_start(cli_peer peers[CLI_PEERS_MAX]);

/* Have a peer multiply once; it keeps its random operands for the next time.
 * False when it cannot. */
bool cli_peer_run(cli_peer *peer, hr_type type, const int64_t mnk[3],
                  double *seconds);

void cli_peers_stop(cli_peer *peers, int count);

#endif
