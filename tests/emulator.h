/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU on the CPU, for tests of kernels without a GPU: what offload/kernel/gpu.h declares, and of a
 * stream what launches kernels. Included before the source under test, which is included as text: its
 * functions are then called emulated_NAME, where EMULATED(NAME) says so.
 *
 * Threads are contexts that take turns; whoever waits for others passes the turn on. Teams run one after the
 * other, or together, each on a thread of the host. Kernels run at once when they are launched. */
#ifndef DAVIT_TESTS_EMULATOR_H
#define DAVIT_TESTS_EMULATOR_H
#define DAVIT_KERNEL_GPU_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "offload/kernel/instance.h"

#define DVT_GPU 1
#define DVT_NVIDIA 1
#define DVT_INLINE static inline
#define DVT_TEAM
#define DVT_SHARED static _Thread_local
/* Regions have no bodies: tests call these. */
#define DVT_BODY(function, ...) dvt_no_body(0, __VA_ARGS__)
#define DVT_NVIDIA_BODY DVT_BODY

static inline void dvt_no_body(int first, ...) {
  (void)first;
}

enum { EMULATOR_THREADS = 512, EMULATOR_STACK = 1 << 16 };

/* The team that runs on this thread of the host. */
static _Thread_local struct emulator {
  int thread, threads, team, teams, arrived, running;
  bool over[EMULATOR_THREADS];
  uint32_t posted[2][EMULATOR_THREADS];
  int shuffles[EMULATOR_THREADS], barriers[EMULATOR_THREADS];
  ucontext_t scheduler, *context;
  char *stacks;
  void (*body)(void *argument);
  void *argument;
} emulator;

static bool emulator_descending; /* the last thread has the first turn */

static char dvt_team_memory[1 << 18] __attribute__((aligned(16)));

DVT_INLINE int dvt_thread(void) {
  return emulator.thread;
}

DVT_INLINE int dvt_team(void) {
  return emulator.team;
}

DVT_INLINE int dvt_teams(void) {
  return emulator.teams;
}

DVT_INLINE int dvt_lane_number(void) {
  return emulator.thread & 31;
}

static void emulator_pass(void) {
  const int self = emulator.thread;
  swapcontext(&emulator.context[self], &emulator.scheduler);
}

/* The scheduler gives turns in order, so when this thread has its next one, all lanes have posted. */
static uint32_t dvt_shuffle(uint32_t word, int from) {
  const int self = emulator.thread, parity = emulator.shuffles[self]++ & 1;
  emulator.posted[parity][self] = word;
  emulator_pass();
  return emulator.posted[parity][(self & ~31) | (from & 31)];
}

static uint32_t dvt_ballot(bool predicate) {
  const int self = emulator.thread, parity = emulator.shuffles[self]++ & 1;
  uint32_t bits = 0;
  emulator.posted[parity][self] = predicate;
  emulator_pass();
  for (int lane = 0; lane < 32; lane++)
    bits |= emulator.posted[parity][(self & ~31) | lane] << lane;
  return bits;
}

DVT_INLINE void dvt_barrier_warp(void) {
  dvt_ballot(true);
}

/* Other teams may be waited for. */
DVT_INLINE void dvt_pause(void) {
  emulator_pass();
  sched_yield();
}

DVT_INLINE void dvt_barrier(void) {
  const int wanted = ++emulator.barriers[emulator.thread] * emulator.threads;
  emulator.arrived++;
  while (emulator.arrived < wanted)
    emulator_pass();
}

DVT_INLINE void dvt_load_constant_16(const void *at, void *value) {
  memcpy(value, at, 16);
}

DVT_INLINE void dvt_load_16(const void *at, void *value) {
  if ((uintptr_t)at % 16)
    abort();
  memcpy(value, at, 16);
}

DVT_INLINE void dvt_load_team_16(const void *at, void *value) {
  if ((uintptr_t)at % 16)
    abort();
  memcpy(value, at, 16);
}

DVT_INLINE void dvt_store_16(void *at, const void *value) {
  if ((uintptr_t)at % 16)
    abort();
  memcpy(at, value, 16);
}

DVT_INLINE void dvt_fence(void) {
}

DVT_INLINE void dvt_fence_team(void) {
}

