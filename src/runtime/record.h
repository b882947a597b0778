/* SPDX-License-Identifier: Apache-2.0 */
/* A record: one generation of an event.
 *
 * Counted references: the event, the command that records it, every wait and every notification hold one, so
 * an event can be reset or destroyed while others still wait, and late work only ever finishes its own
 * generation. State moves one way: PENDING -> (ISSUED ->) DONE or FAILED. ISSUED: it is placed in a
 * device stream as `event`; the device decides when it is reached. `time_ns` and the error are written before
 * the state that publishes them. */
#ifndef DAVIT_SRC_RUNTIME_RECORD_H
#define DAVIT_SRC_RUNTIME_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "offload/runtime/stream.h"
#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/runtime/generator.h"

typedef enum dvt_record_state {
  DVT_RECORD_PENDING,
  DVT_RECORD_ISSUED,
  DVT_RECORD_DONE,
  DVT_RECORD_FAILED
} dvt_record_state;

/* Where the record is in a trace, for arrows to those that wait for it; under the lock of traces. */
typedef struct dvt_traced {
  unsigned trace; /* 0: in none */
  long long command;
  struct dvt_timeline *timeline; /* valid while ns is 0 */
  int process, row;
  int64_t ns; /* 0: not in the file yet; -1: it never will be */
} dvt_traced;

/* Addresses that stand for a record in the task graph. */
typedef struct dvt_addresses {
  char issued, done;
} dvt_addresses;

typedef struct dvt_record {
  atomic_int references;
  _Atomic int state;
  int device;
  bool on_stream;      /* recorded in a device stream: passes through ISSUED */
  bool timed;          /* note the time when it is reached */
  bool failed_pending; /* ISSUED only to fail: `error` is set already */
  dvt_device_event *event;
  int64_t time_ns; /* CLOCK_MONOTONIC */
  dvt_traced traced;
  dvt_error error;
  struct dvt_record *next_free;
  /* For the task graph: the addresses that `depend` clauses name, and what the generating thread keeps. */
  dvt_addresses own, *addresses; /* NULL: none are needed yet */
  bool has_callback;
  dvt_detached callback;
  dvt_message callback_over;
  bool generated;          /* the task that records it is in the graph */
  bool certain;            /* that task is a region, which cannot fail, or fails for sure */
  struct dvt_lane *parked; /* lanes whose next batch waits for `generated` */
} dvt_record;

/* A PENDING record with one reference; NULL sets the sentence. */
dvt_record *dvt_record_new(int device, bool on_stream, bool timed);
dvt_record *dvt_record_hold(dvt_record *record);
void dvt_record_drop(dvt_record *record);

/* Frees those that nobody has. */
void dvt_records_trim(void);

/* The record's addresses, chosen by the first call. They return to a pool with the record: the OpenMP runtime
 * keeps what it knows of each address for ever, so that those which the graph has seen must stay few, however
 * many records are pending. Only the thread that generates tasks may call this. */
dvt_addresses *dvt_record_addresses(dvt_record *record);

/* PENDING -> ISSUED; takes the event. */
void dvt_record_issue(dvt_record *record, dvt_device_event *event);

/* The record will fail with the status and message when it is finished. */
void dvt_record_fail_pending(dvt_record *record, davit_status status, const char *message);

/* -> DONE (status success) or FAILED with `message`. The first call counts, later ones do nothing. */
void dvt_record_finish(dvt_record *record, davit_status status, const char *message);

/* The state now, asking the device where it decides: while the record is ISSUED. */
dvt_record_state dvt_record_query(dvt_record *record);

/* Whether it is DONE or FAILED. */
static inline bool dvt_record_is_over(dvt_record *record) {
  const int state = atomic_load(&record->state);
  return state == DVT_RECORD_DONE || state == DVT_RECORD_FAILED;
}

/* The state as the host knows it: ISSUED may have been reached on the device. */
dvt_record_state dvt_record_known(const dvt_record *record);

/* Waits until DONE or FAILED; returns the status with its sentence. */
davit_status dvt_record_wait(dvt_record *record);

/* Asks until it is over, which a device decides; between the questions the thread sleeps, and is outside. */
void dvt_poll(bool (*is_over)(void *argument), void *argument);

/* Waits until the record is no longer PENDING. */
void dvt_record_wait_issued(dvt_record *record);

/* Waits for the events of ISSUED records, those of a device by a single one behind them all: to ask the device
 * for each costs several times as much. `records` may be NULL in places. Where it cannot be done it is left
 * to dvt_record_wait(), which callers use for the outcome anyway. */
void dvt_records_join(dvt_record *const *records, int count);

#endif
