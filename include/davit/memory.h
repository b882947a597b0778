/* Memory on devices and on the host, and copies between all places.
 *
 * A place says where memory lives: a device number, DAVIT_PINNED (host memory that devices read and write
 * at full link speed) or DAVIT_PAGEABLE (plain host memory). Pointers from davit_malloc(), from malloc()
 * and, on NVIDIA devices, from any CUDA allocator may be mixed; the copies find out where each lives.
 *
 * Matrices are column-major: `rows` is the contiguous dimension, `ld` the distance between columns.
 * Thread safety: every function may be called from any thread. */
#ifndef DAVIT_MEMORY_H
#define DAVIT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <davit/device.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DAVIT_PINNED = -1, DAVIT_PAGEABLE = -2 };

/* Allocates `bytes` (aligned to 256 at least) at `place`; 0 bytes give NULL. Freed blocks are kept and
 * given out again, so that allocating and freeing wait for no device; davit_memory_trim() gives them
 * back. The memory is not initialised. Owned by the caller until davit_free(). */
DAVIT_API davit_status davit_malloc(size_t bytes, int place, void **pointer);

/* Frees memory of davit_malloc(); NULL is allowed. The block may be given out again at once, so work that
 * uses it must have finished. */
DAVIT_API davit_status davit_free(void *pointer);

/* Gives the blocks that are kept for re-use at `place` back to the system. */
DAVIT_API davit_status davit_memory_trim(int place);

/* The place of `pointer`, which may point into the middle of a block. Memory that neither davit nor a
 * device runtime knows is DAVIT_PAGEABLE. */
DAVIT_API davit_status davit_pointer_place(const void *pointer, int *place);

/* Pins pageable memory that the caller owns, so that copies reach link speed; davit_unpin() before it is
 * freed. Does nothing where no device needs it. */
DAVIT_API davit_status davit_pin(void *pointer, size_t bytes);
DAVIT_API davit_status davit_unpin(void *pointer);

/* Copies between any two places and waits for the end. The ranges must not overlap. */
DAVIT_API davit_status davit_copy(void *destination, const void *source, size_t bytes);

/* Copies a rows × cols block of elements of `element_bytes`; leading dimensions in elements, at least
 * `rows`. Bytes between the columns stay untouched. */
DAVIT_API davit_status davit_copy_2d(void *destination, int64_t destination_ld, const void *source,
                                     int64_t source_ld, int64_t rows, int64_t cols, size_t element_bytes);

/* Sets `bytes` bytes at any place to `value`. */
DAVIT_API davit_status davit_fill(void *pointer, int value, size_t bytes);

/* Fills `count` values at any place with uniform numbers in [0, 1): element i depends on (seed, i) alone
 * and is the same, bit for bit, on the CPU and on every device, however many threads run. Generator:
 * Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC'11), counter i/2 (double) or
 * i/4 (float). */
DAVIT_API davit_status davit_random_double(double *pointer, int64_t count, uint64_t seed);
DAVIT_API davit_status davit_random_float(float *pointer, int64_t count, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
