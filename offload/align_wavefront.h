/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps over the matrix of one long alignment (align_sweep.h) on an NVIDIA device: all of the device works on
 * one pair, in scores of 32 bits. They are the scores of the CPU's sweeps, to the bit.
 *
 * Strips of rows, a warp for each, go through the columns in a wavefront: a strip is some columns behind the one
 * above it, whose last row it gets through memory. Several sweeps run side by side. Cost: m n cells of 8.5
 * instructions; 17 n + 17 m bytes on the device, a profile, and 8 m for each column that is kept, 17 m on the host. */
#ifndef DAVIT_OFFLOAD_ALIGN_WAVEFRONT_H
#define DAVIT_OFFLOAD_ALIGN_WAVEFRONT_H

#include "offload/align_sweep.h"
#include "src/base/operation.h"

/* A sweep as the device sees it. */
typedef struct dvt_align_part {
  int64_t query, target; /* places of the first symbols */
  int64_t m, n, step, first_gap;
  int64_t team, border, rows; /* what the sweeps before it have of strips, columns and rows */
} dvt_align_part;

typedef struct dvt_align_wavefront {
  dvt_stream *stream;
  const dvt_align_costs *costs;
  const uint8_t *query, *target; /* the host's */
  int8_t *matrix;                /* from here on the device's: the matrix or the profile, */
  uint8_t *device_query;         /* NULL with a profile */
  uint8_t *device_target;
  dvt_align_part *device_parts;
  uint64_t *border;
  int32_t *
      results; /* of each sweep h, then d of its last column; behind them 4 words for each strip, its best cell */
  int32_t *kept; /* columns as dvt_align_kept describes them, without row 0; NULL: none */
  int64_t every;
  dvt_align_part *parts; /* the host's, pinned, as the following */
  int32_t *staging;      /* for `results` */
} dvt_align_wavefront;

/* Whether all scores of sweeps over at most m rows and n columns fit. */
bool dvt_align_wavefront_fits(const dvt_align_costs *costs, int64_t m, int64_t n);

/* Seconds that a sweep takes on a large device, by a simple model. */
double dvt_align_wavefront_seconds(int64_t m, int64_t n);

/* Memory of the device and of the host, pinned, for sweeps at the same time over at most 2 m rows and n
 * columns together. A sweep over all of the pair may keep one column in `every` (dvt_align_kept), unless that is 0. */
size_t dvt_align_wavefront_bytes(const dvt_align_costs *costs, int64_t m, int64_t n, int64_t every);
size_t dvt_align_wavefront_staging_bytes(int64_t m);

/* Copies the sequences to the device; `there`: where it has the target already, or NULL. Sequences and memory
 * are used until the last sweep is over; nothing is to be freed. */
davit_status dvt_align_wavefront_open(dvt_stream *stream, const dvt_align_costs *costs, int64_t m,
                                      const uint8_t *query, int64_t n, const uint8_t *target, uint8_t *there,
                                      int64_t every, void *memory, void *staging,
                                      dvt_align_wavefront *wavefront);

/* dvt_align_edge(costs, m, first, h, d) and dvt_align_sweep() for up to DVT_ALIGN_WAVEFRONT_SWEEPS parts of the
 * pair at the same time, or for all of it with columns kept. Waits. Until the next call dvt_align_wavefront_column()
 * gives h and d of the last column of one. */
enum { DVT_ALIGN_WAVEFRONT_SWEEPS = 1024 };
typedef struct dvt_align_wavefront_sweep {
  dvt_align_stretch s;
  int64_t first;
} dvt_align_wavefront_sweep;
davit_status dvt_align_wavefront_sweeps(const dvt_align_wavefront *wavefront, int count,
                                        const dvt_align_wavefront_sweep *sweeps, bool keep);
void dvt_align_wavefront_column(const dvt_align_wavefront *wavefront, int which, int64_t *h, int64_t *d);

/* dvt_align_best() from the edge of a local alignment, or from that of a global one, and then with the last column
 * for dvt_align_wavefront_column() too. Waits. */
davit_status dvt_align_wavefront_best(const dvt_align_wavefront *wavefront, const dvt_align_stretch *s,
                                      bool local, bool keep, dvt_align_cell *best);

/* Rows first, 1 or more, to last of column (which + 1) every, which the last sweep over all m rows with `keep` has
 * left; until the next call. Waits. */
davit_status dvt_align_wavefront_kept(const dvt_align_wavefront *wavefront, int64_t m, int64_t which,
                                      int64_t first, int64_t last, const int32_t **h, const int32_t **d);

#endif
