/* SPDX-License-Identifier: Apache-2.0 */
/* The targets of one device, the longest first, and queries against them.
 *
 * A share has parts. Part 0 lies in the device's memory for good. If that does not hold all targets, the other parts
 * lie in the host's, pinned if possible, and a query brings them to the device in turn: into two buffers, each while
 * the part before is searched, and the first two of them while part 0 is. So the link is no bound as long as it is
 * faster than the search. What a copy brings is one block, offsets and symbols. The CPU has one part, in batches.
 *
 * Memory: on the host 8 bytes a target and its symbols (on the CPU the symbols once more), and 4 a target for scores;
 * on the device the same without what is in no buffer. */
#ifndef DAVIT_SRC_ALIGN_SHARE_H
#define DAVIT_SRC_ALIGN_SHARE_H

#include "offload/align.h"
#include "src/runtime/lane.h"

/* A target of the caller's, and its symbols. */
typedef struct dvt_align_sized {
  int64_t length, which;
} dvt_align_sized;

typedef struct dvt_align_part {
  dvt_align_targets targets; /* within `image` */
  int64_t first;             /* of the share's targets */
  void *image;               /* offsets, then symbols: the host's */
  int place;                 /* of that memory */
  dvt_align_device device;   /* while the part is there */
} dvt_align_part;

typedef struct dvt_align_share {
  int number; /* of the device */
  dvt_lane *lane,
      *copies; /* NULL after a failure, until they are needed again; copies: where there are several parts */
  int64_t parts;
  dvt_align_part *part;
  void *resident,
      *buffer[2];  /* of the device: part 0, and what parts p = 1, 2, … are brought to, buffer[p % 2] */
  int32_t *scores; /* of all targets, the host's */
} dvt_align_share;

/* The operation on the targets of a part. */
extern const dvt_operation dvt_align_operation;

/* Of the `count` targets in *own, with at most so many bytes on the device; 0: as davit_align_database_options says.
 * The number is set, the rest 0. dvt_align_share_free() follows, also after a failure. */
davit_status dvt_align_share_make(dvt_align_share *share, const davit_align_sequences *targets, int64_t count,
                                  const dvt_align_sized *own, size_t cache_bytes);

/* Enqueues a query, which fills the scores. */
davit_status dvt_align_share_submit(dvt_align_share *share, const dvt_align_query *query);

/* Waits for the lanes' commands, also after a failure, and closes the lanes. */
void dvt_align_share_close(dvt_align_share *share, dvt_error *first);

/* Afterwards. */
void dvt_align_share_free(dvt_align_share *share);

#endif
