/* SPDX-License-Identifier: Apache-2.0 */
/* What a 2-D copy between known places is. */
#ifndef DAVIT_SRC_RUNTIME_PITCH_H
#define DAVIT_SRC_RUNTIME_PITCH_H

#include <stddef.h>

typedef struct dvt_copy {
  void *destination;
  const void *source;
  size_t destination_pitch, source_pitch, row_bytes, cols; /* bytes; columns of row_bytes */
  int destination_place, source_place;
} dvt_copy;

/* `bytes` bytes in one column. */
static inline dvt_copy dvt_copy_bytes(size_t bytes, const void *source, int source_place, void *destination,
                                      int destination_place) {
  return (dvt_copy){destination, source, bytes, bytes, bytes, 1, destination_place, source_place};
}

#endif
