/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks of single operations share: devices, clocks and ceilings. Rows are in rows.h, programs
 * in series.h.
 *
 * Clocks. Work on a queue is timed by a davit_timer: on a GPU between two points of the stream, by the
 * device. Before the first point a GPU copies up to 1 GiB, so that all calls of a round are enqueued when the
 * first one begins, and the first finds nothing of its operands in the caches. Peers on NVIDIA devices are
 * timed by events in a stream of their own, behind the same copy. Calls that return when the work is done are
 * timed by the host. A figure is the median over the rounds, after two that are not counted; a round is a
 * batch of calls that takes about 2 ms (5 ms without a GPU) or a single call, and counts with its mean.
 *
 * The programs let OpenMP threads sleep (bench.h), and rest before each figure: threads still spin between
 * the calls of a batch.
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

#include "bench/rows.h"
#include "src/base/operator.h"

/* The end of the usage of a program that reads them. */
#define BENCH_OPTIONS                                                                                        \
  "  [--device LIST] [--devices LIST] [--repeats N] [--types LIST] [--peers 0] [--link GBS]\n"

/* bench_options(), then threads that do not spin; returns --device. The first call of a program that does not
 * use bench_run(). */
bench_values bench_open(const char *usage, int argc, char **argv);

/* The types among --types, in its order; `allowed` has the letters that the operation takes. */
typedef struct bench_kinds {
  int count;
  davit_type at[DVT_MONOID_TYPES];
} bench_kinds;
bench_kinds bench_types(const char *allowed);

/* "f64" and so on. */
const char *bench_type_name(davit_type type);

/* Opens the site and prints its ceilings. On failure there is a row that says why, and nothing to close. */
bool bench_site_open(int device, bench_site *site);
void bench_site_close(bench_site *site);

/* --peak in flops per second. Without it: FP64 on tensor cores of Hopper, as fast as FP32; 0 for other
 * devices. */
double bench_peak(int device);

/* Where operands on the site lie. */
int bench_place(const bench_site *site);

/* Memory, filled with uniform random numbers (integers: their bits) or not; NULL where it fails, with a row. */
void *bench_vector(int place, davit_type type, int64_t n);
void *bench_memory(int place, size_t bytes);

/* Calls what is measured once. */
typedef davit_status (*bench_work)(void *argument);

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

#endif
