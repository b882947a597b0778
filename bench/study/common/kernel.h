/* How a study kernel is written: once, for GPUs and for the CPU.
 *
 * A kernel is the text of one block, as phases over the numbers of its threads with barriers between them:
 *
 *   PHASE(t, 256)
 *     s[t] = input[t];
 *   BARRIER();
 *   PHASE(t, 128)
 *     s[t] += s[t + 128];
 *
 * On a GPU a thread runs each phase once, with its own t if that is below the count, and barriers are
 * real. On the CPU one thread runs a phase for every t before the next phase begins: a run is sequential,
 * the same each time, and can be recorded (trace.h).
 *
 * Invariant of every kernel: between two barriers no thread reads or writes what another one writes.
 * Within a phase the CPU shows a breach, since results then depend on whether phases run in ascending or
 * in descending order of t; between two phases without a barrier only a GPU does.
 *
 * Barriers stand outside phases and are passed by all threads of the block. WARP_BARRIER() holds the lanes
 * of a warp only; blocks are launched with a multiple of 32 threads, so every warp is whole. */
#ifndef DAVIT_STUDY_COMMON_KERNEL_H
#define DAVIT_STUDY_COMMON_KERNEL_H

#include "bench/study/common/trace.h"
#include "offload/kernel/gpu.h"

#ifdef DVT_GPU

#define PHASE(t, count) for (int t = dvt_thread(), t##_once = 1; t##_once && t < (count); t##_once = 0)
#define BARRIER() dvt_barrier()
#define WARP_BARRIER() dvt_barrier_warp()
#define FIRST_WARP() (dvt_thread() < 32)

/* Memory of the block, and pointers to it. */
#define SHARED(T, name, count) DVT_SHARED T name[count]
#define SPACE __attribute__((address_space(3)))

/* A variable of each thread that lives through several phases: OWN(name, t) is thread t's. */
#define PRIVATE(T, name, count) T name[1]
#define OWN(name, t) name[0]

/* The 32-bit value that lane `from` (modulo 32) of the same warp has; all lanes take part. */
#define FROM_LANE(T, name, t, from) ((T)dvt_shuffle((uint32_t)OWN(name, t), (from)))

#define NOTE_LOAD(t, index) ((void)0)
#define NOTE_COMBINE(t, left, right) ((void)0)

/* The compiler no longer knows that the variable is a power of two. */
#ifdef __NVPTX__
#define OPAQUE(variable) __asm__("" : "+r"(variable))
#else
#define OPAQUE(variable) __asm__("" : "+v"(variable))
#endif

#else

#define PHASE(t, count)                                                                                      \
  for (int t##_turn = 0, t = study_turn(0, (count)); t##_turn < (count); t = study_turn(++t##_turn, (count)))
#define BARRIER() study_next_step()
#define WARP_BARRIER() study_next_step()
#define FIRST_WARP() true
#define SHARED(T, name, count) T name[count]
#define SPACE
#define PRIVATE(T, name, count) T name[count]
#define OWN(name, t) name[t]
#define FROM_LANE(T, name, t, from) name[((t) & ~31) | ((from) & 31)]
#define NOTE_LOAD(t, index) study_note_load((t), (index))
#define NOTE_COMBINE(t, left, right) study_note_combine((t), (left), (right))
#define OPAQUE(variable) ((void)(variable))

#endif

/* A directive in a macro. */
#define PRAGMA(directive) _Pragma(#directive)

/* Whole warps for `block` threads. */
#define WARPS_OF(block) (((block) + 31) / 32)

#endif
