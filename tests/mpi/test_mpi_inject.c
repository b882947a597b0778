/* SPDX-License-Identifier: Apache-2.0 */
/* What may fail in a call fails on one rank at a time, the first and the last: every rank gets the same
 * status and a sentence that names the rank, none waits for ever, and the next call works. Linked with the
 * static library, whose failures can be injected, and with the sources of libdavit_mpi. */
#include <davit/davit.h>
#include <davit_mpi.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/inject.h"
#include "tests/mpi/mpi_test.h"

enum { N = 115, LENGTH = 3 * 16384 + 77 };

static int me, ranks;
static int rows, cols, block, inner; /* of the grid; of its matrices; of products */
static char side;                    /* of the triangle */
static davit_mpi_grid *grid;
static double *a, *b, *c, *x, *y;
static int desc[9], other[9]; /* square blocks; blocks that no panel fits */
static size_t elements;

static void fill(double *matrix, uint32_t seed) {
  for (size_t i = 0; i < elements; i++)
    matrix[i] = (double)((seed + 77u * (uint32_t)i + 131u * (uint32_t)me) % 64) / 64;
}

/* A triangle that is well conditioned whoever has which of its elements: the identity and small values. */
static void fill_triangle(void) {
  int row, col;
  CHECK(davit_mpi_grid_position(grid, &row, &col));
  fill(a, 3);
  for (int64_t j = 0; j < davit_mpi_local_size(N, block, col, 0, cols); j++)
    for (int64_t i = 0; i < davit_mpi_local_size(N, block, row, 0, rows); i++) {
      const int64_t gi = (i / block * rows + row) * block + i % block,
                    gj = (j / block * cols + col) * block + j % block;
      double *e = &a[i + j * desc[8]];
      *e = gi == gj ? 1 : *e / (double)N;
    }
}

/* ---- calls; each prepares what it changes ---- */

static davit_status call_reduce(const davit_mpi_options *options) {
  (void)options;
  return davit_mpi_reduce(MPI_COMM_WORLD, DAVIT_SUM, DAVIT_DOUBLE, LENGTH, x, y);
}

static davit_status call_scan(const davit_mpi_options *options) {
  (void)options;
  return davit_mpi_scan(MPI_COMM_WORLD, DAVIT_MAX, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, LENGTH, x, y);
}

static davit_status call_grid(const davit_mpi_options *options) {
  davit_mpi_grid *made = NULL;
  (void)options;
  const davit_status status = davit_mpi_grid_create(MPI_COMM_WORLD, 1, ranks, &made);
  davit_mpi_grid_destroy(made);
  return status;
}

static davit_status call_gemm(const davit_mpi_options *options) {
  fill(c, 5);
  return davit_mpi_dgemm(grid, 'N', 'T', N, N, inner, 1, a, 1, 1, desc, b, 1, 1, other, 2, c, 1, 1, desc,
                         options);
}

/* C is read, so that a rank may not compute before all can. */
static davit_status call_exact(const davit_mpi_options *options) {
  davit_mpi_options exact = *options;
  exact.arithmetic = DAVIT_ARITHMETIC_EXACT;
  fill(c, 5);
  return davit_mpi_dgemm(grid, 'N', 'T', N, N, inner, 1, a, 1, 1, desc, b, 1, 1, other, 2, c, 1, 1, desc,
                         &exact);
}

static davit_status call_syrk(const davit_mpi_options *options) {
  fill(c, 6);
  return davit_mpi_dsyrk(grid, 'L', 'N', N, inner, 1, a, 1, 1, desc, 1, c, 1, 1, desc, options);
}

static davit_status call_trsm(const davit_mpi_options *options) {
  fill(c, 7);
  return davit_mpi_dtrsm(grid, side, 'U', 'N', 'N', N, N, 2, a, 1, 1, desc, c, 1, 1, desc, options);
}

