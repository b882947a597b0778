/* SPDX-License-Identifier: Apache-2.0 */
/* libdavit_mpi on the ranks that mpirun has started: strong scaling (the same problem on all ranks) and weak
 * scaling (the same memory a rank), beside ScaLAPACK and beside one process that drives all devices; and what
 * the model of docs/scaling.md needs of the network and of a rank. Without mpirun it is one rank. world.h
 * says how it measures.
 *
 * --n, --elements: order of matrices and length of vectors in all, strong; --n1, --elements1: those of one rank, weak.
 * 0 leaves out what it names. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/mpi/measure.h"
#include "bench/peers/scalapack.h"

static const char usage[] =
    "bench_mpi [--n 16384] [--n1 8192] [--elements 1073741824] [--elements1 268435456] [--block 256]\n"
    "          [--panel 512] [--repeats 5] [--peers 0]\n"
    "mpirun -n RANKS bench_mpi ... measures several ranks.\n";

/* What the figures depend on. */
static void report_world(const world *w) {
  double load[1] = {0};
  if (w->me > 0)
    return;
  bench_row();
  bench_text("operation", "world");
  bench_number("ranks", w->ranks);
  bench_number("ranks_per_machine", w->node_ranks);
  bench_number("processors", w->processors);
  bench_number("threads", w->threads);
  bench_number("devices_per_rank", w->device_count);
  bench_text("device", w->gpu ? "gpu" : "cpu");
  if (getloadavg(load, 1) == 1)
    bench_number("load_before", load[0]);
  if (w->peer) {
    bench_text("peer", peer_scalapack_file());
    bench_text("peer_blas", peer_scalapack_blas());
  }
}

/* Seconds that the processors of this machine have worked for anybody, or were taken from it. 0: unknown. */
static double busy_seconds(void) {
  double user = 0, nice = 0, system = 0, idle, wait, interrupts = 0, soft = 0, stolen = 0;
  FILE *file = fopen("/proc/stat", "r");
  if (!file)
    return 0;
  const int found = fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle, &wait,
                           &interrupts, &soft, &stolen);
  fclose(file);
  const double ticks = user + nice + system + interrupts + soft + stolen;
  return found == 8 ? ticks / (double)sysconf(_SC_CLK_TCK) : 0;
}

typedef struct use {
  double wall, busy, own;
} use;

static use use_now(void) {
  double own = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
  MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return (use){bench_now(), busy_seconds(), own};
}

/* How much of the processors others had while this ran; where all ranks are on one machine. */
static void report_others(const world *w, const use *begin, const use *end) {
  if (w->me > 0 || w->node_ranks < w->ranks || end->busy <= 0)
    return;
  const double seconds = end->wall - begin->wall,
               others = (end->busy - begin->busy) - (end->own - begin->own);
  bench_row();
  bench_text("operation", "load");
  bench_number("seconds", seconds);
  bench_number("others", others > 0 ? others / seconds / w->processors : 0);
}

/* As much memory a rank as order n1 takes on one. */
static int64_t weak_order(int64_t n1, int ranks) {
  const int64_t step = n1 < 64 ? 1 : 64;
  return llround((double)n1 * sqrt((double)ranks) / (double)step) * step;
}

static void measure_all(const world *w) {
  const int64_t n = bench_whole("n", w->gpu ? 16384 : 2048), n1 = bench_whole("n1", w->gpu ? 8192 : 1024),
                elements = bench_whole("elements", INT64_C(1) << (w->gpu ? 30 : 24)),
                elements1 = bench_whole("elements1", INT64_C(1) << (w->gpu ? 28 : 23));
  double bandwidth = 0;
  report_world(w);
  const use begin = use_now();
  measure_messages(w, n > 0 ? n : 512, &bandwidth);
  if (elements > 0)
    measure_vectors(w, "strong", elements);
  if (elements1 > 0)
    measure_vectors(w, "weak", elements1 * w->ranks);
  if (n > 0)
    measure_matrices(w, "strong", n);
  if (n1 > 0)
    measure_matrices(w, "weak", weak_order(n1, w->ranks));
  const use end = use_now();
  report_others(w, &begin, &end);
}

int main(int argc, char **argv) {
  world w;
  bench_options(usage, argc, argv);
  bench_let_threads_sleep(argv);
  world_open(&w);
  if (w.me == 0)
    bench_begin("mpi");
  measure_all(&w);
  world_close(&w);
  if (w.me == 0)
    bench_finish();
  else
    bench_check(davit_finalize(), "finalize");
  MPI_Finalize();
  return 0;
}
