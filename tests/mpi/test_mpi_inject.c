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

enum { N = 90, BLOCK = 20, LENGTH = 3 * 16384 + 77 };

static int me, ranks, rows, cols; /* of the grid */
static davit_mpi_grid *grid;
static double *a, *b, *c, *x, *y;
static int desc[9], other[9]; /* blocks of BLOCK; blocks that no panel fits */
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
  for (int64_t j = 0; j < davit_mpi_local_size(N, BLOCK, col, 0, cols); j++)
    for (int64_t i = 0; i < davit_mpi_local_size(N, BLOCK, row, 0, rows); i++) {
      const int64_t gi = (i / BLOCK * rows + row) * BLOCK + i % BLOCK,
                    gj = (j / BLOCK * cols + col) * BLOCK + j % BLOCK;
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
  return davit_mpi_dgemm(grid, 'N', 'T', N, N, N, 1, a, 1, 1, desc, b, 1, 1, other, 2, c, 1, 1, desc,
                         options);
}

static davit_status call_syrk(const davit_mpi_options *options) {
  fill(c, 6);
  return davit_mpi_dsyrk(grid, 'L', 'N', N, N, 1, a, 1, 1, desc, 1, c, 1, 1, desc, options);
}

static davit_status call_trsm(const davit_mpi_options *options) {
  fill(c, 7);
  return davit_mpi_dtrsm(grid, 'R', 'U', 'N', 'N', N, N, 2, a, 1, 1, desc, c, 1, 1, desc, options);
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
    EXPECT(memcmp(r->result, right, r->length * sizeof *right) == 0,
           "%s, kind %d, passage %d of rank %d: success with another result", r->name, (int)kind, n, victim);
  MPI_Bcast(&armed, 1, MPI_INT, victim, MPI_COMM_WORLD);
  return !armed;
}

static int sum_of(const int *failures) {
  int sum = 0;
  for (int kind = 0; kind < DVT_INJECTIONS; kind++)
    sum += failures[kind];
  return sum;
}

/* A third of the passages, another one with 1, 2 and 4 ranks; in turn on the last rank and the first. */
static void fail_all(const row *r, const davit_mpi_options *options, int *failures) {
  const char *scale = getenv("DAVIT_TEST_SCALE");
  const int stride = scale && atof(scale) < 1 ? 12 : 3, first = 1 + ranks / 2 % 3;
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
  rows = ranks % 2 == 0 ? 2 : 1;
  cols = ranks / rows;
  CHECK(davit_mpi_grid_create(MPI_COMM_WORLD, rows, cols, &grid));
  CHECK(davit_mpi_descriptor(grid, N, N, BLOCK, BLOCK, 0, 0, N, desc));
  CHECK(davit_mpi_descriptor(grid, N, N, 7, 11, 0, 0, N, other));
  elements = (size_t)N * N;
  a = malloc(elements * sizeof *a);
  b = malloc(elements * sizeof *b);
  c = malloc(elements * sizeof *c);
  x = malloc(LENGTH * sizeof *x);
  y = malloc(LENGTH * sizeof *y);
  for (int i = 0; i < LENGTH; i++)
    x[i] = (double)((i * 37 + me) % 101);
  fill_triangle();
  fill(b, 4);
}

int main(int argc, char **argv) {
  const row calls[] = {{"reduce", call_reduce, NULL, 1}, {"scan", call_scan, NULL, LENGTH},
                       {"grid", call_grid, NULL, 0},     {"gemm", call_gemm, NULL, 0},
                       {"syrk", call_syrk, NULL, 0},     {"trsm", call_trsm, NULL, 0}};
  int failures[DVT_INJECTIONS] = {0}, device_count;
  mpi_test_begin(&argc, &argv, &me, &ranks);
  setvbuf(stdout, NULL, _IOLBF, 0);
  open_all();
  CHECK(davit_device_count(&device_count));
  for (int how = 0; how < 2 && (how == 0 || device_count > 1); how++) {
    const int devices[] = {how == 0 ? DAVIT_HOST : 0, 1}; /* the CPU; two devices with memory of their own */
    const davit_mpi_options options = {.devices = devices, .device_count = 1 + how, .panel = 30};
    for (size_t i = how == 0 ? 0 : 3; i < sizeof calls / sizeof *calls; i++) {
      row r = calls[i];
      r.result = i < 3 ? y : c;
      r.length = i < 3 ? r.length : elements;
      fail_all(&r, &options, failures);
    }
  }
  for (int kind = 0; kind < DVT_INJECTIONS; kind++)
    EXPECT(failures[kind] > 0 || kind == DVT_INJECT_UNPACK || ranks == 1, "nothing of kind %d has failed",
           kind);
  CHECK(davit_mpi_grid_destroy(grid));
  free(a);
  free(b);
  free(c);
  free(x);
  free(y);
  return mpi_test_end();
}
