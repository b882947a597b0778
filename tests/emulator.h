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
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

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

enum { EMULATOR_THREADS = 1024, EMULATOR_STACK = 1 << 16, EMULATOR_CLUSTER = 16, EMULATOR_COPIES = 128 };

/* ---- contexts ---- */

#ifdef __x86_64__
/* What a context keeps lies on its stack, to which it points. swapcontext() would call the system each time, and
 * AddressSanitizer would clear its shadow of the stack. */
typedef void **emulator_context;

__attribute__((naked, noinline)) static void emulator_switch(__attribute__((unused)) emulator_context *from,
                                                             __attribute__((unused)) emulator_context *to) {
  __asm__("pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n"
          "movq %rsp, (%rdi); movq (%rsi), %rsp\n"
          "popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp; ret");
}

/* `start` never returns. It finds the stack as a call leaves it: 8 bytes below a multiple of 16. */
static void emulator_prepare(emulator_context *context, char *stack, void (*start)(void)) {
  *context = (emulator_context)(void *)(stack + EMULATOR_STACK) - 8;
  memset(*context, 0, 8 * sizeof **context);
  (*context)[6] = (void *)(uintptr_t)start;
}
#else
typedef ucontext_t emulator_context;

static void emulator_switch(emulator_context *from, emulator_context *to) {
  swapcontext(from, to);
}

static void emulator_prepare(emulator_context *context, char *stack, void (*start)(void)) {
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = EMULATOR_STACK;
  makecontext(context, start, 0);
}
#endif

/* A cluster: its teams' memories, and where the threads of the host that run them meet. */
typedef struct emulator_cluster {
  char *memory[EMULATOR_CLUSTER];
  int teams;
  pthread_barrier_t barrier;
} emulator_cluster;

/* A thread's copies on their way. */
typedef struct emulator_copies {
  struct emulator_copy {
    char *to;
    const char *from;
    int bytes, size, group;
  } copy[EMULATOR_COPIES];
  int count, group;
} emulator_copies;

/* The team that runs on this thread of the host. */
static _Thread_local struct emulator {
  int thread, threads, team, teams, arrived, running;
  int cluster_team, cluster_arrived, cluster_met;
  bool over[EMULATOR_THREADS];
  uint32_t posted[2][EMULATOR_THREADS];
  double factor[2][EMULATOR_THREADS][2]; /* of A and B */
  int shuffles[EMULATOR_THREADS], barriers[EMULATOR_THREADS], cluster_barriers[EMULATOR_THREADS];
  emulator_copies *copies;
  emulator_cluster *cluster;
  emulator_context scheduler, *context;
  char *stacks;
  void (*body)(void *argument);
  void *argument;
} emulator;

static bool emulator_descending;  /* the last thread has the first turn */
static bool emulator_eager;       /* copies are done when they begin, not when they are waited for */
static atomic_int emulator_waits; /* of threads for the kernel in front */

static _Thread_local char dvt_team_memory[1 << 18] __attribute__((aligned(16)));

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
  emulator_switch(&emulator.context[self], &emulator.scheduler);
}

