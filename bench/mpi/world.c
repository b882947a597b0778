/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "bench/mpi/world.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/peers/scalapack.h"

/* ---- ranks, threads, devices ---- */

static void open_grid(world *w) {
  w->rows = 1;
  for (int p = 1; p * p <= w->ranks; p++)
    w->rows = w->ranks % p == 0 ? p : w->rows;
  w->cols = w->ranks / w->rows;
  bench_check(davit_mpi_grid_create(MPI_COMM_WORLD, w->rows, w->cols, &w->grid), "grid");
  bench_check(davit_mpi_grid_position(w->grid, &w->row, &w->col), "grid");
  MPI_Comm_split(MPI_COMM_WORLD, w->col, w->row, &w->line[0]);
  MPI_Comm_split(MPI_COMM_WORLD, w->row, w->col, &w->line[1]);
}

/* Before the first call of davit and of BLAS, which read these variables then. */
static void open_threads(world *w) {
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, w->me, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &w->node_ranks);
  MPI_Comm_free(&node);
  cpu_set_t set;
  const int online = (int)sysconf(_SC_NPROCESSORS_ONLN);
  const int allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : online;
  const bool bound = allowed < online && w->node_ranks > 1;
  const char *wanted = getenv("DAVIT_THREADS");
  w->processors = bound ? online : allowed;
  w->threads = wanted ? atoi(wanted) : bound ? allowed : allowed / w->node_ranks;
  w->threads = w->threads > 1 ? w->threads : 1;
  static const char *const names[] = {"BLIS_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                                      "OMP_NUM_THREADS"};
  char text[16];
  snprintf(text, sizeof text, "%d", w->threads);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    setenv(names[i], text, 1);
  bench_check(davit_set_threads(w->threads), "threads");
}

/* As libdavit_mpi divides them; where there is no GPU, the CPU. */
static void open_devices(world *w) {
  int all[256], found = 0, here;
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, w->me, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &here);
  MPI_Comm_free(&node);
  bench_check(davit_device_defaults(256, all, &found), "devices");
  w->gpu = found > 0 && bench_is_gpu(all[0]);
  w->devices[0] = DAVIT_HOST;
  w->device_count = 1;
  if (!w->gpu)
    return;
  const int begin = found * here / w->node_ranks, end = found * (here + 1) / w->node_ranks;
  w->devices[0] = all[here % found];
  if (found < w->node_ranks)
    return;
  w->device_count = end - begin < 16 ? end - begin : 16;
  memcpy(w->devices, all + begin, (size_t)w->device_count * sizeof *all);
}

void world_open(world *w) {
  int provided, loaded;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
  *w = (world){.repeats = bench_count("repeats", 5), .patience = 5};
  MPI_Comm_rank(MPI_COMM_WORLD, &w->me);
  MPI_Comm_size(MPI_COMM_WORLD, &w->ranks);
  open_threads(w);
  open_devices(w);
  open_grid(w);
  loaded = bench_whole("peers", 1) != 0 && peer_scalapack_load();
  MPI_Allreduce(MPI_IN_PLACE, &loaded, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  w->peer = loaded;
  if (w->peer)
    peer_scalapack_open(w->rows, w->cols);
}

void world_close(world *w) {
  if (w->peer)
    peer_scalapack_close();
  bench_check(davit_mpi_grid_destroy(w->grid), "grid");
  MPI_Comm_free(&w->line[0]);
  MPI_Comm_free(&w->line[1]);
}

int world_place(const world *w) {
  return w->gpu ? w->devices[0] : DAVIT_PAGEABLE;
}

void *world_memory(int place, size_t bytes) {
  void *pointer = NULL;
  if (davit_malloc(bytes > 0 ? bytes : 1, place, &pointer) != DAVIT_SUCCESS) {
    fprintf(stderr, "memory: %s\n", davit_last_error());
    MPI_Abort(MPI_COMM_WORLD, 4);
  }
  return pointer;
}

void *world_random(int place, davit_type type, int64_t n, uint64_t seed) {
  void *pointer = world_memory(place, (size_t)n * davit_type_bytes(type));
  if (n > 0)
    bench_check(davit_random(type, n, seed, pointer), "random numbers");
  return pointer;
}

/* ---- clocks ---- */

void world_rest(void) {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int here = 0; !here;) {
    MPI_Test(&request, &here, MPI_STATUS_IGNORE);
    if (!here)
      nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
  }
}

