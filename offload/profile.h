/* How a GPU's lanes share the columns of an alignment, and how the profile that they read lies (offload/align_kernel.h): a row
 * for each symbol, a chunk for each lane of the row. Known to the host, which chooses, and to kernels. */
#ifndef DAVIT_OFFLOAD_PROFILE_H
#define DAVIT_OFFLOAD_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

enum { DVT_SHAPES = 5, DVT_MOST_COLUMNS = 32 * 32 };

typedef struct dvt_shape {
  int index;       /* of the kernel */
  int64_t columns; /* of a lane */
  int64_t lanes;   /* a power of two, at most 32; 0: so many columns fit no shape */
  int64_t chunk;   /* bytes */
} dvt_shape;

static inline int64_t dvt_shape_columns(int index) {
  return 16 + 4 * index;
}

static inline int64_t dvt_shape_chunk(int64_t columns, bool bytes) {
  return !bytes ? 4 * columns : columns > 16 ? 32 : 16;
}

/* The shape in which a row of so many columns costs least (between powers of two of lanes any number fits one without much loss): of the instructions of a lane, 25 are not for its columns. */
static inline dvt_shape dvt_shape_of(int64_t columns, bool bytes) {
  dvt_shape best = {0};
  int64_t least = INT64_MAX;
  for (int i = 0; i < DVT_SHAPES; i++)
    for (int64_t lanes = 1; lanes <= 32; lanes *= 2) {
      const int64_t each = dvt_shape_columns(i), cost = lanes * (7 * each + 25);
      if (lanes * each < columns || cost >= least)
        continue;
      least = cost;
      best = (dvt_shape){i, each, lanes, dvt_shape_chunk(each, bytes)};
    }
  return best;
}

/* Where column j is in a row, in bytes. */
static inline int64_t dvt_profile_place(int64_t j, int64_t columns, int64_t chunk, bool bytes) {
  const int64_t lane = j / columns, c = j % columns, swapped = chunk == 32 ? (lane & 4) << 2 : 0;
  return lane * chunk + (bytes ? c ^ swapped : 4 * c);
}

#endif
