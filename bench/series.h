/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of single operations: rows on a queue beside a peer, and rows over more and more devices. */
#ifndef DAVIT_BENCH_SERIES_H
#define DAVIT_BENCH_SERIES_H

#include "bench/measure.h"

/* What an operation on the site's queue is measured against: on an NVIDIA device a work on the site's stream,
 * on a host one that returns when it is done; NULL: none. */
typedef struct bench_peers {
  const char *stream_name;
  bench_work stream;
  const char *host_name;
  bench_work host;
} bench_peers;

/* bench_report() of the work on the site's queue beside its peer; returns the work's time. */
bench_time bench_queue_row(const bench_site *site, const bench_case *what, bench_work work,
                           const bench_peers *peers, void *argument);

/* On the CPU, the same for the plain form; nothing on a GPU. */
void bench_plain_row(const bench_site *site, const bench_case *what, bench_work work,
                     const bench_peers *peers, void *argument);

/* The vectors of a problem, by their names and as a list: BENCH_VECTORS(*x, *y); */
enum { BENCH_OPERANDS = 4 };
#define BENCH_VECTORS(...)                                                                                   \
  union {                                                                                                    \
    struct {                                                                                                 \
      void __VA_ARGS__;                                                                                      \
    };                                                                                                       \
    void *operand[BENCH_OPERANDS];                                                                           \
  }

/* Opens vectors of the lengths (0: none) at a place; false, with a row, if one of them cannot be made.
 * Closing frees what there is. */
bool bench_vectors_open(int place, davit_type type, const int64_t lengths[BENCH_OPERANDS],
                        void *operand[BENCH_OPERANDS]);
void bench_vectors_close(void *operand[BENCH_OPERANDS]);

/* ---- several devices ---- */

/* The devices that work is spread over, and how many of them rows are to use: the numbers of --devices that
 * there are so many devices for, the largest of them, and the one now. */
typedef struct bench_spread {
  int devices[BENCH_MOST], most, count;
  bench_values counts;
} bench_spread;
bench_spread bench_spread_read(void);

/* Rows of the same work on spread->count = 1, 2 ... devices, timed by the host: the peer is the first row's
 * rate, so that `ratio` is the speedup. */
void bench_series(bench_spread *spread, const bench_site *site, bench_case what, bench_work work,
                  void *argument);

/* The same twice, for a whole that is fixed (strong) and for one that grows with the devices (weak). `divide`
 * gives each of spread->count devices its part, and says what the row is about, which a call of the work does
 * `batch` times. */
typedef bench_case bench_divide(void *argument, bool weak);
void bench_both_series(bench_spread *spread, const bench_site *site, int batch, bench_divide *divide,
                       bench_work work, void *argument);

/* A part of the work on a device of its own: a queue, and vectors of the lengths (0: none). All slabs or none
 * are opened; bench_slabs_call() enqueues `batch` times on each of spread->count, and waits for all. */
typedef struct bench_slab {
  davit_queue *queue;
  void *operand[BENCH_OPERANDS];
  int64_t cols;
} bench_slab;
bool bench_slabs_open(const bench_spread *spread, davit_type type, const int64_t lengths[BENCH_OPERANDS],
                      bench_slab *slabs);
void bench_slabs_close(const bench_spread *spread, bench_slab *slabs);
davit_status bench_slabs_call(const bench_spread *spread, int batch, const bench_slab *slabs,
                              davit_status (*enqueue)(const bench_slab *slab, const void *argument),
                              const void *argument);

/* ---- programs ---- */

/* A whole program: opens a site for each of --device and calls `measure`; `spread` is NULL but for the first. */
typedef void bench_program(const bench_site *site, const bench_spread *spread);
int bench_run(const char *name, const char *usage, int argc, char **argv, bench_program *measure);

#endif
