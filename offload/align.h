/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of a query with many targets: what a device does for alignment. Arguments are valid. */
#ifndef DAVIT_OFFLOAD_ALIGN_H
#define DAVIT_OFFLOAD_ALIGN_H

#include <davit/align.h>
#include <stdbool.h>
#include <stddef.h>

#include "offload/runtime/stream.h"

/* The query, and what columns score. */
typedef struct dvt_align_query {
  const davit_align_scoring *scoring; /* gap_extend is not more than gap_open */
  int64_t m;
  const uint8_t *symbols;
  int largest; /* entry of the matrix, at least 0 */
} dvt_align_query;

/* A vector of the CPU holds so many targets in its narrowest words. */
enum { DVT_ALIGN_LANES = 64, DVT_ALIGN_PAD = 255 };

/* Targets, the longest first. The first `singles` are so much longer than those that follow that they are
 * aligned one by one; the rest goes in batches: batch b has the targets from singles + b DVT_ALIGN_LANES on,
 * in rows of DVT_ALIGN_LANES symbols, one of each, rows[b] … rows[b + 1] - 1 of `lanes`, and DVT_ALIGN_PAD
 * where a target has ended. */
typedef struct dvt_align_targets {
  int64_t count, singles, batches;
  int64_t *offsets;
  uint8_t *symbols;
  int64_t *rows;
  uint8_t *lanes;
} dvt_align_targets;

/* On the CPU with so many threads; scores in the order of the targets. */
davit_status dvt_align_cpu(const dvt_align_targets *targets, const dvt_align_query *query, int threads,
                           int32_t *scores);

/* Targets in a device's memory, as in dvt_align_targets, and room for their scores there. */
typedef struct dvt_align_device {
  int64_t *offsets;
  uint8_t *symbols;
  int32_t *scores;
} dvt_align_device;

/* On an NVIDIA device, if dvt_align_streams(); returns when it is done. `memory` is the device's, of
 * dvt_align_stream_bytes(); `scores` the host's, and best pinned. */
bool dvt_align_streams(const dvt_align_targets *targets, const dvt_align_query *query);
size_t dvt_align_stream_bytes(const dvt_align_targets *targets, const dvt_align_query *query);
davit_status dvt_align_stream(dvt_stream *stream, const dvt_align_targets *targets,
                              const dvt_align_device *device, const dvt_align_query *query, void *memory,
                              int32_t *scores);

/* On any device by a plain target region; returns when it is done. `memory` is the device's, of
 * dvt_align_target_bytes(). */
size_t dvt_align_target_bytes(const dvt_align_targets *targets, const dvt_align_query *query);
davit_status dvt_align_target(int device, const dvt_align_targets *targets, const dvt_align_device *d,
                              const dvt_align_query *query, void *memory, int32_t *scores);

#endif