DVT_INLINE uint32_t dvt_atomic_add(uint32_t *counter, uint32_t value) {
  const uint32_t before = *counter;
  *counter += value;
  return before;
}

DVT_INLINE void dvt_publish_word(uint64_t *at, uint64_t word) {
  __atomic_store_n(at, word, __ATOMIC_RELAXED);
}

DVT_INLINE uint64_t dvt_load_word(const uint64_t *at) {
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}

DVT_INLINE void dvt_publish_pair(uint64_t *at, uint64_t first, uint64_t second) {
  dvt_publish_word(at, first);
  dvt_publish_word(at + 1, second);
}

DVT_INLINE void dvt_load_pair(const uint64_t *at, uint64_t *first, uint64_t *second) {
  *first = dvt_load_word(at);
  *second = dvt_load_word(at + 1);
}

DVT_INLINE uint32_t dvt_byte_pair(uint32_t low, uint32_t high, int k) {
  return (uint32_t)(uint16_t)(int8_t)(low >> (8 * k)) | (uint32_t)(uint16_t)(int8_t)(high >> (8 * k)) << 16;
}

DVT_INLINE int32_t dvt_byte(uint32_t word, int k) {
  return (int8_t)(word >> 8 * k);
}

#include "offload/kernel/value.h"

static void emulator_start(void) {
  emulator.body(emulator.argument);
  emulator.over[emulator.thread] = true;
  emulator.running--;
}

static void emulator_begin(int t) {
  emulator.over[t] = false;
  emulator.shuffles[t] = emulator.barriers[t] = 0;
  getcontext(&emulator.context[t]);
  emulator.context[t].uc_stack.ss_sp = emulator.stacks + (size_t)t * EMULATOR_STACK;
  emulator.context[t].uc_stack.ss_size = EMULATOR_STACK;
  emulator.context[t].uc_link = &emulator.scheduler;
  makecontext(&emulator.context[t], emulator_start, 0);
}

typedef struct emulator_team {
  int team, teams, threads;
  void (*body)(void *argument);
  void *argument;
} emulator_team;

static void *emulator_run_team(void *team) {
  const emulator_team *t = team;
  emulator.team = t->team, emulator.teams = t->teams;
  emulator.running = emulator.threads = t->threads;
  emulator.body = t->body, emulator.argument = t->argument;
  emulator.arrived = 0;
  emulator.stacks = malloc((size_t)t->threads * EMULATOR_STACK);
  emulator.context = malloc((size_t)t->threads * sizeof *emulator.context);
  for (int i = 0; i < t->threads; i++)
    emulator_begin(i);
  while (emulator.running > 0)
    for (int turn = 0; turn < t->threads; turn++) {
      const int i = emulator_descending ? t->threads - 1 - turn : turn;
      if (!emulator.over[i]) {
        emulator.thread = i;
        swapcontext(&emulator.scheduler, &emulator.context[i]);
      }
    }
  free(emulator.stacks);
  free(emulator.context);
  return NULL;
}

/* Runs the body in every thread of every team, one team after the other; team memory holds rubbish at first.
 */
static inline void emulator_run(int teams, int threads, void (*body)(void *argument), void *argument) {
  for (int team = 0; team < teams; team++) {
    memset(dvt_team_memory, 0x7b, sizeof dvt_team_memory);
    emulator_run_team(&(emulator_team){team, teams, threads, body, argument});
  }
}

/* Runs all teams at the same time, as kernels need them whose teams wait for each other. They have no dynamic
 * team memory. */
static inline void emulator_run_together(int teams, int threads, void (*body)(void *argument),
                                         void *argument) {
  emulator_team *team = malloc((size_t)teams * sizeof *team);
  pthread_t *thread = malloc((size_t)teams * sizeof *thread);
  for (int t = 0; t < teams; t++) {
    team[t] = (emulator_team){t, teams, threads, body, argument};
    if (pthread_create(&thread[t], NULL, emulator_run_team, &team[t]))
      abort();
  }
  for (int t = 0; t < teams; t++)
    pthread_join(thread[t], NULL);
  free(team);
  free(thread);
}

/* ---- launches ---- */