static davit_status call_potrf(const davit_mpi_options *options) {
  memcpy(c, a, elements * sizeof *c); /* positive definite: the identity and small values */
  return davit_mpi_dpotrf(grid, side == 'L' ? 'L' : 'U', N, c, 1, 1, desc, options);
}

static davit_status call_getrf(const davit_mpi_options *options) {
  static int ipiv[N];
  for (size_t i = 0; i < elements; i++) { /* by squares, because fill() repeats itself: of full rank */
    const uint32_t k = (uint32_t)i + 20011u * (uint32_t)me;
    c[i] = (double)(k * k * 2654435761u) / 4294967296.0;
  }
  return davit_mpi_dgetrf(grid, N, N, c, 1, 1, desc, ipiv, options);
}

typedef struct row {
  const char *name;
  davit_status (*call)(const davit_mpi_options *options);
  const double *result;
  size_t length;
} row;

/* ---- failures ---- */

static bool same_everywhere(int value) {
  const int mine[2] = {value, -value};
  int least[2];
  MPI_Allreduce(mine, least, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return least[0] == -least[1];
}

/* The same bits; but a product of one process takes smaller tiles where a device refuses memory, and adds in
 * another order then. Its elements are of the order of N. */
static bool right_result(const row *r, dvt_injection kind, const double *right) {
  if (ranks > 1 || kind != DVT_INJECT_DEVICE_MEMORY)
    return memcmp(r->result, right, r->length * sizeof *right) == 0;
  double difference = 0;
  for (size_t i = 0; i < r->length; i++)
    difference = fmax(difference, fabs(r->result[i] - right[i]));
  return difference <= 1e-12 * (double)N;
}

/* The n-th passage of a kind fails on rank `victim`. False if there are fewer. */
static bool fail(const row *r, dvt_injection kind, int victim, int n, const davit_mpi_options *options,
                 const double *right) {
  char name[32];
  int armed = 0;
  snprintf(name, sizeof name, "rank %d: ", victim);
  if (me == victim) {
    davit_finalize(); /* pools are empty then */
    dvt_inject(kind, n);
  }
  const davit_status status = r->call(options);
  if (me == victim) {
    for (int i = 0; i < n && !armed; i++)
      armed = dvt_injected(kind);
    dvt_inject(kind, 0);
  }
  EXPECT(same_everywhere((int)status), "%s, kind %d, passage %d of rank %d: %s here", r->name, (int)kind, n,
         victim, davit_status_string(status));
  if (status != DAVIT_SUCCESS) /* a grid of one process calls the plain forms */
    EXPECT(ranks == 1 || strstr(davit_last_error(), name),
           "%s, kind %d, passage %d: \"%s\" does not say \"%s\"", r->name, (int)kind, n, davit_last_error(),
           name);
  else
    EXPECT(right_result(r, kind, right), "%s, kind %d, passage %d of rank %d: success with another result",
           r->name, (int)kind, n, victim);
  MPI_Bcast(&armed, 1, MPI_INT, victim, MPI_COMM_WORLD);
  return !armed;
}

static int sum_of(const int *failures) {
  int sum = 0;
  for (int kind = 0; kind < DVT_INJECTIONS; kind++)
    sum += failures[kind];
  return sum;
}

/* One passage of each `stride`, another one with 1, 2 and 4 ranks; in turn on the last rank and the first. */
static void fail_all(const row *r, int stride, const davit_mpi_options *options, int *failures) {
  const int first = 1 + ranks / 2 % 3;
  double *right = malloc(r->length * sizeof *right + 1);
  CHECK(r->call(options));
  memcpy(right, r->result, r->length * sizeof *right);
  for (int kind = 0; kind < DVT_INJECTIONS; kind++)
    for (int n = kind == DVT_INJECT_THREAD ? 1 : first;
         kind != DVT_INJECT_UNPACK &&
         fail(r, (dvt_injection)kind, n / stride % 2 * (ranks - 1), n, options, right);
         n += stride)
      failures[kind]++;
  if (me == 0)
    printf("%s: %d failures so far\n", r->name, sum_of(failures));
  CHECK(r->call(options));
  EXPECT(memcmp(r->result, right, r->length * sizeof *right) == 0, "%s: another result after the failures",
         r->name);
  free(right);
}

static void open_all(void) {
  elements = (size_t)N * N;
  a = malloc(elements * sizeof *a);
  b = malloc(elements * sizeof *b);
  c = malloc(elements * sizeof *c);
  x = malloc(LENGTH * sizeof *x);
  y = malloc(LENGTH * sizeof *y);
  for (int i = 0; i < LENGTH; i++)
    x[i] = (double)((i * 37 + me) % 101);
}

/* What calls are tried on. */
typedef struct setting {
  int rows, block, inner; /* as above; all ranks are in the grid */
  char side;
  int devices[2], device_count, panel, stride;
} setting;

static void try_setting(const setting *s, const row *calls, int count, int *failures) {
  const char *scale = getenv("DAVIT_TEST_SCALE");
  const int stride = scale && atof(scale) < 1 ? 4 * s->stride : s->stride;
  const davit_mpi_options options = {
      .devices = s->devices, .device_count = s->device_count, .panel = s->panel};
  rows = s->rows;
  cols = ranks / rows;
  block = s->block;
  inner = s->inner;
  side = s->side;
  CHECK(davit_mpi_grid_create(MPI_COMM_WORLD, rows, cols, &grid));
  CHECK(davit_mpi_descriptor(grid, N, N, block, block, 0, 0, N, desc));
  CHECK(davit_mpi_descriptor(grid, N, N, 7, 11, 0, 0, N, other));
  fill_triangle();
  fill(b, 4);
  for (int i = 0; i < count; i++)
    fail_all(&calls[i], stride, &options, failures);
  CHECK(davit_mpi_grid_destroy(grid));
}

int main(int argc, char **argv) {
  mpi_test_begin(&argc, &argv, &me, &ranks);
  setvbuf(stdout, NULL, _IOLBF, 0);
  open_all();
  const row calls[] = {{"reduce", call_reduce, y, 1},
                       {"scan", call_scan, y, LENGTH},
                       {"grid", call_grid, y, 0},
                       {"gemm", call_gemm, c, elements},
                       {"exact gemm", call_exact, c, elements},
                       {"syrk", call_syrk, c, elements},
                       {"trsm", call_trsm, c, elements},
                       {"potrf", call_potrf, c, elements},
                       {"getrf", call_getrf, c, elements}};
  enum { CALLS = sizeof calls / sizeof *calls, MATRICES = 3 /* the first of these calls that has devices */ };
  const int square = ranks % 2 == 0 ? 2 : 1;
  const setting settings[] = {
      {square, 20, N, 'R', {DAVIT_HOST}, 1, 30, 3}, /* the CPU */
      {square, 20, N, 'R', {0, 1}, 2, 30, 3},       /* two devices with memory of their own */
      /* One process row with many panels at a time: right operands come in slabs, and each block's solution stays
       * on the device. */
      {1, 32, 18, 'L', {0, 1}, 2, 1, 29},
      /* One rank whose device has no memory, while the others have changed their parts in place: two process rows, so
       * that solutions are handed on. */
      {square, 32, N, 'L', {me == 0 ? 0 : DAVIT_HOST}, 1, 30, 3},
  };
  int failures[DVT_INJECTIONS] = {0}, device_count;
  CHECK(davit_device_count(&device_count));
  try_setting(&settings[0], calls, CALLS, failures);
  for (int i = 1; i < 4 && device_count > 1; i++)
    try_setting(&settings[i], &calls[MATRICES], CALLS - MATRICES, failures);
  for (int kind = 0; kind < DVT_INJECTIONS; kind++)
    EXPECT(failures[kind] > 0 || kind == DVT_INJECT_UNPACK || ranks == 1, "nothing of kind %d has failed",
           kind);
  free(a);
  free(b);
  free(c);
  free(x);
  free(y);
  return mpi_test_end();
}
