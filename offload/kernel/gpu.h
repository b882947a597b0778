/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary of kernels on a GPU: the numbers of thread, lane and team, barriers, values exchanged among
 * the 32 lanes of a warp, values published to other teams, memory that a team shares.
 *
 * A kernel is a `target teams ompx_bare` region: every thread runs the body from its beginning, as in a
 * kernel language. A region consists of DVT_BODY(function, arguments...): a call of the function where code
 * for a GPU is compiled. Elsewhere nothing is called, as such regions are never launched there, but the
 * region keeps the same arguments. DVT_GPU is defined where code for a GPU is compiled; functions that use
 * this vocabulary stand inside #ifdef DVT_GPU.
 *
 * On AMD GPUs a warp is one half of a wavefront of 64, or a wavefront of 32. */
#ifndef DAVIT_KERNEL_GPU_H
#define DAVIT_KERNEL_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "instance.h"

/* DVT_IN_TEAM_MEMORY(arrays), after the declaration of an array in an ordinary teams region: on a GPU the
 * array lies in the team's memory. A CPU's runtime warns about such a request; there the team's threads share
 * the array anyway. */

static inline void dvt_no_body(int first, ...) {
  (void)first;
}

#if defined(__NVPTX__) || defined(__AMDGCN__)
#define DVT_GPU 1
#define DVT_BODY(function, ...) function(__VA_ARGS__)

/* Everything that a kernel calls becomes part of it: a call would pass values through memory. */
#define DVT_INLINE static inline __attribute__((always_inline))

/* Storage that the team shares, of static size: DVT_SHARED float tile[256]; */
#define DVT_SHARED static __attribute__((address_space(3), loader_uninitialized))

/* For pointers to storage that the team shares. */
#define DVT_TEAM __attribute__((address_space(3)))

#ifdef __NVPTX__
#define DVT_NVIDIA 1

DVT_INLINE int dvt_thread(void) {
  return (int)__nvvm_read_ptx_sreg_tid_x();
}

DVT_INLINE int dvt_team(void) {
  return (int)__nvvm_read_ptx_sreg_ctaid_x();
}

DVT_INLINE int dvt_teams(void) {
  return (int)__nvvm_read_ptx_sreg_nctaid_x();
}

/* All threads of the team meet, and see each other's writes. */
DVT_INLINE void dvt_barrier(void) {
  __syncthreads();
}

/* All lanes of the warp meet. */
DVT_INLINE void dvt_barrier_warp(void) {
  __nvvm_bar_warp_sync(~0u);
}

/* Orders the thread's accesses to the team's memory, as seen by the team. */
DVT_INLINE void dvt_fence_team(void) {
  __nvvm_membar_cta();
}

/* The word of lane `from` modulo 32. All 32 lanes take part. */
DVT_INLINE uint32_t dvt_shuffle(uint32_t word, int from) {
  return (uint32_t)__nvvm_shfl_sync_idx_i32(~0u, (int)word, from, 31);
}

/* A bit for each lane. All 32 lanes take part. */
DVT_INLINE uint32_t dvt_ballot(bool predicate) {
  return __nvvm_vote_ballot_sync(~0u, predicate);
}

/* Writes before the fence are seen by every team that sees a write after it. */
DVT_INLINE void dvt_fence(void) {
  __nvvm_membar_gl();
}

DVT_INLINE uint32_t dvt_atomic_add(uint32_t *counter, uint32_t value) {
  return (uint32_t)__nvvm_atom_add_gen_i((int *)counter, (int)value);
}

/* The same, in order with the thread's other accesses: what a team wrote before its addition, all its threads in front
 * of a barrier, is seen by those that find it added. In fewer cycles than between two fences. */
DVT_INLINE uint32_t dvt_atomic_add_ordered(uint32_t *counter, uint32_t value) {
  uint32_t before;
  __asm__ volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
                   : "=r"(before)
                   : "l"(counter), "r"(value)
                   : "memory");
  return before;
}

/* Aligned words that other teams write and read meanwhile: each word is whole, whatever its neighbour is. */
DVT_INLINE void dvt_publish_word(uint64_t *at, uint64_t word) {
  __asm__ volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
}

