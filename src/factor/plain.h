/* SPDX-License-Identifier: Apache-2.0 */
/* What the plain forms of factorisations have in common: where they are computed, operands of any memory, the
 * report. */
#ifndef DAVIT_SRC_FACTOR_PLAIN_H
#define DAVIT_SRC_FACTOR_PLAIN_H

#include "src/factor/factor.h"
#include "src/factor/rows.h"

/* A plain call. The front sets rule, work, type, letters and matrices of `call`. */
typedef struct dvt_plain {
  dvt_factor_call call;
  const davit_solve_options *given; /* NULL: none */
  davit_solve_report report;
  double flops;    /* of the whole, */
  double elements; /* and what crosses the link each way */
  bool any_device; /* the caller has named none */
  int home;        /* the device that computes the whole where it lies */
} dvt_plain;

/* Options and devices; pointers of operands that OpenMP has mapped. */
davit_status dvt_plain_begin(dvt_plain *p);
davit_status dvt_plain_mapped(const dvt_plain *p, const char *name, void **pointer);

/* Where matrices lie, and whether one device computes the whole there: p->home. Else they travel. */
bool dvt_plain_is_at_home(dvt_plain *p);

/* A triangle's systems, by level 3. */
davit_status dvt_plain_level3(dvt_plain *p, dvt_level3 *g);

/* A vector of the caller's as one that the host (`device` DAVIT_HOST) or a device reaches: itself, or a copy, which is
 * filled if it is read, and goes back if it is written. */
typedef struct dvt_lent {
  void *pointer;
  void *of;
  size_t bytes;
  int place, copy_place;
} dvt_lent;
davit_status dvt_lend(void *of, size_t bytes, int device, bool reads, dvt_lent *lent);
davit_status dvt_lent_back(dvt_lent *lent, bool writes);

/* Whether the host, from now on p->home, computes what failed with `status`: the devices that the library has chosen
 * are full, and nothing is written. */
bool dvt_plain_goes_home(dvt_plain *p, davit_status status);

/* How a device computes the whole: an operation, and in its arguments a vector, which is lent to the device. */
typedef struct dvt_at_home {
  const dvt_operation *operation;
  void *arguments;
  size_t vector; /* the pointer's offset; 0: there is no vector */
  size_t bytes;  /* of the vector; 0: nobody reads it, wherever it lies */
  bool writes;   /* the vector, else it is read */
} dvt_at_home;

/* The whole at home, or by blocks over all devices, and at home after all where they are full. */
davit_status dvt_plain_run(dvt_plain *p, bool is_at_home, const dvt_at_home *form, int *info);

/* Fills the caller's report; returns `status`. */
davit_status dvt_plain_end(dvt_plain *p, int64_t begin_ns, davit_status status);

/* The option that a queue does not read and that is set, if there is one: an error. */
davit_status dvt_queue_options(const davit_solve_options *options);

#endif
