/* SPDX-License-Identifier: Apache-2.0 */
/* Memory on devices and on the host, and copies between all places.
 *
 * A place says where memory lies: a device (memory of that device; of DAVIT_HOST: pinned), DAVIT_PINNED
 * (host memory that devices read and write at full link speed) or DAVIT_PAGEABLE (plain host memory).
 * Pointers from davit_malloc(), from malloc() and, on NVIDIA devices, from any CUDA allocator may be
 * mixed; copies find out where each lies.
 *
 * Arguments are in the order of BLAS: sizes, source, destination. Matrices are column-major: `rows` is the
 * contiguous dimension, a leading dimension the distance between columns. Row-major: exchange rows and
 * cols.
 * Thread safety: any thread may call any function. */
#ifndef DAVIT_MEMORY_H
#define DAVIT_MEMORY_H

#include <davit/device.h>
#include <davit/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DAVIT_PINNED = -2, DAVIT_PAGEABLE = -3 };

/* Allocates `bytes` (aligned to 256 at least) at `place`; 0 bytes give NULL. The memory is not initialised. Freed
 * blocks are kept and given out again, so that allocating and freeing do not wait for a device; davit_memory_trim()
 * gives them back to the system. Owned by the caller until davit_free(). */
DAVIT_API davit_status davit_malloc(size_t bytes, int place, void **pointer);

/* Frees memory of davit_malloc() and davit_memory_import(); NULL is allowed. The block may be given out
 * again at once, so work that uses it must have finished. */
DAVIT_API davit_status davit_free(void *pointer);

/* Gives the blocks that are kept for re-use at `place` back to the system. */
DAVIT_API davit_status davit_memory_trim(int place);

/* The place of `pointer`, which may point into the middle of a block. Memory that neither davit nor a
 * device runtime knows is DAVIT_PAGEABLE. */
DAVIT_API davit_status davit_pointer_place(const void *pointer, int *place);

/* Pins pageable memory that the caller owns, so that copies reach link speed; call davit_unpin() before freeing it.
 * Does nothing if no device needs it. Memory of davit_malloc() stays as it is. */
DAVIT_API davit_status davit_pin(void *pointer, size_t bytes);
DAVIT_API davit_status davit_unpin(void *pointer);

/* What other processes of the machine need to reach a block of a device's memory: plain bytes, to be sent or
 * stored. */
typedef struct davit_memory_handle {
  unsigned char bytes[128];
} davit_memory_handle;

/* Makes a handle for a block of davit_malloc() on an NVIDIA device; `pointer` is its start. Other processes may import
 * the block until it is freed, and must free their imports before that. They may also reach the memory around a block
 * of less than 2 MiB, because CUDA shares whole pages. DAVIT_UNSUPPORTED: other places and devices. */
DAVIT_API davit_status davit_memory_export(const void *pointer, davit_memory_handle *handle);

/* Maps a block that another process of this machine has exported, as memory of `device`, which need not be the block's
 * device. The import begins at *pointer and has the block's size; davit_free() ends it, davit_finalize() does not; the
 * block itself stays. davit does not wait for the other process: the processes have to tell each other when data is
 * there and when it may be overwritten. DAVIT_UNSUPPORTED: the device cannot reach the block. Source: CUDA's
 * inter-process handles. */
DAVIT_API davit_status davit_memory_import(const davit_memory_handle *handle, int device, void **pointer);

/* Copies between any two places and waits for the end. The ranges must not overlap. */
DAVIT_API davit_status davit_copy(size_t bytes, const void *source, void *destination);

/* Copies a rows × cols block of elements of `element_bytes`; leading dimensions are in elements, at least
 * `rows`. The bytes between the columns stay untouched. */
DAVIT_API davit_status davit_copy_2d(int64_t rows, int64_t cols, size_t element_bytes, const void *source,
                                     int64_t source_ld, void *destination, int64_t destination_ld);

/* Sets `bytes` bytes at any place to `value`. */
DAVIT_API davit_status davit_fill(size_t bytes, int value, void *destination);

/* Fills n elements at any place with uniform numbers in [0, 1). type is DAVIT_DOUBLE or DAVIT_FLOAT. Element i depends
 * only on (seed, i) and is the same, bit for bit, on the CPU and on every device, with any number of threads.
 * Generator: Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC'11), counter i/2 (double) or
 * i/4 (float). */
DAVIT_API davit_status davit_random(davit_type type, int64_t n, uint64_t seed, void *x);

#ifdef __cplusplus
}
#endif
#endif