DVT_INLINE uint64_t dvt_load_word(const uint64_t *at) {
  uint64_t word;
  __asm__ volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
  return word;
}

/* Two words at once, at an address that is a multiple of 16. */
DVT_INLINE void dvt_publish_pair(uint64_t *at, uint64_t first, uint64_t second) {
  __asm__ volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(first), "l"(second)
                   : "memory");
}

DVT_INLINE void dvt_load_pair(const uint64_t *at, uint64_t *first, uint64_t *second) {
  __asm__ volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                   : "=l"(*first), "=l"(*second)
                   : "l"(at)
                   : "memory");
}

/* 16 bytes from or to an address that is a multiple of 16; `value` is a variable of 16 bytes. Written out so
 * that the compiler does not split the access to share half of it with another path. */
DVT_INLINE void dvt_load_16(const void *at, void *value) {
  uint32_t word[4];
  __asm__("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
          : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
          : "l"(at)
          : "memory");
  __builtin_memcpy(value, word, 16);
}

/* From memory that nobody writes during the launch: such loads may be moved, and so need fewer registers. */
DVT_INLINE void dvt_load_constant_16(const void *at, void *value) {
  uint32_t word[4];
  __asm__("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
          : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
          : "l"(at));
  __builtin_memcpy(value, word, 16);
}

DVT_INLINE void dvt_store_16(void *at, const void *value) {
  uint32_t word[4];
  __builtin_memcpy(word, value, 16);
  __asm__ volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(word[0]), "r"(word[1]),
                   "r"(word[2]), "r"(word[3])
                   : "memory");
}

/* Two words from or to an address that is a multiple of 8, only if `wanted`; else zeros. No branch parts what is
 * computed before from what is computed after. */
DVT_INLINE void dvt_load_8_if(bool wanted, const void *at, void *value) {
  uint32_t word[2];
  __asm__ volatile("{.reg .pred wanted;\n\tsetp.ne.u32 wanted, %3, 0;\n\tmov.u32 %0, 0;\n\tmov.u32 %1, 0;\n\t"
                   "@wanted ld.global.v2.u32 {%0, %1}, [%2];}"
                   : "=&r"(word[0]), "=&r"(word[1])
                   : "l"(at), "r"((uint32_t)wanted)
                   : "memory");
  __builtin_memcpy(value, word, 8);
}

DVT_INLINE void dvt_store_8_if(bool wanted, void *at, const void *value) {
  uint32_t word[2];
  __builtin_memcpy(word, value, 8);
  __asm__ volatile("{.reg .pred wanted;\n\tsetp.ne.u32 wanted, %3, 0;\n\t"
                   "@wanted st.global.v2.u32 [%2], {%0, %1};}" ::"r"(word[0]),
                   "r"(word[1]), "l"(at), "r"((uint32_t)wanted)
                   : "memory");
}

/* From the team's memory. */
DVT_INLINE void dvt_load_team_16(const DVT_TEAM void *at, void *value) {
  uint32_t word[4];
  __asm__ volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                   : "r"((uint32_t)(uintptr_t)at));
  __builtin_memcpy(value, word, 16);
}

/* Bytes k < 4 of two words, with their signs, as the halves of a word. */
DVT_INLINE uint32_t dvt_byte_pair(uint32_t low, uint32_t high, int k) {
  return __nvvm_prmt(low, high, (uint32_t)(k | (k | 8) << 4 | (k + 4) << 8 | (k + 12) << 12));
}

/* Byte k < 4 of a word with its sign, in one instruction. */
DVT_INLINE int32_t dvt_byte(uint32_t word, int k) {
  return (int32_t)__nvvm_prmt(word, word, (uint32_t)(k | (k | 8) << 4 | (k | 8) << 8 | (k | 8) << 12));
}

