/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of the model (model.h) that are measured on a machine: how they lie in the tuning table, and
 * how they follow from a few times.
 *
 * A parameter of a device is kept for its kind; those of the host, and of what all devices share, for
 * DAVIT_HOST. The table holds whole numbers: MFLOP/s, MB/s, nanoseconds, bytes, elements. */
#ifndef DAVIT_SRC_LEVEL3_PARAMETERS_H
#define DAVIT_SRC_LEVEL3_PARAMETERS_H

#include <davit/level3.h>

#include "src/level3/model.h"
#include "src/runtime/tuning.h"

/* What parameters are measured with: the machine, or a test's. All functions store seconds. `index` is the
 * device's in the list of devices. */
typedef enum dvt_microbenchmark_way {
  DVT_MICROBENCHMARK_UP,
  DVT_MICROBENCHMARK_DOWN,
  DVT_MICROBENCHMARK_BOTH,
  DVT_MICROBENCHMARK_PEER,
  DVT_MICROBENCHMARK_MEMORY
} dvt_microbenchmark_way;

typedef struct dvt_microbenchmark {
  void *state;
  int devices, threads; /* of the host */
  double most;          /* longest product, a power of two: memory may limit it */
  /* One of many products m × n × k in a row with operands at hand, when the device is as warm as it gets. */
  davit_status (*product)(void *state, int index, davit_type type, double m, double n, double k,
                          double *seconds);
  /* `copies` copies in a row of `cols` rows of so many bytes; BOTH: as many each way at once. `apart`:
   * rows do not follow each other on the host. */
  davit_status (*copy)(void *state, int index, dvt_microbenchmark_way way, double row, double cols,
                       bool apart, int copies, double *seconds);
  /* So many bytes up, down or both ways, of each device at once. */
  davit_status (*copy_all)(void *state, dvt_microbenchmark_way way, double bytes, double *seconds);
  /* A step of a plan, as its thread enqueues it. */
  davit_status (*enqueue)(void *state, double *seconds);
  davit_status (*host_copy)(void *state, int threads, double bytes, double *seconds);
  davit_status (*host_product)(void *state, double n, double *seconds); /* n × n × n on all threads */
} dvt_microbenchmark;

/* In the units of the table; 0: not measured. */
typedef struct dvt_parameters {
  int64_t value[DVT_TUNE_COUNT];
} dvt_parameters;

/* Of the device; `peer`: another one is reached directly. */
davit_status dvt_parameters_of_device(const dvt_microbenchmark *microbenchmark, int index, bool peer,
                                      dvt_parameters *parameters);

/* Of the host and of all devices together. */
davit_status dvt_parameters_of_host(const dvt_microbenchmark *microbenchmark, dvt_parameters *parameters);

#endif
