/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 and factorisations on square matrices in pinned host memory, distributed in blocks, with the same parts,
 * descriptors and ranks for davit and for ScaLAPACK, in stage buffers. The results of both are compared before they are
 * timed.
 *
 * The form "local" is what a rank does in one step of the product, all ranks at the same time, with operands
 * on its devices: its m/p × n/q part of C, a panel of 512; "alone" is the same on rank 0 while the others
 * wait. The rate of the first is the floor of all routines. "copy up" and "copy down" are a panel of A to the
 * device and as much back, "pack" is a block of rows of B that is made contiguous for a broadcast. The form
 * "plain" is one process with the whole matrices and all devices. */
#include <math.h>
#include <string.h>

#include "bench/mpi/measure.h"
#include "bench/peers/scalapack.h"

enum { PANEL = 512, DEVICES = 16 };

typedef struct matrices {
  const world *w;
  const char *variant;
  char routine; /* 'g', 's', 't'; 'c': Cholesky, 'l': LU */
  davit_type type;
  int64_t n, block, rows, cols; /* of the matrix; of the rank's part */
  int descriptor[9];
  void *a, *b, *c, *expected; /* the parts of the rank; A is factored in C, which gets it anew each time */
  size_t bytes;
  int *ipiv;
  davit_mpi_options options;
} matrices;

#define BY_TYPE(m, D, S) ((m)->type == DAVIT_DOUBLE ? (D) : (S))

static davit_status run_mpi(void *argument) {
  matrices *m = argument;
  davit_mpi_grid *g = m->w->grid;
  const int *d = m->descriptor;
  const int64_t n = m->n;
  if (m->routine == 't')
    return davit_mpi_dtrsm(g, 'L', 'L', 'N', 'N', n, n, 1, m->a, 1, 1, d, m->c, 1, 1, d, &m->options);
  if (m->routine == 's')
    return davit_mpi_dsyrk(g, 'L', 'N', n, n, 1, m->a, 1, 1, d, 0, m->c, 1, 1, d, &m->options);
  if (m->routine == 'c')
    return davit_mpi_dpotrf(g, 'L', n, m->c, 1, 1, d, &m->options);
  if (m->routine == 'l')
    return davit_mpi_dgetrf(g, n, n, m->c, 1, 1, d, m->ipiv, &m->options);
  return BY_TYPE(
      m,
      davit_mpi_dgemm(g, 'N', 'N', n, n, n, 1, m->a, 1, 1, d, m->b, 1, 1, d, 0, m->c, 1, 1, d, &m->options),
      davit_mpi_sgemm(g, 'N', 'N', n, n, n, 1, m->a, 1, 1, d, m->b, 1, 1, d, 0, m->c, 1, 1, d, &m->options));
}

static davit_status run_peer(void *argument) {
  const matrices *m = argument;
  const peer_scalapack_call call = {m->routine, BY_TYPE(m, 'd', 's'), (int)m->n, m->descriptor, m->a,
                                    m->b,       m->expected,          m->ipiv};
  peer_scalapack_run(&call);
  return DAVIT_SUCCESS;
}

/* On the default devices, or on the CPU, which computes where the operands are. */
static davit_status run_plain(void *argument) {
  matrices *m = argument;
  const int64_t n = m->n;
  const davit_level3_options on_host = {.devices = m->w->devices, .device_count = 1};
  const davit_level3_options *options = m->w->gpu ? NULL : &on_host;
  const davit_solve_options host = {.devices = m->w->devices, .device_count = 1};
  if (m->routine == 't')
    return davit_dtrsm('L', 'L', 'N', 'N', n, n, 1, m->a, n, m->c, n, options);
  if (m->routine == 's')
    return davit_dsyrk('L', 'N', n, n, 1, m->a, n, 0, m->c, n, options);
  if (m->routine == 'c')
    return davit_dpotrf('L', n, m->c, n, m->w->gpu ? NULL : &host);
  if (m->routine == 'l')
    return davit_dgetrf(n, n, m->c, n, m->ipiv, m->w->gpu ? NULL : &host);
  return BY_TYPE(m, davit_dgemm('N', 'N', n, n, n, 1, m->a, n, m->b, n, 0, m->c, n, options),
                 davit_sgemm('N', 'N', n, n, n, 1, m->a, n, m->b, n, 0, m->c, n, options));
}

/* ---- operands ---- */

/* Global index of position l of a rank's part. */
static int64_t index_of(int64_t l, int64_t block, int at, int count) {
  return (l / block * count + at) * block + l % block;
}

/* For solves and Cholesky: the diagonal is 1 and the rest so small that solutions stay as large as B is, from call to
 * call. For LU the rows of that are exchanged, so that it exchanges all of them. */
