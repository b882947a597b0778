/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the benchmarks of single operations: what was measured, on which device, its time, and its peer. */
#ifndef DAVIT_BENCH_ROWS_H
#define DAVIT_BENCH_ROWS_H

#include "bench/bench.h"
#include "bench/peers/cub.h"

/* A device, and what operations there are measured with (measure.h opens it). */
typedef struct bench_site {
  int device, repeats;
  bool gpu, peers;
  davit_queue *queue;
  davit_timer *timer;
  void *from, *to; /* `bytes` bytes each */
  size_t bytes;
  double copy, read; /* bytes per second; 0: unknown */
  double link;
  const peer_cub *cub; /* the rest is NULL but on NVIDIA devices with peers */
  void *stream, *start, *stop, *cublas;
} bench_site;

typedef struct bench_time {
  double median, best; /* seconds of a call; 0: none */
  double processor;    /* median of the processor's seconds, of all threads; 0: not measured */
  char error[200];     /* "" if none */
} bench_time;

typedef struct bench_case {
  const char *operation, *type, *variant, *form;
  int64_t rows, cols; /* cols 0: a vector */
  int devices;        /* 0: one */
  double bytes, flops;
  double link_bytes; /* over the host link in the busier direction; 0: data on the device */
  double peak;       /* flops per second of a device; 0: bytes alone give the floor */
} bench_case;

/* Prints the row, which stays open for more fields. With a peer its time and `ratio`, the peer's time by this
 * one's (above 1: faster than the peer). `floor_us` is the time that the ceilings leave, `of_floor` its share
 * of the time. */
void bench_report(const bench_site *site, const bench_case *what, const bench_time *time, const char *peer,
                  const bench_time *peer_time);

/* A row that only says what failed. */
void bench_failure(const char *operation, const char *error);

#endif