/* A word of two side by side: from bit `bits` modulo 32 of the lower one on, or so many bits before the higher one. */
DVT_INLINE uint32_t dvt_funnel_right(uint32_t low, uint32_t high, uint32_t bits) {
  uint32_t word;
  __asm__("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(low), "r"(high), "r"(bits));
  return word;
}

DVT_INLINE uint32_t dvt_funnel_left(uint32_t low, uint32_t high, uint32_t bits) {
  uint32_t word;
  __asm__("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(low), "r"(high), "r"(bits));
  return word;
}

/* a b + c by the unit for products, which leaves the one for maxima and selections alone. */
DVT_INLINE uint32_t dvt_multiply_add_word(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t word;
  __asm__("mad.lo.u32 %0, %1, %2, %3;" : "=r"(word) : "r"(a), "r"(b), "r"(c));
  return word;
}

/* c, the lower half of `halves` times byte 0 of `bytes`, and the upper half times byte 1, added up. */
DVT_INLINE uint32_t dvt_multiply_add_halves(uint32_t halves, uint32_t bytes, uint32_t c) {
  uint32_t word;
  __asm__("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(word) : "r"(halves), "r"(bytes), "r"(c));
  return word;
}

/* A pause of some hundred nanoseconds for threads that wait. */
DVT_INLINE void dvt_pause(void) {
  __asm__ volatile("nanosleep.u32 40;" ::: "memory");
}

/* The team's dynamic memory, as much as the launch says. */
extern DVT_TEAM char dvt_team_memory[] __attribute__((aligned(16)));

/* Start copies to the team's memory, which dvt_copies_done() waits for: `bytes` of 16, or of an element of 8
 * (`wide`) or 4 bytes, the rest is 0. Devices older than sm_80 wait for each copy. */
#if __CUDA_ARCH__ >= 800
DVT_INLINE void dvt_copy_16(DVT_TEAM void *to, const void *from, int bytes) {
  __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint32_t)(uintptr_t)to), "l"(from),
                   "r"(bytes)
                   : "memory");
}

DVT_INLINE void dvt_copy_element(DVT_TEAM void *to, const void *from, int bytes, bool wide) {
  if (wide)
    __asm__ volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"((uint32_t)(uintptr_t)to), "l"(from),
                     "r"(bytes)
                     : "memory");
  else
    __asm__ volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((uint32_t)(uintptr_t)to), "l"(from),
                     "r"(bytes)
                     : "memory");
}

DVT_INLINE void dvt_copies_done(void) {
  __asm__ volatile("cp.async.wait_all;" ::: "memory");
}

/* Ends a group of the thread's copies; one may be empty. */
DVT_INLINE void dvt_copies_end(void) {
  __asm__ volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits for all of the thread's groups but the newest two. */
DVT_INLINE void dvt_copies_done_but_2(void) {
  __asm__ volatile("cp.async.wait_group 2;" ::: "memory");
}
#else
DVT_INLINE void dvt_copy_element(DVT_TEAM void *to, const void *from, int bytes, bool wide) {
  for (int i = 0; i < 1 + wide; i++)
    ((DVT_TEAM uint32_t *)to)[i] = 4 * i < bytes ? ((const uint32_t *)from)[i] : 0;
}

DVT_INLINE void dvt_copy_16(DVT_TEAM void *to, const void *from, int bytes) {
  dvt_copy_element(to, from, bytes, true);
  dvt_copy_element((DVT_TEAM char *)to + 8, (const char *)from + 8, bytes - 8, true);
}

DVT_INLINE void dvt_copies_done(void) {
}

DVT_INLINE void dvt_copies_end(void) {
}

DVT_INLINE void dvt_copies_done_but_2(void) {
}
#endif

/* Clusters: teams with neighbouring numbers that run at the same time and reach each other's memory
 * (dvt_launch_grid()). Devices older than sm_90 have clusters of one team. The team's number in its cluster,
 * and how many the cluster has; all threads of the cluster meet, and see each other's writes; a value of 4
 * or 8 bytes goes to where another team has `at`. A team ends after the last access of others to its memory.
 *
 * Dependent launches (dvt_launch_grid()): the kernel may begin before the one in front of it in the stream has
 * ended. It calls dvt_wait_for_earlier() before it touches what others write or read. The kernel in front may
 * call dvt_start_later() in each team as soon as a team more does no harm. */
#if __CUDA_ARCH__ >= 900
DVT_INLINE int dvt_cluster_team(void) {
  int number;
  __asm__("mov.u32 %0, %%cluster_ctarank;" : "=r"(number));
  return number;
}

DVT_INLINE int dvt_cluster_teams(void) {
  int count;
  __asm__("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
  return count;
}

DVT_INLINE void dvt_barrier_cluster(void) {
  __asm__ volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::
                       : "memory");
}

DVT_INLINE void dvt_store_in_team(DVT_TEAM void *at, int team, const void *value, int bytes) {
  uint32_t there, word;
  uint64_t words;
  __asm__("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"((uint32_t)(uintptr_t)at), "r"(team));
  if (bytes == 8) {
    __builtin_memcpy(&words, value, 8);
    __asm__ volatile("st.shared::cluster.u64 [%0], %1;" ::"r"(there), "l"(words) : "memory");
  } else {
    __builtin_memcpy(&word, value, 4);
    __asm__ volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(word) : "memory");
  }
}

