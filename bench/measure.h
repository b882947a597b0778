/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks of single operations share: the devices, clocks, ceilings and rows.
 *
 * Clocks. Work on a queue is timed by a davit_timer: on a GPU between two points of the stream, by the
 * device. Before the first point a GPU copies up to 1 GiB, so that all calls of a round are enqueued when the
 * first one begins, and the first finds nothing of its operands in the caches. Peers on NVIDIA devices are
 * timed by events in a stream of their own, behind the same copy. Calls that return when the work is done are
 * timed by the host. A figure is the median over the rounds, after two that are not counted; a round is a
 * batch of calls that takes about 2 ms (5 ms without a GPU) or a single call, and counts with its mean.
 *
 * OpenMP threads spin for a while when their work is done (200 ms by default), beside whatever is measured
 * next on the CPU. The programs start themselves anew with KMP_BLOCKTIME=1 (ms) unless it is set, and wait
 * for 2 ms before each figure: threads still spin between the calls of a batch.
 *
 * Ceilings, measured when a site is opened: a copy (the best of davit's and of a plain one; read and written
 * are counted) and a read (the same, read alone).
 *
 * Nothing here ends the program: what fails becomes a row with `error`.
 *
 * Options of every program, beside its own sizes (lists have commas; 0 leaves a figure out where there is one
 * size):
 *   --device LIST   where operations on one device run (default: the first GPU, and -1, the CPU)
 *   --devices LIST  how many devices work is spread over (1,2,4), those of davit_device_defaults()
 *   --repeats N     rounds (7; 3 on the CPU)
 *   --types LIST    d,s,i,l: f64, f32, i32, i64, those that the operation has
 *   --peers 0       without peers
 *   --link GBS      10^9 bytes/s of the host link, each direction and device (55) */
#ifndef DAVIT_BENCH_MEASURE_H
#define DAVIT_BENCH_MEASURE_H

#include "bench/bench.h"
#include "bench/peers/cub.h"

enum { BENCH_MOST = 64 };

typedef struct bench_settings {
  int argc;
  char **argv;
  int devices[BENCH_MOST], device_count;
  int64_t counts[BENCH_MOST];
  int count_count, repeats; /* repeats 0: by the device */
  bool peers;
  const char *types;
  double link;
} bench_settings;

/* The end of the usage of a program that reads them. */
#define BENCH_OPTIONS                                                                                        \
  "  [--device LIST] [--devices LIST] [--repeats N] [--types LIST] [--peers 0] [--link GBS]\n"

/* bench_options(), then the options of every program. The first call of a program that does not use
 * bench_run(). */
void bench_settings_read(bench_settings *settings, const char *usage, int argc, char **argv);

/* The list --name, or one of the defaults. */
int bench_sizes(const bench_settings *settings, const char *name, bool gpu, const char *gpu_sizes,
                const char *cpu_sizes, int64_t *sizes);
int64_t bench_size(const bench_settings *settings, const char *name, bool gpu, int64_t gpu_size,
                   int64_t cpu_size);
int64_t bench_largest(const int64_t *sizes, int count);

/* The types among --types, in its order; `allowed` has the letters that the operation takes. */
int bench_types(const bench_settings *settings, const char *allowed, davit_type *types);

/* "f64" and so on. */
const char *bench_type_name(davit_type type);

/* A device, and what operations there are measured with. */
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

/* Opens the site and prints its ceilings. On failure there is a row that says why, and nothing to close. */
bool bench_site_open(const bench_settings *settings, int device, bench_site *site);
void bench_site_close(bench_site *site);

/* Where operands on the site lie. */
int bench_place(const bench_site *site);

/* Memory, filled with uniform random numbers (integers: their bits) or not; NULL where it fails, with a row.
 */
void *bench_vector(int place, davit_type type, int64_t n);
void *bench_memory(int place, size_t bytes);

/* Calls what is measured once. */
typedef davit_status (*bench_work)(void *argument);

typedef struct bench_time {
  double median, best; /* seconds of a call; 0: none */
  double processor;    /* median of the processor's seconds, of all threads; 0: not measured */
  char error[200];     /* "" if none */
} bench_time;

/* The work enqueues on the site's queue; on its stream; returns when done. */
bench_time bench_queue_time(const bench_site *site, bench_work work, void *argument);
bench_time bench_stream_time(const bench_site *site, bench_work work, void *argument);
bench_time bench_wall_time(const bench_site *site, bench_work work, void *argument);

/* Up to BENCH_TURNS works by turns, so that what else the machine does meets all of them; after one turn that
 * is not counted. The processor's time is measured as well: it says what a core does where others use the
 * machine too. */
enum { BENCH_TURNS = 4 };
void bench_wall_turns(const bench_site *site, int count, const bench_work *works, void *argument,
                      bench_time *times);

/* Cycles a second of the core that this runs on, by a chain of operations whose latency is known: 3 for a
 * product, 1 for what follows. */
double bench_core_clock(void);

/* What a CUDA or CUB call returned, as a status. */
davit_status bench_cuda(int result, const char *what);

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

/* ---- several devices ---- */

/* The devices that work is spread over, and how many of them rows are to use: the numbers of --devices that
 * there are so many devices for, the largest of them, and the one now. */
typedef struct bench_spread {
  int devices[BENCH_MOST], counts[BENCH_MOST], count_count, most, count;
} bench_spread;
bench_spread bench_spread_read(const bench_settings *settings);

/* Rows of the same work on more and more devices, timed by the host: the peer is the first row's rate, so
 * that `ratio` is the speedup whether the whole is fixed (strong) or grows with the devices (weak). All zero
 * at first but for `spread` and `batch`; bench_series_next() sets spread->count, false after the last. */
typedef struct bench_series {
  bench_spread *spread;
  int batch; /* how often a call of the work does what the row is about; 0: once */
  int next;
  bench_time first;
  double bytes;
  char name[24];
} bench_series;
bool bench_series_next(bench_series *series);
void bench_series_row(bench_series *series, const bench_site *site, bench_case what, bench_work work,
                      void *argument);

/* A part of the work on a device of its own: a queue, and vectors of the lengths (0: none). All slabs or none
 * are opened; bench_slabs_call() enqueues `batch` times on each of spread->count, and waits for all. */
enum { BENCH_OPERANDS = 4 };
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

/* A whole program: opens a site for each of --device and calls `measure`; `spread` is NULL but for the first.
 */
typedef void bench_program(const bench_settings *settings, const bench_site *site,
                           const bench_spread *spread);
int bench_run(const char *name, const char *usage, int argc, char **argv, bench_program *measure);

/* A row that only says what failed. */
void bench_failure(const char *operation, const char *error);

#endif
