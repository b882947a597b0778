/* SPDX-License-Identifier: Apache-2.0 */
/* How a kernel of the study is written: once, for GPUs and for the CPU.
 *
 * A kernel is the text of one team (a block of threads): phases over the numbers of its threads, with
 * barriers between them.
 *
 *   PHASE(t, 256)
 *     s[t] = input[t];
 *   BARRIER();
 *   PHASE(t, 128)
 *     s[t] += s[t + 128];
 *
 * On a GPU a thread runs each phase once, with its own t if that is below the count, and barriers are real.
 * On the CPU one thread runs a phase for every t before the next phase begins: a run is sequential, the same
 * each time, and can be recorded (trace.h).
 *
 * Invariant of every kernel: between two barriers no thread reads or writes what another thread writes. The
 * CPU shows a violation within a phase, because results then depend on whether phases run in ascending or in
 * descending order of t. A violation between two phases without a barrier shows on a GPU, and in
 * test_study_barriers, which runs the GPU's form of the texts with a context for each thread.
 *
 * Barriers stand outside phases, and all threads of the team pass them. WARP_BARRIER() holds the lanes of a
 * warp only. Teams are launched with a multiple of 32 threads, so every warp is whole.
 *
 * Kernels for several sizes of a team are .inc texts with BLOCK (threads) and NAME(x); common/each_block.inc
 * instantiates them. */
#ifndef DAVIT_STUDY_COMMON_KERNEL_H
#define DAVIT_STUDY_COMMON_KERNEL_H

#include "bench/study/common/site.h"
#include "bench/study/common/trace.h"
#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"

/* Kernels of one signature do not all use all of it. */
#pragma clang diagnostic ignored "-Wunused-parameter"

#ifdef DVT_GPU

#define PHASE(t, count) for (int t = dvt_thread(), t##_once = 1; t##_once && t < (count); t##_once = 0)
#define BARRIER() dvt_barrier()
#define WARP_BARRIER() dvt_barrier_warp()
#define FIRST_WARP() (dvt_thread() < 32)

/* Memory that the team shares, and pointers to it. */
#define SHARED(type, name, count) DVT_SHARED type name[count]
#define SPACE DVT_TEAM

/* A variable of each thread that lives through several phases: OWN(name, t) is thread t's. */
#define PRIVATE(type, name, count) type name[1]
#define OWN(name, t) name[0]

/* The value of lane `from` (modulo 32) of the same warp; all lanes take part. DEFINE_SHUFFLE(T, name) defines
 * the function for values of type T. */
#define DEFINE_SHUFFLE DVT_DEFINE_SHUFFLE
#define FROM_LANE(shuffle, name, t, from) shuffle(OWN(name, t), (from))

#define NOTE_LOAD(t, index) ((void)0)
#define NOTE_COMBINE(t, left, right) ((void)0)

/* Afterwards the compiler does not know that the variable is a power of two. */
#ifdef __AMDGCN__
#define OPAQUE(variable) __asm__("" : "+v"(variable))
#else
#define OPAQUE(variable) __asm__("" : "+r"(variable))
#endif

#define STUDY_ON_GPU true
#define STUDY_TEAM() dvt_team()
#define STUDY_TEAMS() dvt_teams()

#else

#define PHASE(t, count)                                                                                      \
  for (int t##_turn = 0, t = study_turn(0, (count)); t##_turn < (count); t = study_turn(++t##_turn, (count)))
#define BARRIER() study_next_step()
#define WARP_BARRIER() study_next_step()
#define FIRST_WARP() true
#define SHARED(type, name, count) type name[count]
#define SPACE
#define PRIVATE(type, name, count) type name[count]
#define OWN(name, t) name[t]
#define DEFINE_SHUFFLE(T, name)
#define FROM_LANE(shuffle, name, t, from) name[((t) & ~31) | ((from) & 31)]
#define NOTE_LOAD(t, index) study_note_load((t), (index))
#define NOTE_COMBINE(t, left, right) study_note_combine((t), (left), (right))
#define OPAQUE(variable) ((void)(variable))

#define STUDY_ON_GPU false
#define STUDY_TEAM() 0
#define STUDY_TEAMS() 1

#endif

/* Whole warps for `block` threads. */
#define WARPS_OF(block) (((block) + 31) / 32)

/* GRID(name, threads, pointers, call): void name(const study_site *site, int64_t teams, PARAMETERS) runs
 * `call`, the call of a kernel, for `team` 0 … teams - 1: on a GPU as a region of so many threads a team,
 * elsewhere one team after another. PARAMETERS and ARGUMENTS are macros of the file: what the kernels take
 * beside `team` and `teams`, with and without types. `pointers` lists the pointers among them, in
 * parentheses. */
#define GRID(name, threads, pointers, call) STUDY_GRID(name, threads, pointers, call)
#ifndef STUDY_GRID /* a test has another */
#define STUDY_GRID(name, threads, pointers, call)                                                            \
  STUDY_INLINE void name##_body(PARAMETERS) {                                                                \
    const int64_t team = STUDY_TEAM(), teams = STUDY_TEAMS();                                                \
    (void)team, (void)teams;                                                                                 \
    if (STUDY_ON_GPU)                                                                                        \
      call;                                                                                                  \
  }                                                                                                          \
  static void name##_region(int device, int team_count, PARAMETERS) {                                        \
    STUDY_PRAGMA(omp target teams ompx_bare num_teams(team_count) thread_limit(threads) device(device)       \
                     is_device_ptr pointers)                                                                 \
    name##_body(ARGUMENTS);                                                                                  \
  }                                                                                                          \
  static void name(const study_site *site, int64_t teams, PARAMETERS) {                                      \
    if (site->gpu && teams > 0)                                                                              \
      name##_region(site->device, (int)teams, ARGUMENTS);                                                    \
    for (int64_t team = 0; team < (site->gpu ? 0 : site->first_team ? 1 : teams); team++)                    \
      call;                                                                                                  \
  }
#define STUDY_PRAGMA(directive) _Pragma(#directive)
#endif

#endif
