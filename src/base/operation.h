/* SPDX-License-Identifier: Apache-2.0 */
/* Operations and the sites that they run on.
 *
 * An operation is one row: how its arguments are checked, and a form for each way to compute it. The
 * arguments travel in one struct from the public call to the kernel; ref/ and offload/ define the struct and
 * the forms, src/ the row.
 *
 *   stream   enqueues on site->stream and returns at once; if it waits, dvt_operation_run() is its only caller
 *   host     computes on site->threads threads of the host, in memory that the host reaches
 *   region   runs target regions on site->device and returns when they are done
 *   tasks    generates regions `target … nowait depend(inout: *site->order)` on site->device and returns: tasks of
 *            the graph. Where a region form is due and has_tasks() holds
 *
 * A site is where one command runs. site->stream is set for a stream form only, site->threads for a host form
 * only. */
#ifndef DAVIT_SRC_BASE_OPERATION_H
#define DAVIT_SRC_BASE_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/error.h"

typedef struct dvt_stream dvt_stream;
typedef struct dvt_site dvt_site;

struct dvt_site {
  int device; /* DAVIT_HOST or an OpenMP device */
  dvt_stream *stream;
  int threads;
  char *order; /* for DVT_REGION commands: the address of their regions' depend(inout) */
  void *owner; /* of the services: the lane, in tests anything */
  /* For STAGED commands: a form that succeeds has begun, and calls over(argument, status) when the work is over; NULL:
   * it waits itself. */
  void (*over)(void *argument, davit_status status);
  void *argument;
  /* Scratch memory on the device (of the host for host forms), for this command alone. The contents are
   * undefined. */
  davit_status (*workspace)(const dvt_site *site, size_t bytes, void **pointer);
  /* DVT_SITE_COUNTERS counters in the device's memory that are 0; whoever uses them leaves them at 0. For
   * stream forms. */
  davit_status (*counters)(const dvt_site *site, uint32_t **counters);
};

enum { DVT_SITE_COUNTERS = 1024 };

/* `arguments` is the command's own copy. */
typedef davit_status (*dvt_form)(const dvt_site *site, const void *arguments);

typedef struct dvt_operation {
  const char *name;
  size_t bytes;                           /* of the arguments */
  davit_status (*check)(void *arguments); /* may normalise them, as in 't' to 'T' */
  dvt_form stream, host, region, tasks;   /* stream and tasks may be NULL: there is none */
  bool (*has_tasks)(int device, const void *arguments);
  davit_status (*use_mapped)(void *arguments,
                             int device); /* operands become the device's copies of what is mapped */
  davit_status (*prepare)(
      const dvt_site *site); /* what the first stream form on a stream would take long for; or NULL */
  bool
      region_on_host; /* the region form runs on host-offload devices too, where DAVIT_BLAS=target asks for it */
  bool serial;        /* the host form is one thread */
  int tuned_threads; /* dvt_tunable of the host form's threads; 0: none */
} dvt_operation;

#endif
