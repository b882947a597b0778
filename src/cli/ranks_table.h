/* SPDX-License-Identifier: Apache-2.0 */
/* What the tool needs of MPI. Loaded from libdavit_ranks.so, of the same build as the tool. All but `open` and
 * `close` are called where several ranks work, by all of them in the same order (ranks.h). */
#ifndef DAVIT_SRC_CLI_RANKS_TABLE_H
#define DAVIT_SRC_CLI_RANKS_TABLE_H

#include <davit/scan.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_ranks_table {
  const char *version; /* DAVIT_VERSION */
  /* This rank of how many, and the same among the ranks of this machine. */
  davit_status (*open)(int *rank, int *count, int *local_rank, int *local_count);
  void (*close)(void);

  /* The code and the text of the first rank whose code is not 0, and its number; without one, 0. The text is on
   * rank 0 alone. Waits without using a core. */
  int (*agree)(int code, size_t bytes, char *text, int *first);

  /* From rank 0 to all; and in pairs: to rank 0, and there from `rank`, with as many bytes. */
  void (*share)(size_t bytes, void *data);
  void (*send)(size_t bytes, const void *data);
  void (*receive)(int rank, size_t bytes, void *data);

  /* davit_reduce() and davit_segmented_scan() of an array in pieces, one on each rank; flags NULL: no segments. */
  davit_status (*reduce)(davit_operator op, davit_type type, int64_t n, const void *x, void *result);
  davit_status (*scan)(davit_operator op, davit_type type, davit_scan_kind kind, int64_t n, const void *x,
                       const uint8_t *flags, void *y);

  /* That of davit_level3_processes; waits as agree() does. */
  void (*maxima)(void *context, int count, double *values);
} cli_ranks_table;

#define CLI_RANKS_LIBRARY "libdavit_ranks.so"
#define CLI_RANKS_SYMBOL "cli_ranks_mpi"

#endif
