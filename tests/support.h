/* SPDX-License-Identifier: Apache-2.0 */
/* What all tests share: cases, assertions that show the library's sentence, devices and places, threads, and
 * work that stops a queue until the test lets it go on.
 *
 * Nothing here waits longer than PATIENCE_S seconds: work that is held for so long fails with a sentence, so
 * a library that loses a wake-up fails its test and does not hang it. Tests read memory of a device by
 * davit_copy() alone; the same programs run on GPUs. */
#ifndef DAVIT_TESTS_SUPPORT_H
#define DAVIT_TESTS_SUPPORT_H

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <davit/davit.h>

#include "src/base/error.h"

enum { PATIENCE_S = 30, MAX_PLACES = 66, MAX_THREADS = 32 };

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* ---- cases and assertions ---- */

/* Defines a case. run_cases() runs the cases of a program in the order of their definition. */
#define CASE(name)                                                                                           \
  static void name(void **state);                                                                            \
  __attribute__((constructor)) static void add_##name(void) {                                                \
    add_case(#name, name);                                                                                   \
  }                                                                                                          \
  static void name(void **state __attribute__((unused)))
void add_case(const char *name, CMUnitTestFunction function);
int run_cases(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* A probe is a case that runs in a process of its own, with variables of the environment and one argument:
 * a case calls try_probe("name", "argument", "A=1 B=2"), which runs this program again. The probe fails if it
 * does not end with exit status 0 within PATIENCE_S. A program with probes calls run_case_or_probe() in
 * main(). */
#define PROBE(name)                                                                                          \
  static void name(void);                                                                                    \
  __attribute__((constructor)) static void add_##name(void) {                                                \
    add_probe(#name, name);                                                                                  \
  }                                                                                                          \
  static void name(void)
void add_probe(const char *name, void (*run)(void));
void try_probe(const char *name, const char *argument, const char *variables);
extern const char *probe_argument;
int run_case_or_probe(int argc, char **argv, CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* davit_finalize() for run_cases(). A program without main() runs its cases with it (tests/main.c). */
int finalize(void **state);

/* Memory of the host, or at a place, that is freed at the end of the case, or of the block that began with
 * SCOPE. Threads that a case starts may ask for memory, but have no scopes. That of kept() is poisoned with
 * 0xff, which is NaN or -1. */
void *kept(size_t bytes);
void *kept_zeros(size_t bytes);
void *kept_at(size_t bytes, int place);

/* Calls drop(object) at that moment, later objects first; returns the object. */
void *keep(void *object, void (*drop)(void *object));
#define SCOPE SCOPE_IN(__LINE__)
#define SCOPE_IN(line) SCOPE_CALLED(scope_##line)
#define SCOPE_CALLED(name) __attribute__((cleanup(scope_end), unused)) const void *name = scope_begin()
const void *scope_begin(void);
void scope_end(const void **begin);

/* The call succeeds; the call fails with `status` and a sentence that contains `words`; so does the last,
 * with DAVIT_INVALID_ARGUMENT. */
#define CHECK(call) support_check((call), #call, __FILE__, __LINE__)
#define CHECK_FAILS(call, status, words)                                                                     \
  (dvt_error_clear(), support_check_fails((call), (status), (words), #call, __FILE__, __LINE__))
#define REFUSED(call, words) CHECK_FAILS(call, DAVIT_INVALID_ARGUMENT, words)
void support_check(davit_status status, const char *call, const char *file, int line);
void support_check_fails(davit_status status, davit_status expected, const char *words, const char *call,
                         const char *file, int line);

/* ---- time and numbers ---- */

double now_ms(void);
double patience_ends_ms(void); /* PATIENCE_S from now */
void sleep_ms(int milliseconds);

/* `count` times DAVIT_TEST_SCALE (1 where it is not set), at least 1: how much of a long test to run. */
int scaled(int count);

/* Whether to leave out this one of many cases: with DAVIT_TEST_SCALE below 1 all but such a share of them, at least
 * a tenth, are left out, drawn by a seed that is always the same. The first of a
 * test is kept, and of any 2 / share in a row some. */
bool left_out(void);

/* The next of a sequence of well mixed numbers (SplitMix64); one below `below`; one in [-1, 1). */
uint64_t next_random(uint64_t *state);
int random_below(uint64_t *state, int below);
double random_unit(uint64_t *state);

/* ---- devices and places ---- */

/* Devices are DAVIT_HOST … device_count() - 1, that is -1, 0, 1 … */
int device_count(void);
#define EACH_DEVICE(device) for (int device = DAVIT_HOST; device < device_count(); device++)

/* DAVIT_HOST and all devices; the number of them. */
int all_devices(int devices[MAX_PLACES]);

/* The same, as many as a plain form takes; the devices that plain forms use by default. */
int plain_devices(int devices[MAX_PLACES]);
int spread_devices(int devices[MAX_PLACES]);

/* DAVIT_PAGEABLE, DAVIT_PINNED and all devices. */
int all_places(int places[MAX_PLACES]);

/* Two devices that differ, or false. */
bool two_devices(int pair[2]);

/* A GPU with so much memory free, or -1. */
int roomy_gpu(size_t bytes);

/* The same; without one the case is skipped. */
int some_gpu(size_t bytes);

/* Options of type T with these devices. */
#define ON(T, list, count) (&(T){.devices = (list), .device_count = (count)})

/* Where a queue of `device` has its operands. */
int place_for(int device);

bool place_is_host(int place);

/* Whether the device computes as a GPU. Host-offload devices that pose as GPUs (DAVIT_SIMULATE=amd) have
 * memory like one, but compute as the CPU. */
bool is_gpu(int device);
bool simulates_amd(void);

davit_queue *new_queue(int device, int subqueues);
void finish(davit_queue *queue); /* synchronises and destroys */
/* The queue form of a function, or without a queue the plain one. */
#define FORM(queue, stem, ...) ((queue) ? davit_queue_##stem(queue, __VA_ARGS__) : davit_##stem(__VA_ARGS__))

/* A queue of DAVIT_HOST that is destroyed when kept() memory is freed; both forms of a function refuse the
 * arguments. */
davit_queue *kept_queue(void);
#define REFUSED_BOTH(words, stem, ...)                                                                       \
  (REFUSED(davit_##stem(__VA_ARGS__), words), REFUSED(davit_queue_##stem(kept_queue(), __VA_ARGS__), words))
#define DESTROY(...) destroy_queues((davit_queue *[]){__VA_ARGS__, NULL})
void destroy_queues(davit_queue **queues);
void *new_memory(size_t bytes, int place);

/* An event that is destroyed when kept() memory is freed. */
davit_event *new_event(void);
davit_event_state state_of(davit_event *event);

/* Whether the event reaches the state within PATIENCE_S. */
bool becomes(davit_event *event, davit_event_state state);

/* ---- threads and work ---- */

/* Starts `count` threads, the i-th with argument + i * bytes, and waits for all. */
void in_threads(int count, void *(*body)(void *argument), void *arguments, size_t bytes);
pthread_t start_thread(void *(*body)(void *argument), void *argument);
void *join_thread(pthread_t thread);

/* A gate: gate_pass() as a host function stops its sub-queue until gate_open(). Gates are never freed,
 * because after a failure work may still stand at them. */
typedef struct gate gate;
gate *gate_new(void);
davit_status gate_pass(void *g);
void gate_open(gate *g);

/* A thread that opens the gate after so many milliseconds. */
pthread_t gate_open_later(gate *g, int ms);

/* Waits until `count` have arrived at the gate; false when they do not come. */
bool gate_reached(gate *g, int count);

/* A queue with a closed gate at the head of its current sub-queue, reached already. */
gate *gate_at_head(davit_queue *queue);

/* A gate that opens itself when `expected` have arrived: gate_pass() fails if they do not come. */
gate *meeting_new(int expected);

/* Host functions: set an atomic_int to 1, add 1 to it, sleep the (intptr_t) milliseconds, fail. */
davit_status set_flag(void *flag);
davit_status add_one(void *counter);
davit_status take_a_nap(void *milliseconds);
davit_status always_fail(void *unused);
#define FAILURE_WORDS "line 17 is empty"

/* True when the flag is set within PATIENCE_S. */
bool flag_rises(atomic_int *flag);

#endif