static void make_diagonal(matrices *m, int row, int rows, int col, int cols) {
  const int64_t below = m->routine == 'l' ? m->n / 2 : 0;
  double *a = m->a;
  for (int64_t j = 0; j < m->cols; j++)
    for (int64_t i = 0; i < m->rows; i++) {
      double *x = &a[i + j * m->rows];
      const int64_t at = (index_of(j, m->block, col, cols) + below) % m->n;
      *x = index_of(i, m->block, row, rows) == at ? 1 : (*x - 0.5) / (double)m->n;
    }
}

static void make_operands(matrices *m, uint64_t seed) {
  const int64_t size = m->rows * m->cols;
  m->bytes = (size_t)size * davit_type_bytes(m->type);
  m->a = world_random(DAVIT_PINNED, m->type, size, 10 + seed);
  m->b = m->routine == 'g' ? world_random(DAVIT_PINNED, m->type, size, 1010 + seed) : NULL;
  m->c = world_random(DAVIT_PINNED, m->type, size, 2010 + seed);
  m->ipiv = world_memory(DAVIT_PAGEABLE, (size_t)(m->rows + m->block) * sizeof *m->ipiv);
}

static void free_operands(matrices *m) {
  davit_free(m->a);
  davit_free(m->b);
  davit_free(m->c);
  davit_free(m->ipiv);
}

static void restore(void *argument) {
  const matrices *m = argument;
  memcpy(m->c, m->a, m->bytes);
  if (m->expected)
    memcpy(m->expected, m->a, m->bytes);
}

static world_preparation preparation_of(const matrices *m) {
  return m->routine == 'c' || m->routine == 'l' ? restore : NULL;
}

static void open_parts(matrices *m) {
  const world *w = m->w;
  m->rows = davit_mpi_local_size(m->n, m->block, w->row, 0, w->rows);
  m->cols = davit_mpi_local_size(m->n, m->block, w->col, 0, w->cols);
  bench_check(davit_mpi_descriptor(w->grid, m->n, m->n, m->block, m->block, 0, 0, m->rows > 1 ? m->rows : 1,
                                   m->descriptor),
              "descriptor");
  make_operands(m, (uint64_t)w->me);
  m->expected = w->peer ? world_memory(DAVIT_PINNED, m->bytes) : NULL;
  if (w->peer)
    memcpy(m->expected, m->c, m->bytes);
  if (m->routine == 't' || preparation_of(m))
    make_diagonal(m, w->row, w->rows, w->col, w->cols);
}

static void close_parts(matrices *m) {
  free_operands(m);
  davit_free(m->expected);
  m->expected = NULL;
}

/* The largest difference of both results by the largest value, over all ranks. */
static double difference(const matrices *m) {
  double both[2] = {0, 0};
  for (int64_t i = 0; i < m->rows * m->cols; i++) {
    const double x = BY_TYPE(m, ((double *)m->c)[i], (double)((float *)m->c)[i]);
    const double y = BY_TYPE(m, ((double *)m->expected)[i], (double)((float *)m->expected)[i]);
    both[0] = fmax(both[0], isnan(x - y) ? INFINITY : fabs(x - y));
    both[1] = fmax(both[1], fabs(y));
  }
  MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return both[0] / both[1];
}

