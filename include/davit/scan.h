/* SPDX-License-Identifier: Apache-2.0 */
/* Scan (prefix sums) and segmented scan, for any operator.
 *
 * Inclusive: y_i = x_0 ∘ … ∘ x_i. Exclusive: y_i = x_0 ∘ … ∘ x_{i-1}, and y_0 is the identity. y may be x; otherwise the
 * two must not overlap. A segmented scan starts again at each head: flags[i] != 0 marks element i as the first of a
 * segment. Element 0 is always a head. At a head the inclusive form copies the bits of x (those of a NaN may differ),
 * and the exclusive form writes the identity, +0 for sums.
 *
 * Operands keep their order, so operators need not be commutative. The order of combination depends only on an
 * element's place and on the flags: the bits are the same with any number of threads, on any device, in parts, and over
 * several devices. (Your own operators, if they round, may round differently on another kind of device.)
 *
 * Cost: one pass, which reads x (and flags) once and writes y once. Source: D. Merrill and M. Garland, Single-pass
 * Parallel Prefix Scan with Decoupled Look-back (2016), changed as docs/scan.md says; segments after G. Blelloch, Prefix
 * Sums and Their Applications (1990).
 * Thread safety: any thread; calls at the same time need distinct outputs. */
#ifndef DAVIT_SCAN_H
#define DAVIT_SCAN_H

#include <davit/operator.h>
#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum davit_scan_kind { DAVIT_SCAN_INCLUSIVE, DAVIT_SCAN_EXCLUSIVE } davit_scan_kind;

typedef struct davit_scan_options {
  const int *devices;   /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;     /* 0 with devices = NULL */
  bool mapped;          /* operands are mapped by OpenMP: docs/openmp.md */
  uint64_t reserved[4]; /* 0 */
} davit_scan_options;

/* Arrays may lie anywhere. If x and y (and flags) lie on one of the devices, that device scans them there; other arrays
 * are streamed through the devices. */
DAVIT_API davit_status davit_scan(davit_operator op, davit_type type, davit_scan_kind kind, int64_t n,
                                  const void *x, void *y, const davit_scan_options *options);
DAVIT_API davit_status davit_segmented_scan(davit_operator op, davit_type type, davit_scan_kind kind,
                                            int64_t n, const void *x, const uint8_t *flags, void *y,
                                            const davit_scan_options *options);

/* The queue's device must reach all arrays. */
DAVIT_API davit_status davit_queue_scan(davit_queue *queue, davit_operator op, davit_type type,
                                        davit_scan_kind kind, int64_t n, const void *x, void *y,
                                        const davit_scan_options *options);
DAVIT_API davit_status davit_queue_segmented_scan(davit_queue *queue, davit_operator op, davit_type type,
                                                  davit_scan_kind kind, int64_t n, const void *x,
                                                  const uint8_t *flags, void *y,
                                                  const davit_scan_options *options);

/* One part of a distributed array; its x, flags and y lie in the same place. */
typedef struct davit_scan_part {
  int64_t n;
  const void *x;
  const uint8_t *flags; /* of segmented scans */
  void *y;              /* may be x */
} davit_scan_part;

/* Scan an array in parts, each on the device where it lies, all at the same time. The scan continues from part to
 * part. */
DAVIT_API davit_status davit_scan_parts(davit_operator op, davit_type type, davit_scan_kind kind, int count,
                                        const davit_scan_part *parts);
DAVIT_API davit_status davit_segmented_scan_parts(davit_operator op, davit_type type, davit_scan_kind kind,
                                                  int count, const davit_scan_part *parts);

/* Head flags of `count` segments that begin at `starts`: starts[0] = 0, ascending, below n. Writes n
 * flags, 0 or 1. Flags cannot represent empty segments, so two equal starts are refused. Host memory. */
DAVIT_API davit_status davit_scan_flags(int64_t count, const int64_t *starts, int64_t n, uint8_t *flags);

/* The reverse: writes at most `capacity` starts (NULL allowed with capacity 0) and their full number to
 * `count`. Element 0 is a start whatever its flag. Host memory. */
DAVIT_API davit_status davit_scan_starts(int64_t n, const uint8_t *flags, int64_t capacity, int64_t *starts,
                                         int64_t *count);

#ifdef __cplusplus
}
#endif
#endif
