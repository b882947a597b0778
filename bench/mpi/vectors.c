/* SPDX-License-Identifier: Apache-2.0 */
/* Sum and inclusive sum of doubles that lie on each rank's first device. The floor is what the ranks take for
 * their own part alone, all at the same time: the form "local". The form "plain" is one process, with a part
 * on each device. */
#include "bench/mpi/measure.h"

enum { PARTS = 16 };

typedef struct vectors {
  const world *w;
  int64_t n; /* of this rank */
  double *x, *y;
  int parts; /* of the plain form */
  davit_reduce_part reduce[PARTS];
  davit_scan_part scan[PARTS];
} vectors;

static davit_status reduce_mpi(void *argument) {
  const vectors *v = argument;
  double sum;
  return davit_mpi_reduce(MPI_COMM_WORLD, DAVIT_SUM, DAVIT_DOUBLE, v->n, v->x, &sum);
}

static davit_status reduce_local(void *argument) {
  const vectors *v = argument;
  double sum;
  return davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, v->n, v->x, &sum, NULL);
}

static davit_status reduce_plain(void *argument) {
  const vectors *v = argument;
  double sum;
  return davit_reduce_parts(DAVIT_SUM, DAVIT_DOUBLE, v->parts, v->reduce, &sum);
}

static davit_status scan_mpi(void *argument) {
  const vectors *v = argument;
  return davit_mpi_scan(MPI_COMM_WORLD, DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, v->n, v->x, v->y);
}

static davit_status scan_local(void *argument) {
  const vectors *v = argument;
  return davit_scan(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, v->n, v->x, v->y, NULL);
}

static davit_status scan_plain(void *argument) {
  const vectors *v = argument;
  return davit_scan_parts(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, v->parts, v->scan);
}

static void report(const world *w, const char *operation, const char *variant, int64_t n, int64_t words,
                   const bench_time *mpi, const bench_time *local, const bench_time *plain) {
  bench_case what = {.operation = operation,
                     .type = "f64",
                     .variant = variant,
                     .form = "mpi",
                     .rows = n,
                     .bytes = (double)(words * n) * sizeof(double)};
  world_report(w, &what, w->ranks, local->median, mpi, NULL, NULL);
  what.form = "local";
  world_report(w, &what, w->ranks, 0, local, NULL, NULL);
  what.form = "plain";
  world_report(w, &what, 1, 0, plain, NULL, NULL);
}

/* Rank 0 has it all, divided over the devices. */
static void open_plain(vectors *v, int64_t n) {
  int devices[PARTS] = {DAVIT_HOST};
  v->parts = 1;
  if (v->w->gpu) {
    bench_check(davit_device_defaults(PARTS, devices, &v->parts), "devices");
    v->parts = v->parts < PARTS ? v->parts : PARTS;
  }
  for (int i = 0; i < v->parts; i++) {
    const int64_t length = n * (i + 1) / v->parts - n * i / v->parts;
    const int place = devices[i] == DAVIT_HOST ? DAVIT_PAGEABLE : devices[i];
    double *x = world_random(place, DAVIT_DOUBLE, length, 7);
    v->reduce[i] = (davit_reduce_part){length, x};
    v->scan[i] = (davit_scan_part){length, x, NULL, world_random(place, DAVIT_DOUBLE, length, 8)};
  }
}

static void close_plain(vectors *v) {
  for (int i = 0; i < v->parts; i++) {
    davit_free((void *)(uintptr_t)v->scan[i].x);
    davit_free(v->scan[i].y);
  }
}

void measure_vectors(const world *w, const char *variant, int64_t n) {
  static const world_work works[] = {reduce_mpi, reduce_local, scan_mpi, scan_local};
  bench_time times[4], reduced = {.median = 0}, scanned = {.median = 0};
  vectors v = {.w = w, .n = n * (w->me + 1) / w->ranks - n * w->me / w->ranks};
  v.x = world_random(world_place(w), DAVIT_DOUBLE, v.n, 7 + (uint64_t)w->me);
  v.y = world_random(world_place(w), DAVIT_DOUBLE, v.n, 8);
  world_time(w, 4, works, NULL, &v, times);
  davit_free(v.x);
  davit_free(v.y);
  davit_memory_trim(world_place(w)); /* the plain form takes as much again */
  if (w->me == 0)
    open_plain(&v, n);
  world_time_alone(w, reduce_plain, NULL, &v, &reduced);
  world_time_alone(w, scan_plain, NULL, &v, &scanned);
  if (w->me == 0)
    close_plain(&v);
  davit_memory_trim(world_place(w));
  report(w, "reduce", variant, n, 1, &times[0], &times[1], &reduced);
  report(w, "scan", variant, n, 2, &times[2], &times[3], &scanned);
}
