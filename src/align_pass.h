/* SPDX-License-Identifier: Apache-2.0 */
/* A pass over the matrix of an alignment that keeps one column of it, h and d as offload/align_tile.h says:
 * what src/align_trace.c is made of.
 *
 * Several threads share a pass: each has a band of rows, and goes through the columns a block behind the band
 * above, whose last row it needs. */
#ifndef DAVIT_SRC_ALIGN_PASS_H
#define DAVIT_SRC_ALIGN_PASS_H

#include <davit/status.h>

#include "offload/align_tile.h"

/* How tiles are made, and threads and what they need. */
typedef struct dvt_align_team {
  dvt_align_tiling tiling;
  int threads;
  struct dvt_align_band *bands;
} dvt_align_team;

/* For passes with these costs over at most m rows and n columns. */
davit_status dvt_align_team_open(const dvt_align_costs *costs, int64_t m, int64_t n, int threads,
                                 dvt_align_team *team);
void dvt_align_team_close(dvt_align_team *team);

/* Column 0 of a global alignment whose first gap of target symbols costs `first` to open. */
void dvt_align_edge(const dvt_align_costs *costs, int64_t m, int64_t first, int64_t *h, int64_t *d);

/* From column 0 in h and d, of m + 1 each, to column n of a global alignment. `steps` are noted unless it is
 * NULL, and take dvt_align_steps_bytes(m n). */
void dvt_align_pass(const dvt_align_costs *costs, const dvt_align_stretch *s, dvt_align_team *team,
                    int64_t *h, int64_t *d, uint8_t *steps);

/* The same without steps for the best cell, of equal ones the first by column, then row; all 0 if none scores
 * above 0. No score of h falls below `least`. A cell that scores `enough` ends the pass. */
dvt_align_cell dvt_align_best(const dvt_align_costs *costs, const dvt_align_stretch *s, int64_t least,
                              int64_t enough, dvt_align_team *team, int64_t *h, int64_t *d);

#endif
