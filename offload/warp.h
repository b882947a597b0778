/* SPDX-License-Identifier: Apache-2.0 */
/* How the lanes of a warp share the columns of an alignment (warp.inc), known to the host, which chooses, and
 * to kernels.
 *
 * What columns score lies in a profile: a row for each symbol, a chunk in the row for each lane, with a word
 * of 4 bytes or a byte for each of its columns. */
#ifndef DAVIT_OFFLOAD_WARP_H
#define DAVIT_OFFLOAD_WARP_H

#include <stdbool.h>
#include <stdint.h>

#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"

/* Numbers of columns of a lane. Kernels of few registers are made for the first DVT_SHAPES, those of pairs of scores
 * that may take more registers for all. */
enum { DVT_SHAPES = 5, DVT_ALL_SHAPES = 11, DVT_MAX_COLUMNS = 32 * 48 };

typedef struct dvt_shape {
  int index;       /* of the kernel */
  int64_t columns; /* of a lane */
  int64_t lanes;   /* a power of two, at most 32; 0: so many columns fit no shape */
  int64_t chunk;   /* bytes */
} dvt_shape;

static inline int64_t dvt_shape_columns(int index) {
  static const uint8_t columns[DVT_ALL_SHAPES] = {16, 20, 24, 28, 32, 26, 30, 36, 40, 44, 48};
  return columns[index];
}

static inline int64_t dvt_shape_chunk(int64_t columns, bool bytes) {
  return bytes ? (columns + 15) / 16 * 16 : 4 * columns;
}

/* Instructions of a row of all lanes: of those of a lane, 25 are not for its columns. */
static inline int64_t dvt_shape_cost(int64_t lanes, int64_t columns) {
  return lanes * (7 * columns + 25);
}

/* The shape, of the first so many, that computes a row of so many columns fastest. */
static inline dvt_shape dvt_shape_of(int64_t columns, bool bytes, int count) {
  dvt_shape best = {0};
  int64_t minimum = INT64_MAX;
  for (int i = 0; i < count; i++)
    for (int64_t lanes = 1; lanes <= 32; lanes *= 2) {
      const int64_t each = dvt_shape_columns(i), cost = dvt_shape_cost(lanes, each);
      if (lanes * each < columns || cost >= minimum)
        continue;
      minimum = cost;
      best = (dvt_shape){i, each, lanes, dvt_shape_chunk(each, bytes)};
    }
  return best;
}

/* Where column j is in a row, in bytes. Of chunks of 32 bytes the halves are exchanged in lanes 4 … 7 of each
 * 8, so that 8 lanes that read a row read different banks, as they do with chunks of 16 or 48. */
static inline int64_t dvt_profile_place(int64_t j, int64_t columns, int64_t chunk, bool bytes) {
  const int64_t lane = j / columns, c = j % columns, swapped = chunk == 32 ? (lane & 4) << 2 : 0;
  return lane * chunk + (bytes ? c ^ swapped : 4 * c);
}

#ifdef DVT_NVIDIA
/* Two scores side by side in a word: there are instructions for them. */
typedef short dvt_pair __attribute__((vector_size(4)));

DVT_INLINE dvt_pair dvt_pair_of(int both) {
  return (dvt_pair){(short)both, (short)both};
}

/* Copies a profile into the team's memory. */
DVT_INLINE void dvt_fetch_profile(const char *profile, int64_t bytes, int threads) {
  for (int64_t at = 16 * dvt_thread(); at < bytes; at += 16 * threads) {
    uint32_t word[4];
    dvt_load_constant_16(profile + at, word);
    for (int w = 0; w < 4; w++)
      *(DVT_TEAM uint32_t *)(DVT_TEAM void *)(dvt_team_memory + at + 4 * w) = word[w];
  }
  dvt_barrier();
}
#endif

#endif