/* Both results of one call each. */
static void compare(matrices *m) {
  if (preparation_of(m))
    restore(m);
  bench_check(run_mpi(m), "call");
  run_peer(m);
  const double found = difference(m), bound = 1e3 * BY_TYPE(m, 2.3e-16, 1.2e-7) * sqrt((double)m->n);
  if (found <= bound)
    return;
  if (m->w->me == 0)
    fprintf(stderr, "%c of order %lld: ScaLAPACK's result differs by %g\n", m->routine, (long long)m->n,
            found);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- a rank's share of a step ---- */

typedef struct share {
  const world *w;
  davit_type type;
  int64_t m, n, k; /* n of the rank, divided over its devices */
  davit_queue *queue[DEVICES];
  void *a[DEVICES], *b[DEVICES], *c[DEVICES];
  void *host, *part; /* a panel, and as much as the rank has of B, in pinned memory */
  int64_t block;
  int calls;
} share;

static int64_t cols_of(const share *s, int device) {
  return s->n * (device + 1) / s->w->device_count - s->n * device / s->w->device_count;
}

static davit_status synchronize(const share *s) {
  davit_status status = DAVIT_SUCCESS;
  for (int i = 0; i < s->w->device_count && status == DAVIT_SUCCESS; i++)
    status = davit_queue_synchronize(s->queue[i]);
  return status;
}

static davit_status update(void *argument) {
  const share *s = argument;
  for (int i = 0; i < s->w->device_count; i++)
    for (int c = 0; c < s->calls; c++) {
      const int64_t n = cols_of(s, i);
      const davit_status status = BY_TYPE(s,
                                          davit_queue_dgemm(s->queue[i], 'N', 'N', s->m, n, s->k, 1, s->a[i],
                                                            s->m, s->b[i], s->k, 1, s->c[i], s->m, NULL),
                                          davit_queue_sgemm(s->queue[i], 'N', 'N', s->m, n, s->k, 1, s->a[i],
                                                            s->m, s->b[i], s->k, 1, s->c[i], s->m, NULL));
      if (status != DAVIT_SUCCESS)
        return status;
    }
  return synchronize(s);
}

/* A block of rows of B is solved for. */
static davit_status solve(void *argument) {
  const share *s = argument;
  for (int i = 0; i < s->w->device_count; i++) {
    const davit_status status = davit_queue_dtrsm(s->queue[i], 'L', 'L', 'N', 'N', s->k, cols_of(s, i), 1,
                                                  s->a[i], s->k, s->c[i], s->k, NULL);
    if (status != DAVIT_SUCCESS)
      return status;
  }
  return synchronize(s);
}

/* A panel of A to each device. */
static davit_status copy_up(void *argument) {
  const share *s = argument;
  for (int i = 0; i < s->w->device_count; i++) {
    const davit_status status =
        davit_queue_copy(s->queue[i], (size_t)(s->m * s->k) * davit_type_bytes(s->type), s->host, s->a[i]);
    if (status != DAVIT_SUCCESS)
      return status;
  }
  return synchronize(s);
}

/* A panel's size of C from each device. */
static davit_status copy_down(void *argument) {
  const share *s = argument;
  for (int i = 0; i < s->w->device_count; i++) {
    const davit_status status =
        davit_queue_copy(s->queue[i], (size_t)(s->m * s->k) * davit_type_bytes(s->type), s->a[i], s->host);
    if (status != DAVIT_SUCCESS)
      return status;
  }
  return synchronize(s);
}

static davit_status pack(void *argument) {
  const share *s = argument;
  return davit_copy_2d(s->block, s->n, davit_type_bytes(s->type), s->part, s->m, s->host, s->block);
}

static void open_share(share *s) {
  for (int i = 0; i < s->w->device_count; i++) {
    const int place = s->w->gpu ? s->w->devices[i] : DAVIT_PAGEABLE;
    bench_check(davit_queue_create(s->w->devices[i], &s->queue[i], NULL), "queue");
    s->a[i] = world_random(place, s->type, s->m * s->k, 1);
    s->b[i] = world_random(place, s->type, s->k * (cols_of(s, i) + 1), 2);
    s->c[i] = world_random(place, s->type, (s->m > s->k ? s->m : s->k) * (cols_of(s, i) + 1), 3);
  }
  const int64_t panel = s->k * (s->m > s->n ? s->m : s->n);
  s->host = world_random(DAVIT_PINNED, s->type, panel, 4);
  s->part = world_random(DAVIT_PINNED, s->type, s->m * s->n, 5);
}

static void close_share(share *s) {
  for (int i = 0; i < s->w->device_count; i++) {
    davit_queue_destroy(s->queue[i]);
    davit_free(s->a[i]);
    davit_free(s->b[i]);
    davit_free(s->c[i]);
  }
  davit_free(s->host);
  davit_free(s->part);
}

static void scale(bench_time *time, int calls) {
  time->median /= calls;
  time->best /= calls;
}

static void report_copies(const share *s, const char *variant, const bench_time times[3]) {
  bench_case what = {.operation = "copy up",
                     .variant = variant,
                     .form = "local",
                     .rows = s->m * s->k,
                     .bytes = (double)(s->m * s->k) * sizeof(double) * s->w->device_count};
  world_report(s->w, &what, s->w->ranks, 0, &times[0], NULL, NULL);
  what.operation = "copy down";
  world_report(s->w, &what, s->w->ranks, 0, &times[1], NULL, NULL);
  what.operation = "pack";
  what.rows = s->block * s->n;
  what.bytes = (double)what.rows * sizeof(double);
  world_report(s->w, &what, s->w->ranks, 0, &times[2], NULL, NULL);
}

/* What the model needs beside the product, of doubles. */
static void measure_rest(share *s, const char *variant) {
  static const world_work works[] = {copy_up, copy_down, pack, solve};
  const world *w = s->w;
  bench_time times[4];
  world_time(w, 3, works, NULL, s, times);
  report_copies(s, variant, times);
  s->k = s->block;
  world_time(w, 1, works + 3, NULL, s, times);
  const bench_case what = {.operation = "trsm",
                           .type = "f64",
                           .variant = variant,
                           .form = "local",
                           .rows = s->k,
                           .cols = s->n,
                           .flops = (double)s->k * (double)s->k * (double)s->n};
  world_report(w, &what, w->ranks, 0, times, NULL, NULL);
}

/* Flops per second of a rank while all work. */
static double measure_share(const matrices *m) {
  static const world_work works[] = {update};
  const world *w = m->w;
  bench_time together, alone = {.median = 0};
  share s = {.w = w, .type = m->type, .calls = 4, .k = m->n < PANEL ? m->n : PANEL};
  s.block = m->block < s.k ? m->block : s.k;
  s.m = davit_mpi_local_size(m->n, m->block, 0, 0, w->rows); /* the largest part is that of rank 0 */
  s.n = davit_mpi_local_size(m->n, m->block, 0, 0, w->cols);
  open_share(&s);
  world_time(w, 1, works, NULL, &s, &together);
  world_time_alone(w, update, NULL, &s, &alone);
  scale(&together, s.calls);
  scale(&alone, s.calls);
  bench_case what = {.operation = "gemm",
                     .type = m->type == DAVIT_DOUBLE ? "f64" : "f32",
                     .variant = m->variant,
                     .form = "local",
                     .rows = s.m,
                     .cols = s.n,
                     .flops = 2 * (double)s.m * (double)s.n * (double)s.k};
  world_report(w, &what, w->ranks, 0, &together, NULL, NULL);
  what.form = "alone";
  world_report(w, &what, 1, 0, &alone, NULL, NULL);
  if (m->type == DAVIT_DOUBLE)
    measure_rest(&s, m->variant);
  close_share(&s);
  return what.flops / together.median;
}

/* ---- the routines ---- */

static void measure_mpi(matrices *m, const bench_case *what, double rate) {
  static const world_work works[] = {run_mpi, run_peer};
  const world *w = m->w;
  bench_time times[2];
  open_parts(m);
  if (w->peer)
    compare(m);
  world_time(w, 1 + w->peer, works, preparation_of(m), m, times);
  close_parts(m);
  world_report(w, what, w->ranks, what->flops / rate / w->ranks, &times[0], w->peer ? "ScaLAPACK" : NULL,
               w->peer ? &times[1] : NULL);
  if (w->me == 0)
    bench_number("block", (double)m->block);
  if (w->me == 0 && w->peer) {
    bench_number("peer_best_us", 1e6 * times[1].best);
    bench_text("peer_blas", peer_scalapack_blas());
  }
}

static void measure_plain(matrices *m, const bench_case *what) {
  const world *w = m->w;
  bench_time time = {.median = 0};
  bench_case plain = *what;
  if (w->me == 0) {
    m->rows = m->cols = m->n;
    make_operands(m, 0);
    if (m->routine == 't' || preparation_of(m))
      make_diagonal(m, 0, 1, 0, 1);
  }
  world_time_alone(w, run_plain, preparation_of(m), m, &time);
  if (w->me == 0)
    free_operands(m);
  plain.form = "plain";
  world_report(w, &plain, 1, 0, &time, NULL, NULL);
}

void measure_matrices(const world *w, const char *variant, int64_t n) {
  static const struct {
    char routine;
    const char *operation;
    davit_type type;
    double cubes; /* flops by n³ */
  } all[] = {{'g', "gemm", DAVIT_DOUBLE, 2},       {'s', "syrk", DAVIT_DOUBLE, 1},
             {'t', "trsm", DAVIT_DOUBLE, 1},       {'c', "potrf", DAVIT_DOUBLE, 1. / 3},
             {'l', "getrf", DAVIT_DOUBLE, 2. / 3}, {'g', "gemm", DAVIT_FLOAT, 2}};
  double rate = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    matrices m = {.w = w, .variant = variant, .routine = all[i].routine, .type = all[i].type, .n = n};
    m.block = bench_whole("block", 256);
    m.options = (davit_mpi_options){
        .devices = w->devices, .device_count = w->device_count, .panel = bench_whole("panel", 0)};
    if (all[i].routine == 'g')
      rate = measure_share(&m);
    const bench_case what = {.operation = all[i].operation,
                             .type = all[i].type == DAVIT_DOUBLE ? "f64" : "f32",
                             .variant = variant,
                             .form = "mpi",
                             .rows = n,
                             .cols = n,
                             .flops = all[i].cubes * pow((double)n, 3)};
    measure_mpi(&m, &what, rate);
    measure_plain(&m, &what);
  }
}
