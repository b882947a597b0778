/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of one command: ranks that a launcher of MPI started together, as a rule one.
 *
 * Where a launcher started several, all run the same command. The tool is not linked with MPI: what it needs
 * of it is a table (ranks_table.h) in libdavit_ranks.so, which is loaded then.
 *
 * A command either divides its work (command.h), and goes through the same steps on all ranks, or runs on
 * rank 0 alone. Rank 0 reads standard input, writes, prints and reports. Messages of cli_fail() are kept
 * until the ranks agree on an exit code; then rank 0 prints that of the first rank that failed. Rank 0 goes
 * first.
 *
 * A rank that fails alone takes part in everything that all do, up to the next agreement: a collective call
 * stands behind no condition that may hold on some ranks only. After a failure that all agreed on, only
 * cli_ranks_close() is called. So a rank may also fail by closing before the others have agreed on anything.
 *
 * An error of MPI itself ends the job. */
#ifndef DAVIT_SRC_CLI_RANKS_H
#define DAVIT_SRC_CLI_RANKS_H

#include <stdbool.h>

#include "src/cli/ranks_table.h"

/* What needs MPI; NULL: nothing was launched. */
extern const cli_ranks_table *cli_ranks;

/* Joins the other ranks, if a launcher started any; all of them have to have the same first argument, the
 * command. CLI_DEVICE if they cannot be joined. */
int cli_ranks_open(const char *command);

/* The last call: agrees on the exit code, unless the ranks agreed on a failure before. Where ranks were joined
 * it ends the process with the code. */
int cli_ranks_close(int code);

/* 1 and 0 where this process works alone. */
int cli_ranks_count(void);
int cli_ranks_rank(void);

/* Several work on the command. */
static inline bool cli_ranks_several(void) {
  return cli_ranks_count() > 1;
}

/* This is rank 0. */
static inline bool cli_ranks_lead(void) {
  return cli_ranks_rank() == 0;
}

/* From now on rank 0 works alone. The others have nothing to do but to close; false on them. */
bool cli_ranks_alone(void);

/* CLI_USAGE, after a message, if several would read standard input. */
int cli_ranks_one_reader(void);

/* Of the ranks on this machine, how many there are, and which one this is; not collective. */
void cli_ranks_local(int *rank, int *count);

/* ---- collective, on all ranks in the same order ---- */

/* CLI_OK if all ranks have it, else the code of the first that has another. */
int cli_ranks_agree(int code);

/* If all have CLI_OK, rank 0 gets the bytes of every rank, one behind the other, in *all, which is to be freed, and
 * their number. Elsewhere *all becomes NULL. */
int cli_ranks_collect(int code, size_t bytes, const void *data, size_t *total, void **all);

/* Whether this rank has the same digest as rank 0. */
bool cli_ranks_same(uint64_t digest);

/* What every rank has to find in the files that all read; not collective. */
void cli_ranks_note(int64_t number);
/* CLI_INPUT, after a message, where the notes are not those of rank 0. */
int cli_ranks_compare_notes(void);

/* A digest of bytes, which begins as CLI_RANKS_DIGEST; not collective. */
#define CLI_RANKS_DIGEST UINT64_C(0xcbf29ce484222325)
uint64_t cli_ranks_digest(uint64_t digest, size_t bytes, const void *data);

/* From rank 0 to all. */
void cli_ranks_share(size_t bytes, void *data);

#endif
