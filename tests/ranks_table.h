/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that are children of one process, for tests of the tool. What the tool needs of MPI (src/cli/ranks_table.h) is a
 * table of ranks_table.c, which sends everything through rank 0. There each call is compared with that of the other rank,
 * so a call that only some ranks make is found at once and named; with MPI the job would hang.
 *
 * The program is linked with --wrap=dlopen, and exports cli_ranks_mpi: the tool finds the table where it looks for its
 * library. */
#ifndef DAVIT_TESTS_RANKS_TABLE_H
#define DAVIT_TESTS_RANKS_TABLE_H

#include <stdbool.h>

#include "src/base/inject.h"

enum { RANKS = 3, TEXT = 4096 };
enum { UNLIKE = 97, ALONE = 98 }; /* exit codes of a child: another call than rank 0's; a rank has gone */

/* What the children tell their parent, in memory that they share; the test sets it. */
typedef struct ranks_outcome {
  bool fired, closed[RANKS];
  int passages[RANKS][DVT_INJECTIONS]; /* until a rank closes, where count_passages() has been called */
  char why[256];                       /* of UNLIKE and ALONE */
} ranks_outcome;
extern ranks_outcome *outcome;

/* Of the calling process, which the test sets. */
extern int me;
extern int to[RANKS]; /* sockets: of rank 0 to all, of others to[0] */

/* As if the tool's library were not there. */
extern bool without_table;

#endif