#define dvt_launch emulated_launch
#define dvt_launch_residents emulated_launch_residents
#define dvt_launch_team_bytes emulated_launch_team_bytes
#define dvt_stream_copy emulated_stream_copy
#define dvt_stream_fill emulated_stream_fill
#define dvt_stream_synchronize emulated_stream_synchronize
#include "offload/runtime/launch.h"
#include "src/base/operation.h"

/* Kernels by name; the body finds its arguments in `emulator_arguments`. A test defines the table. */
typedef struct emulator_kernel {
  const char *function;
  void (*body)(void *arguments);
} emulator_kernel;
extern const emulator_kernel emulator_kernels[];
static int emulator_launches, emulator_fails_at = -1; /* the launch that is refused */
static bool emulator_busy;                            /* there is work that nobody has waited for */

static inline void *emulator_pointer(const dvt_argument *argument) {
  return (void *)(uintptr_t)*argument;
}

static inline double emulator_double(const dvt_argument *argument) {
  double value;
  memcpy(&value, argument, sizeof value);
  return value;
}

davit_status emulated_launch(dvt_kernel *kernel, dvt_stream *stream, int64_t teams, int threads,
                             size_t shared_bytes, const dvt_argument *arguments, int count) {
  (void)stream, (void)count;
  const emulator_kernel *found = emulator_kernels;
  while (strcmp(found->function, kernel->function))
    found++;
  if (threads > EMULATOR_THREADS || threads % 32 || shared_bytes > sizeof dvt_team_memory)
    abort();
  if (emulator_launches++ == emulator_fails_at)
    return davit_fail(DAVIT_DEVICE_ERROR, "%s is refused", kernel->function);
  emulator_busy = true;
  emulator_run((int)teams, threads, found->body, (void *)(uintptr_t)arguments);
  return DAVIT_SUCCESS;
}

/* A site of the emulated GPU, whose workspace ends in a guard. emulator_free() checks the guard, which
 * returns false when it was written to, and frees the workspace. */
enum { EMULATOR_GUARD = 256 };
static struct emulator_memory {
  char *base;
  size_t bytes;
} emulator_memory;

static inline davit_status emulated_workspace(const dvt_site *site, size_t bytes, void **pointer) {
  (void)site;
  emulator_memory.base = aligned_alloc(256, (bytes + EMULATOR_GUARD + 255) / 256 * 256);
  emulator_memory.bytes = bytes;
  memset(emulator_memory.base, 0x5c, bytes + EMULATOR_GUARD);
  *pointer = emulator_memory.base;
  return DAVIT_SUCCESS;
}

static inline bool emulator_free(void) {
  bool whole = true;
  for (size_t i = 0; i < EMULATOR_GUARD; i++)
    whole = whole && emulator_memory.base[emulator_memory.bytes + i] == 0x5c;
  free(emulator_memory.base);
  return whole;
}

static const dvt_site emulator_site = {.workspace = emulated_workspace};

davit_status emulated_launch_residents(dvt_kernel *kernel, dvt_stream *stream, int threads,
                                       size_t shared_bytes, int *teams) {
  (void)kernel, (void)stream, (void)threads, (void)shared_bytes;
  *teams = 3;
  return DAVIT_SUCCESS;
}

static size_t emulator_team_bytes = 227 * 1024;

davit_status emulated_launch_team_bytes(dvt_stream *stream, size_t *bytes) {
  (void)stream;
  *bytes = emulator_team_bytes;
  return DAVIT_SUCCESS;
}

davit_status emulated_stream_copy(dvt_stream *stream, void *destination, size_t destination_pitch,
                                  const void *source, size_t source_pitch, size_t row_bytes, size_t cols) {
  (void)stream, (void)destination_pitch, (void)source_pitch;
  if (cols != 1)
    abort();
  memcpy(destination, source, row_bytes);
  emulator_busy = true;
  return DAVIT_SUCCESS;
}

davit_status emulated_stream_fill(dvt_stream *stream, void *pointer, int value, size_t bytes) {
  (void)stream;
  memset(pointer, value, bytes);
  emulator_busy = true;
  return DAVIT_SUCCESS;
}

davit_status emulated_stream_synchronize(dvt_stream *stream) {
  (void)stream;
  emulator_busy = false;
  return DAVIT_SUCCESS;
}

#endif