/* The scheduler gives turns in order, so when this thread has its next one, all lanes have posted. */
__attribute__((unused)) static uint32_t dvt_shuffle(uint32_t word, int from) {
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

__attribute__((unused)) static void dvt_multiply_add_8x8x4(double *c, double a, double b) {
  const int self = emulator.thread, parity = emulator.shuffles[self]++ & 1, first = self & ~31;
  double(*const factor)[2] = &emulator.factor[parity][first];
  factor[self & 31][0] = a;
  factor[self & 31][1] = b;
  emulator_pass();
  for (int k = 0; k < 4; k++)
    for (int n = 0; n < 2; n++)
      c[n] += factor[(self & 28) + k][0] * factor[((self & 3) * 2 + n) * 4 + k][1];
}

DVT_INLINE void dvt_multiply_add_16x8x8(double *upper, double *lower, const double a[4], const double b[2]) {
  for (int k = 0; k < 2; k++) {
    dvt_multiply_add_8x8x4(upper, a[k], b[k]);
    dvt_multiply_add_8x8x4(lower, a[2 + k], b[k]);
  }
}

#define DVT_SPIN() emulator_pass()

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

/* ---- clusters ---- */

DVT_INLINE int dvt_cluster_team(void) {
  return emulator.cluster_team;
}

DVT_INLINE int dvt_cluster_teams(void) {
  return emulator.cluster ? emulator.cluster->teams : 1;
}

/* The last thread of a team meets the other teams; meanwhile the host's thread sleeps. */
DVT_INLINE void dvt_barrier_cluster(void) {
  if (!emulator.cluster) {
    dvt_barrier();
    return;
  }
  const int wanted = ++emulator.cluster_barriers[emulator.thread];
  if (++emulator.cluster_arrived == wanted * emulator.threads) {
    pthread_barrier_wait(&emulator.cluster->barrier);
    emulator.cluster_met++;
  }
  while (emulator.cluster_met < wanted)
    emulator_pass();
}

/* Variables of the team lie as far from its memory in every team. */
DVT_INLINE void dvt_store_in_team(void *at, int team, const void *value, int bytes) {
  memcpy(emulator.cluster->memory[team] + ((char *)at - dvt_team_memory), value, (size_t)bytes);
}

/* ---- dependent launches ---- */

DVT_INLINE void dvt_wait_for_earlier(void) {
  atomic_fetch_add(&emulator_waits, 1);
}

DVT_INLINE void dvt_start_later(void) {
}

/* ---- copies to team memory ---- */

static void emulator_copy(const struct emulator_copy *copy) {
  memset(copy->to, 0, (size_t)copy->size);
  memcpy(copy->to, copy->from, (size_t)copy->bytes);
}

static void emulator_begin_copy(void *to, const void *from, int bytes, int size) {
  emulator_copies *c = &emulator.copies[emulator.thread];
  const struct emulator_copy copy = {to, from, bytes, size, c->group};
  if ((uintptr_t)to % (uintptr_t)size || bytes < 0 || bytes > size || c->count == EMULATOR_COPIES ||
      (bytes > 0 && (uintptr_t)from % (uintptr_t)size))
    abort();
  if (emulator_eager && bytes > 0)
    emulator_copy(&copy);
  else
    c->copy[c->count++] = copy;
}

/* Of groups before `group`. */
static void emulator_end_copies(int group) {
  emulator_copies *c = &emulator.copies[emulator.thread];
  int left = 0;
  for (int i = 0; i < c->count; i++)
    if (c->copy[i].group < group)
      emulator_copy(&c->copy[i]);
    else
      c->copy[left++] = c->copy[i];
  c->count = left;
}

DVT_INLINE void dvt_copy_16(void *to, const void *from, int bytes) {
  emulator_begin_copy(to, from, bytes, 16);
}

DVT_INLINE void dvt_copy_element(void *to, const void *from, int bytes, bool wide) {
  emulator_begin_copy(to, from, bytes, wide ? 8 : 4);
}

DVT_INLINE void dvt_copies_end(void) {
  emulator.copies[emulator.thread].group++;
}

DVT_INLINE void dvt_copies_done(void) {
  emulator_end_copies(INT32_MAX);
}

DVT_INLINE void dvt_copies_done_but_2(void) {
  emulator_end_copies(emulator.copies[emulator.thread].group - 2);
}

/* ---- memory ---- */

DVT_INLINE void dvt_load_constant_16(const void *at, void *value) {
  if ((uintptr_t)at % 16)
    abort();
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

DVT_INLINE uint32_t dvt_atomic_add_ordered(uint32_t *counter, uint32_t value) {
  return __atomic_fetch_add(counter, value, __ATOMIC_ACQ_REL);
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

DVT_INLINE void dvt_load_8_if(bool wanted, const void *at, void *value) {
  memset(value, 0, 8);
  if (wanted)
    memcpy(value, at, 8);
}

DVT_INLINE void dvt_store_8_if(bool wanted, void *at, const void *value) {
  if (wanted)
    memcpy(at, value, 8);
}

DVT_INLINE uint32_t dvt_funnel_right(uint32_t low, uint32_t high, uint32_t bits) {
  return (uint32_t)(((uint64_t)high << 32 | low) >> bits % 32);
}

DVT_INLINE uint32_t dvt_funnel_left(uint32_t low, uint32_t high, uint32_t bits) {
  return (uint32_t)(((uint64_t)high << 32 | low) << bits % 32 >> 32);
}

DVT_INLINE uint32_t dvt_multiply_add_word(uint32_t a, uint32_t b, uint32_t c) {
  return a * b + c;
}

DVT_INLINE uint32_t dvt_multiply_add_halves(uint32_t halves, uint32_t bytes, uint32_t c) {
  return c + (halves & 0xffff) * (bytes & 0xff) + (halves >> 16) * (bytes >> 8 & 0xff);
}

#include "offload/kernel/value.h"

static void emulator_start(void) {
  emulator.body(emulator.argument);
  emulator.over[emulator.thread] = true;
  emulator.running--;
  emulator_pass();
}

static void emulator_begin(int t) {
  emulator.over[t] = false;
  emulator.shuffles[t] = emulator.barriers[t] = emulator.cluster_barriers[t] = 0;
  emulator.copies[t].count = emulator.copies[t].group = 0;
  emulator_prepare(&emulator.context[t], emulator.stacks + (size_t)t * EMULATOR_STACK, emulator_start);
}

typedef struct emulator_team {
  int team, teams, threads;
  emulator_cluster *cluster; /* NULL: the team is by itself */
  void (*body)(void *argument);
  void *argument;
  char *stacks; /* of its threads */
} emulator_team;

/* The team's place in its cluster, whose teams reach its memory once all have joined. */
static void emulator_join(const emulator_team *t) {
  emulator_cluster *c = t->cluster;
  emulator.cluster = c;
  emulator.cluster_team = c ? t->team % c->teams : 0;
  memset(dvt_team_memory, 0xff, sizeof dvt_team_memory); /* NaN */
  if (!c)
    return;
  c->memory[emulator.cluster_team] = dvt_team_memory;
  pthread_barrier_wait(&c->barrier);
}

static void *emulator_run_team(void *team) {
  const emulator_team *t = team;
  emulator.team = t->team, emulator.teams = t->teams;
  emulator.running = emulator.threads = t->threads;
  emulator.body = t->body, emulator.argument = t->argument;
  emulator.arrived = emulator.cluster_arrived = emulator.cluster_met = 0;
  emulator.stacks = t->stacks;
  emulator.copies = malloc((size_t)t->threads * sizeof *emulator.copies);
  emulator_join(t);
  emulator.context = malloc((size_t)t->threads * sizeof *emulator.context);
  for (int i = 0; i < t->threads; i++)
    emulator_begin(i);
  while (emulator.running > 0)
    for (int turn = 0; turn < t->threads; turn++) {
      const int i = emulator_descending ? t->threads - 1 - turn : turn;
      if (!emulator.over[i]) {
        emulator.thread = i;
        emulator_switch(&emulator.scheduler, &emulator.context[i]);
      }
    }
  free(emulator.copies);
  free(emulator.context);
  return NULL;
}

/* Runs the body in every thread of every team, one team after the other; team memory holds rubbish at first. Stacks
 * that stay cost less than new ones each time; a kernel that runs beside another one has its own. */
static inline void emulator_run(int teams, int threads, void (*body)(void *argument), void *argument) {
  static char stay[EMULATOR_THREADS * EMULATOR_STACK] __attribute__((aligned(16)));
  static atomic_flag taken = ATOMIC_FLAG_INIT;
  const bool alone = !atomic_flag_test_and_set(&taken);
  char *stacks = alone ? stay : malloc((size_t)threads * EMULATOR_STACK);
  for (int team = 0; team < teams; team++)
    emulator_run_team(&(emulator_team){team, teams, threads, NULL, body, argument, stacks});
  if (alone)
    atomic_flag_clear(&taken);
  else
    free(stacks);
}

/* Runs `count` teams from `first` at the same time, each on a thread. */
static void emulator_run_some(int first, int count, const emulator_team *like) {
  emulator_team *team = malloc((size_t)count * sizeof *team);
  pthread_t *thread = malloc((size_t)count * sizeof *thread);
  for (int t = 0; t < count; t++) {
    team[t] = *like;
    team[t].team = first + t;
    team[t].stacks = malloc((size_t)like->threads * EMULATOR_STACK);
    if (pthread_create(&thread[t], NULL, emulator_run_team, &team[t]))
      abort();
  }
  for (int t = 0; t < count; t++) {
    pthread_join(thread[t], NULL);
    free(team[t].stacks);
  }
  free(team);
  free(thread);
}

/* Runs all teams at the same time, as kernels need them whose teams wait for each other. */
static inline void emulator_run_together(int teams, int threads, void (*body)(void *argument),
                                         void *argument) {
  emulator_run_some(0, teams, &(emulator_team){0, teams, threads, NULL, body, argument, NULL});
}

/* Runs clusters of `size` teams, one after the other. */
static inline void emulator_run_clusters(int teams, int size, int threads, void (*body)(void *argument),
                                         void *argument) {
  for (int first = 0; first < teams; first += size) {
    emulator_cluster cluster = {.teams = size};
    if (pthread_barrier_init(&cluster.barrier, NULL, (unsigned)size))
      abort();
    emulator_run_some(first, size, &(emulator_team){0, teams, threads, &cluster, body, argument, NULL});
    pthread_barrier_destroy(&cluster.barrier);
  }
}

/* ---- launches ---- */

#define dvt_launch emulated_launch
#define dvt_launch_grid emulated_launch_grid
#define dvt_launch_clusters emulated_launch_clusters
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

davit_status emulated_launch_grid(dvt_kernel *kernel, dvt_stream *stream, const dvt_grid *grid,
                                  const dvt_argument *arguments, int count) {
  (void)stream, (void)count;
  const emulator_kernel *found = emulator_kernels;
  void *argument = (void *)(uintptr_t)arguments;
  while (strcmp(found->function, kernel->function))
    found++;
  if (grid->threads > EMULATOR_THREADS || grid->threads % 32 || grid->shared_bytes > sizeof dvt_team_memory ||
      grid->cluster > EMULATOR_CLUSTER || (grid->cluster > 0 && grid->teams % grid->cluster))
    abort();
  if (emulator_launches++ == emulator_fails_at)
    return davit_fail(DAVIT_DEVICE_ERROR, "%s is refused", kernel->function);
  emulator_busy = true;
  emulator_waits = 0;
  if (grid->cluster > 0)
    emulator_run_clusters((int)grid->teams, grid->cluster, grid->threads, found->body, argument);
  else
    emulator_run((int)grid->teams, grid->threads, found->body, argument);
  if (grid->dependent && emulator_waits != grid->teams * grid->threads)
    abort(); /* such a kernel would read what is not there yet */
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

static int emulator_clusters = 2; /* that run at once */

davit_status emulated_launch_clusters(dvt_kernel *kernel, dvt_stream *stream, const dvt_grid *grid,
                                      int *clusters) {
  (void)kernel, (void)stream, (void)grid;
  *clusters = emulator_clusters;
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
  (void)stream;
  for (size_t j = 0; j < cols; j++)
    memcpy((char *)destination + j * destination_pitch, (const char *)source + j * source_pitch, row_bytes);
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
