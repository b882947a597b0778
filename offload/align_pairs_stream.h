/* SPDX-License-Identifier: Apache-2.0 */
/* Many pairs on an NVIDIA device: scores and alignments of a batch, what the passes of ref/align_pair.h find. A thread
 * of the device has two pairs in words of 16 bits, or one in 32. Cost of two cells: a byte permutation, 5 maxima and 3
 * sums, and where their steps are noted 12 more; half a byte a noted cell in each direction. Of extensions with an X-drop
 * a warp has one (align_pairs_drop.inc). */
#ifndef DAVIT_OFFLOAD_ALIGN_PAIRS_STREAM_H
#define DAVIT_OFFLOAD_ALIGN_PAIRS_STREAM_H

#include "offload/runtime/launch.h"
#include "ref/align_pair.h"
#include "src/base/operation.h"

enum {
  DVT_PAIRS_LONGEST = 32000,     /* symbols of a query and of a target */
  DVT_PAIRS_NARROW_RANGE = 14000 /* scores and costs of pairs in 16 bits are no further from 0, */
};
enum {
  DVT_PAIRS_NARROW_LOCAL = 32000, /* or local scores alone, */
  DVT_PAIRS_NARROW_GAP = 1000,    /* and the cost of a gap's first symbol */
  DVT_PAIRS_WIDE_RANGE = 1 << 28, /* and all of those in 32 bits, and an X-drop */
  DVT_PAIRS_DROP_ROWS = 97,       /* of an anti-diagonal that always go with an X-drop */
  DVT_PAIRS_SLACK = 64            /* symbols more than a pair has, for which costs of gaps fit */
};

/* A pair of a batch: where its symbols begin among those of the batch, where its string ends, and its band. */
typedef struct dvt_pair_item {
  int64_t query, target, text;
  int32_t m, n, low, high;
} dvt_pair_item;

/* Neighbours of similar lengths, which a warp has: DVT_PAIRS_NARROW pairs, or half of them in 32 bits. */
enum { DVT_PAIRS_NARROW = 64, DVT_PAIRS_WIDE = 32 };
typedef struct dvt_pair_group {
  int32_t first, count, rows, columns; /* of the longest query and target */
} dvt_pair_group;

/* Of an extension with an X-drop: whether it came to an end of the query or the target, or was not done. */
typedef enum dvt_pairs_outcome { DVT_PAIRS_DONE, DVT_PAIRS_DROPPED, DVT_PAIRS_UNDONE } dvt_pairs_outcome;

typedef struct dvt_pair_found {
  int32_t score, query_begin, query_end, target_begin, target_end;
  int32_t length;  /* of the string, with its final 0 */
  int32_t outcome; /* a dvt_pairs_outcome */
} dvt_pair_found;

/* A batch. Host memory; `found` and `strings` are written. */
typedef struct dvt_pairs_work {
  const davit_align_scoring *scoring; /* gap_extend is not more than gap_open */
  davit_align_mode mode;
  int64_t x_drop;     /* of extensions; 0: none */
  bool full, columns; /* are wanted: stretches, strings */
  bool masked;        /* some pairs' bands leave cells out */
  const uint8_t *queries, *targets;
  int64_t query_symbols, target_symbols, count, groups, narrow; /* groups: first those in 16 bits */
  const dvt_pair_item *items;
  const dvt_pair_group *group;
  int64_t text_bytes;    /* of the longest possible strings, one after the other */
  size_t memory_bytes;   /* of the device, at most */
  dvt_pair_found *found; /* of the items; pinned, as the two that follow */
  int64_t *places;       /* of the strings */
  char *staging;         /* no string is longer than this */
  size_t staging_bytes;
  /* Strings come one after the other, that of item order[k] as the k-th, into memory that strings(owner, bytes) gives;
   * NULL: there is none. */
  const int32_t *order;
  char *(*strings)(void *owner, int64_t bytes);
  void *owner;
} dvt_pairs_work;

/* Waits. DAVIT_OUT_OF_DEVICE_MEMORY: `memory_bytes` are too few, or the device has not as many. */
davit_status dvt_pairs_stream(const dvt_site *site, const void *work);

#endif