DVT_INLINE void dvt_wait_for_earlier(void) {
  __asm__ volatile("griddepcontrol.wait;" ::: "memory");
}

DVT_INLINE void dvt_start_later(void) {
  __asm__ volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
#else
DVT_INLINE int dvt_cluster_team(void) {
  return 0;
}

DVT_INLINE int dvt_cluster_teams(void) {
  return 1;
}

DVT_INLINE void dvt_barrier_cluster(void) {
  dvt_barrier();
}

DVT_INLINE void dvt_store_in_team(DVT_TEAM void *at, int team, const void *value, int bytes) {
  (void)team;
  if (bytes == 8)
    *(DVT_TEAM uint64_t *)at = *(const uint64_t *)value;
  else
    *(DVT_TEAM uint32_t *)at = *(const uint32_t *)value;
}

DVT_INLINE void dvt_wait_for_earlier(void) {
}

DVT_INLINE void dvt_start_later(void) {
}
#endif
#else
DVT_INLINE int dvt_thread(void) {
  return (int)__builtin_amdgcn_workitem_id_x();
}

DVT_INLINE int dvt_team(void) {
  return (int)__builtin_amdgcn_workgroup_id_x();
}

DVT_INLINE int dvt_teams(void) {
  return (int)(__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x());
}

DVT_INLINE void dvt_barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

DVT_INLINE void dvt_barrier_warp(void) {
  __builtin_amdgcn_wave_barrier();
}

DVT_INLINE void dvt_fence_team(void) {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}

DVT_INLINE int dvt_wavefront_lane(void) {
  return (int)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

DVT_INLINE uint32_t dvt_shuffle(uint32_t word, int from) {
  int lane = (dvt_wavefront_lane() & ~31) | (from & 31);
  return (uint32_t)__builtin_amdgcn_ds_bpermute(4 * lane, (int)word);
}

DVT_INLINE uint32_t dvt_ballot(bool predicate) {
  uint64_t all = __builtin_amdgcn_uicmp((unsigned)predicate, 0u, 33 /* not equal */);
  return (uint32_t)(all >> (dvt_wavefront_lane() & 32));
}

DVT_INLINE void dvt_fence(void) {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}

DVT_INLINE uint32_t dvt_atomic_add(uint32_t *counter, uint32_t value) {
  return __scoped_atomic_fetch_add(counter, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

DVT_INLINE uint32_t dvt_atomic_add_ordered(uint32_t *counter, uint32_t value) {
  return __scoped_atomic_fetch_add(counter, value, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE);
}

DVT_INLINE void dvt_publish_word(uint64_t *at, uint64_t word) {
  __scoped_atomic_store_n(at, word, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

DVT_INLINE uint64_t dvt_load_word(const uint64_t *at) {
  return __scoped_atomic_load_n(at, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

DVT_INLINE void dvt_publish_pair(uint64_t *at, uint64_t first, uint64_t second) {
  dvt_publish_word(at, first);
  dvt_publish_word(at + 1, second);
}

DVT_INLINE void dvt_load_pair(const uint64_t *at, uint64_t *first, uint64_t *second) {
  *first = dvt_load_word(at);
  *second = dvt_load_word(at + 1);
}

DVT_INLINE void dvt_load_16(const void *at, void *value) {
  __builtin_memcpy(value, __builtin_assume_aligned(at, 16), 16);
}

DVT_INLINE void dvt_load_constant_16(const void *at, void *value) {
  dvt_load_16(at, value);
}

DVT_INLINE void dvt_store_16(void *at, const void *value) {
  __builtin_memcpy(__builtin_assume_aligned(at, 16), value, 16);
}

DVT_INLINE void dvt_pause(void) {
  __builtin_amdgcn_s_sleep(1);
}

/* Kernels follow each other. */
DVT_INLINE void dvt_wait_for_earlier(void) {
}

/* Copies to the team's memory are over when they return; the rest of 16 bytes is 0. */
DVT_INLINE void dvt_copy_16(DVT_TEAM void *to, const void *from, int bytes) {
  for (int i = 0; i < 4; i++)
    ((DVT_TEAM uint32_t *)to)[i] = 4 * i < bytes ? ((const uint32_t *)from)[i] : 0;
}

DVT_INLINE void dvt_copies_done(void) {
}
#endif

DVT_INLINE int dvt_lane_number(void) {
  return dvt_thread() & 31;
}

#define DVT_IN_TEAM_MEMORY(...) DVT_PRAGMA(omp allocate(__VA_ARGS__) allocator(omp_pteam_mem_alloc))
#else
#define DVT_IN_TEAM_MEMORY(...)
#define DVT_BODY(function, ...) dvt_no_body(0, __VA_ARGS__)
#endif

#include "value.h"

/* For kernels that are for NVIDIA devices alone. */
#ifdef DVT_NVIDIA
#define DVT_NVIDIA_BODY DVT_BODY

/* C += A B of doubles by a warp, C of 8 x 8, A of 8 x 4, B of 4 x 8: a lane has A[lane / 4][lane % 4],
 * B[lane % 4][lane / 4], and two neighbours of C in row lane / 4, from column 2 (lane % 4) on. By tensor cores, on
 * devices that have them for doubles (sm_80). */
#if __CUDA_ARCH__ >= 800
DVT_INLINE void dvt_multiply_add_8x8x4(double *c, double a, double b) {
  __asm__("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
          : "+d"(c[0]), "+d"(c[1])
          : "d"(a), "d"(b));
}
#else
DVT_DEFINE_SHUFFLE(double, dvt_shuffle_double)

DVT_INLINE void dvt_multiply_add_8x8x4(double *c, double a, double b) {
  const int lane = dvt_thread() & 31;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const double left = dvt_shuffle_double(a, (lane & ~3) + k);
#pragma unroll
    for (int n = 0; n < 2; n++)
      c[n] += left * dvt_shuffle_double(b, (lane % 4 * 2 + n) * 4 + k);
  }
}
#endif

/* The same for C of 16 x 8, A of 16 x 8, B of 8 x 8: of C's upper and lower half what a lane has of 8 x 8, and of A's
 * quarters, the upper ones first, and B's halves what it has of 8 x 4 and 4 x 8. */
DVT_INLINE void dvt_multiply_add_16x8x8(double *upper, double *lower, const double a[4], const double b[2]) {
#if __CUDA_ARCH__ >= 900
  __asm__("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+d"(upper[0]), "+d"(upper[1]), "+d"(lower[0]), "+d"(lower[1])
          : "d"(a[0]), "d"(a[2]), "d"(a[1]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
  for (int k = 0; k < 2; k++) {
    dvt_multiply_add_8x8x4(upper, a[k], b[k]);
    dvt_multiply_add_8x8x4(lower, a[2 + k], b[k]);
  }
#endif
}
#else
#define DVT_NVIDIA_BODY(function, ...) dvt_no_body(0, __VA_ARGS__)
#endif

#endif
