/* Scan (prefix sums) and segmented scan, for any operator.
 *
 * Inclusive: y_i = x_0 ∘ … ∘ x_i. Exclusive: y_i = x_0 ∘ … ∘ x_{i-1}, y_0 = identity. y may be x; otherwise they must
 * not overlap. A segmented scan starts anew at each head: flags[i] != 0 marks element i as the first of a segment
 * (element 0 always is one); in exclusive form a head gets the identity.
 *
 * The order of combination depends on n and the flags alone for one device: the same call gives the same bits from run
 * to run. Operands keep their order, so operators need not be commutative. On another device, or spread over several,
 * floating results may differ in rounding.
 * Cost: one pass, reads x (and flags) once and writes y once. Source: single-pass scan after Merrill and Garland,
 * Single-pass Parallel Prefix Scan with Decoupled Look-back (2016); docs/scan.md says where davit differs.
 * Segments: Blelloch, Prefix Sums and Their Applications (1990).
 * Thread safety: any thread; outputs of calls at the same time must be distinct. */
#ifndef DAVIT_SCAN_H
#define DAVIT_SCAN_H

#include <davit/reduce.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum davit_scan_kind { DAVIT_INCLUSIVE, DAVIT_EXCLUSIVE } davit_scan_kind;

/* Enqueue on a device; all arrays are memory that the queue's device reaches. */
DAVIT_API davit_status davit_queue_scan(davit_queue *queue, davit_operator op, davit_type type,
                                        davit_scan_kind kind, int64_t n, const void *x, void *y);
DAVIT_API davit_status davit_queue_segmented_scan(davit_queue *queue, davit_operator op, davit_type type,
                                                  davit_scan_kind kind, int64_t n, const void *x,
                                                  const uint8_t *flags, void *y);

/* Scan and return when y is there. Arrays lie anywhere; where x and y (and flags) lie on one of the devices, that
 * device works in place, else the array is streamed through the devices. */
DAVIT_API davit_status davit_scan(davit_operator op, davit_type type, davit_scan_kind kind, int64_t n,
                                  const void *x, void *y, const int *devices, int device_count);
DAVIT_API davit_status davit_segmented_scan(davit_operator op, davit_type type, davit_scan_kind kind,
                                            int64_t n, const void *x, const uint8_t *flags, void *y,
                                            const int *devices, int device_count);

/* Scan an array in parts, each on the device where it lies, all at the same time; the scan runs on from part to part. */
DAVIT_API davit_status davit_scan_parts(davit_operator op, davit_type type, davit_scan_kind kind, int count,
                                        const davit_part *parts);
DAVIT_API davit_status davit_segmented_scan_parts(davit_operator op, davit_type type, davit_scan_kind kind,
                                                  int count, const davit_part *parts);

/* Head flags from the first elements of `count` segments: starts[0] = 0, ascending, below n. Writes n flags, 0 or 1. An
 * empty segment (two equal starts) cannot be said by flags and is refused. Host memory. */
DAVIT_API davit_status davit_segment_flags(int64_t count, const int64_t *starts, int64_t n, uint8_t *flags);

/* The reverse: writes at most `capacity` starts (NULL allowed with capacity 0) and their full number to `count`.
 * Element 0 is a start whatever its flag. Host memory. */
DAVIT_API davit_status davit_segment_starts(int64_t n, const uint8_t *flags, int64_t capacity,
                                            int64_t *starts, int64_t *count);

#ifdef __cplusplus
}
#endif
#endif
