/* SPDX-License-Identifier: Apache-2.0 */
/* dgemm, dgemv and daxpy tile by tile over the queues of several devices, with operands in host memory: the
 * drivers of the thesis's experiments, as a program that uses davit's queues would write them. The library's
 * own product is davit_dgemm() of <davit/level3.h>.
 *
 * Tiles of the result are dealt to the devices in turn. A device has three queues, for loads, products and
 * stores, so that copies both ways and arithmetic overlap; each has the same number of sub-queues, which take
 * turns. A tile of an input is loaded once by each device that needs it, in the order in which products need
 * tiles. The products of a result's tile follow each other on one sub-queue. Events order what is on different
 * queues:
 *
 *   loads      [copy A(i,k), record]  [copy B(k,j), record] …
 *   products   wait for both, C(i,j) = alpha A(i,k) B(k,j) + beta C(i,j); after the last k: record
 *   stores     wait, copy C(i,j) back
 *
 * Each device has memory for all operands. */
#ifndef DAVIT_STUDY_QUEUE_TILED_H
#define DAVIT_STUDY_QUEUE_TILED_H

#include <davit/davit.h>

typedef enum study_routine { STUDY_DGEMM, STUDY_DGEMV, STUDY_DAXPY, STUDY_ROUTINES } study_routine;

extern const char *const study_routine_names[STUDY_ROUTINES];

/* Square matrices of order n, column-major, without gaps; vectors of n elements.
 *
 *   dgemm   C = alpha A B + beta C
 *   dgemv   c = alpha A b + beta c
 *   daxpy   c = alpha a + c          (b and beta are not read) */
typedef struct study_operands {
  double alpha, beta;
  const double *a, *b;
  double *c;
} study_operands;

/* Elements of a, b and c. */
void study_tiled_counts(study_routine routine, int64_t n, int64_t counts[3]);

enum { STUDY_TILED_DEVICES = 16 };

typedef struct study_tiled_options {
  const int *devices;
  int device_count; /* 1 … STUDY_TILED_DEVICES */
  int subqueues;    /* of each queue */
  int64_t tile;     /* rows and columns; 0: study_tiled_tile() */
} study_tiled_options;

/* An eighth of n for dgemm, from 512 to 4096; a quarter for the others, at most 8192 for dgemv. */
int64_t study_tiled_tile(study_routine routine, int64_t n);

typedef struct study_tiled study_tiled;

/* Takes the queues, events and memory for any number of runs. */
davit_status study_tiled_open(study_routine routine, int64_t n, const study_tiled_options *options,
                              study_tiled **tiled);

/* Enqueues everything and waits for it. beta = 0 does not read c. One thread at a time. */
davit_status study_tiled_run(study_tiled *tiled, const study_operands *operands);

/* NULL is allowed. */
davit_status study_tiled_close(study_tiled *tiled);

#endif
