/* SPDX-License-Identifier: Apache-2.0 */
/* A plan that is being carried out, shared by engine.c (devices) and ring.c (pageable memory).
 *
 * Each device has a thread that goes through the device's steps in the plan's order and enqueues them on the
 * device's streams, one for each role; a device without streams does its steps there and then. A step is
 * `issued` when it is enqueued, or done; who depends on it waits for that on the host, and for the work
 * itself in the stream, by the step's mark. As the plan's order respects every dependence, and each thread
 * waits for earlier steps only, no thread waits for ever. Loads and stores of pageable memory belong to
 * threads of the ring, which do them in the same order. The first failure stops all threads; streams are
 * drained before any memory is freed. */
#ifndef DAVIT_SRC_LEVEL3_RUNNING_H
#define DAVIT_SRC_LEVEL3_RUNNING_H

#include <pthread.h>
#include <stdatomic.h>

#include "offload/runtime/stream.h"
#include "src/base/error.h"
#include "src/level3/run.h"
#include "src/runtime/copy.h"
#include "src/runtime/trace.h"

typedef struct dvt_step_state {
  atomic_bool issued;
  dvt_mark *mark;
  dvt_point *point; /* in a trace */
} dvt_step_state;

/* Slots of a pool, cut from a few blocks of device memory. */
typedef struct dvt_slot_memory {
  void **page;
  int64_t pages, per_page;
  size_t slot_bytes;
} dvt_slot_memory;

typedef struct dvt_ring dvt_ring;
typedef struct dvt_running dvt_running;

/* Scratch memory of the operations on one product stream. */
typedef struct dvt_scratch {
  struct dvt_engine *engine;
  void *memory;
  size_t bytes;
  struct dvt_scratch *older;
} dvt_scratch;

typedef struct dvt_engine {
  dvt_running *run;
  int index, device;
  bool streams;
  int threads; /* of the host, where the device has no streams */
  dvt_stream *stream[DVT_ROLES];
  dvt_trail trail[DVT_ROLES]; /* rows in a trace */
  dvt_slot_memory pool[DVT_POOLS];
  dvt_scratch *scratch[DVT_ROLES];
  dvt_ring *ring; /* NULL: nothing pageable passes */
  int64_t products;
} dvt_engine;

struct dvt_running {
  const dvt_level3_call *call;
  const dvt_plan_shape *shape;
  const dvt_plan *plan;
  int place[DVT_POOLS];
  size_t element;
  bool guarded;          /* a GPU takes part, so the caller is inside (src/base/ending.h) */
  dvt_step_state *state; /* of each step */
  dvt_engine engine[DVT_PLAN_DEVICES];
  atomic_bool failed;
  atomic_int waiting; /* threads asleep until something is issued */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_mutex_t progress_lock; /* while `progress` of the options is called */
  pthread_cond_t all_reported;
  int64_t reported,
      unreported;      /* products reported, and those that a device will report; under progress_lock */
  dvt_error error;     /* the first; under the lock */
  atomic_bool begun;   /* a step was tried */
  atomic_bool written; /* one that writes the caller's C was */
  bool complete;       /* all threads are there, so steps may begin; under the lock */
  int full;            /* index of a device without room for its slots, -1: none */
  int threads;         /* at work beside the calling one; under the lock */
  atomic_llong up, down, across; /* bytes */
  int64_t cache_bytes;
};

/* What a thread returns that stops because another one has failed: that failure is kept already. */
enum { DVT_STOPPED = DAVIT_INTERNAL_ERROR };

/* Keeps the first failure and wakes everybody. */
void dvt_running_fail(dvt_running *run, davit_status status);

/* Waits until the step is issued; false if the run has failed. */
bool dvt_step_await(dvt_running *run, int32_t step);

/* The step is issued; a mark for it is on the stream if somebody waits for it elsewhere. */
davit_status dvt_step_issue(dvt_engine *engine, int32_t step);

/* Has the step's stream wait for all that the step depends on. */
davit_status dvt_step_wait(dvt_engine *engine, int32_t step);

/* Where a tile lies: in a slot, dense, or in the caller's matrix. */
typedef struct dvt_tile_view {
  char *pointer;
  int64_t rows, cols, ld; /* as stored */
} dvt_tile_view;
char *dvt_slot_pointer(const dvt_engine *engine, int pool, int32_t slot);
dvt_tile_view dvt_step_view(const dvt_engine *engine, const dvt_operand *tile, int32_t slot);
dvt_copy dvt_view_copy(const dvt_tile_view *to, int to_place, const dvt_tile_view *from, int from_place,
                       size_t element);

/* The copy of a LOAD or STORE between the caller's matrix and the slot. */
dvt_copy dvt_step_copy(const dvt_engine *engine, const dvt_step *step);

/* Calls the options' `progress`, if there is one, when the product issued last in this role is computed. */
davit_status dvt_product_report(dvt_engine *engine, int role);

/* Blocks until devices have reported all products that they will. */
void dvt_products_await_reports(dvt_running *run);

/* Starts function(argument) on a thread of the pool, counted in `threads`; it ends with dvt_running_leave().
 * */
davit_status dvt_running_start(dvt_running *run, void (*function)(void *), void *argument);
void dvt_running_leave(dvt_running *run);

/* Whether the step writes the caller's C, and no copy of it. */
bool dvt_step_writes(const dvt_step *step);

/* All threads are there. For threads whose steps may write C: waits for that; false if the run has failed before. */
void dvt_running_complete(dvt_running *run);
bool dvt_running_await_all(dvt_running *run);

#endif