static int calls_for(double once, double seconds, int most) {
  const double calls = once > 0 ? seconds / once : most;
  return calls < 1 ? 1 : calls > most ? most : (int)calls;
}

/* A batch of calls. Returns seconds a call of the slowest rank, below 0 if it failed on any. */
static double round_of(world_work work, world_preparation prepare, void *argument, int batch, bool together,
                       bench_time *time) {
  davit_status status = DAVIT_SUCCESS;
  double seconds = 0;
  for (int i = 0; i < batch && status == DAVIT_SUCCESS; i++) {
    if (prepare)
      prepare(argument);
    if (together && (prepare || i == 0))
      MPI_Barrier(MPI_COMM_WORLD);
    const double start = bench_now();
    status = work(argument);
    seconds += bench_now() - start;
  }
  seconds = status == DAVIT_SUCCESS ? seconds / batch : -1;
  if (status != DAVIT_SUCCESS)
    snprintf(time->error, sizeof time->error, "%s", davit_last_error());
  if (!together)
    return seconds;
  double slowest, fastest;
  MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(&seconds, &fastest, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  if (fastest < 0 && !time->error[0])
    snprintf(time->error, sizeof time->error, "it failed on another rank");
  return fastest < 0 ? -1 : slowest;
}

typedef struct stages {
  int batch, repeats;
  double seconds[BENCH_MOST];
} stages;

/* Two calls that are not counted tell how often a work is worth measuring; if one takes longer than that,
 * it is all. */
static void plan(const world *w, world_work work, world_preparation prepare, void *argument, bool together,
                 stages *t, bench_time *time) {
  *t = (stages){.batch = 1};
  double once = round_of(work, prepare, argument, 1, together, time);
  if (once >= 0 && once < w->patience)
    once = round_of(work, prepare, argument, 1, together, time);
  if (once < 0)
    return;
  t->batch = calls_for(once, 2e-3, 20);
  t->repeats = calls_for(once * t->batch, w->patience, w->repeats);
  t->seconds[0] = once;
}

static void measure(const world *w, int count, const world_work *works, world_preparation prepare,
                    void *argument, bool together, bench_time *times) {
  static stages all[WORLD_WORKS];
  for (int i = 0; i < count; i++) {
    times[i] = (bench_time){.median = 0};
    plan(w, works[i], prepare, argument, together, &all[i], &times[i]);
  }
  for (int r = 0; r < w->repeats; r++)
    for (int i = 0; i < count; i++)
      if (r < all[i].repeats && all[i].seconds[0] < w->patience)
        all[i].seconds[r] = round_of(works[i], prepare, argument, all[i].batch, together, &times[i]);
  for (int i = 0; i < count; i++)
    if (all[i].repeats > 0 && !times[i].error[0]) {
      times[i].median = bench_median(all[i].seconds, all[i].repeats);
      times[i].best = all[i].seconds[0]; /* sorted by the median */
    }
}

void world_time(const world *w, int count, const world_work *works, world_preparation prepare, void *argument,
                bench_time *times) {
  world_rest();
  measure(w, count, works, prepare, argument, true, times);
}

void world_time_alone(const world *w, world_work work, world_preparation prepare, void *argument,
                      bench_time *time) {
  world_rest();
  if (w->me == 0) {
    bench_check(davit_set_threads(w->processors), "threads");
    measure(w, 1, &work, prepare, argument, false, time);
    bench_check(davit_set_threads(w->threads), "threads");
  }
  world_rest();
}

/* ---- rows ---- */

void world_report(const world *w, const bench_case *what, int ranks, double floor, const bench_time *time,
                  const char *peer, const bench_time *peer_time) {
  char grid[32];
  if (w->me > 0)
    return;
  bench_site site = {.device = w->devices[0]};
  bench_case row = *what;
  if (floor > 0 && what->flops > 0)
    row.peak = what->flops / floor;
  else if (floor > 0)
    site.copy = what->bytes / floor;
  bench_report(&site, &row, time, peer, peer_time);
  snprintf(grid, sizeof grid, "%dx%d", ranks > 1 ? w->rows : 1, ranks > 1 ? w->cols : 1);
  bench_number("ranks", ranks);
  bench_text("grid", grid);
  bench_number("threads", ranks > 1 ? w->threads : w->processors);
}
