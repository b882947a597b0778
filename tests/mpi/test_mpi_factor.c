/* SPDX-License-Identifier: Apache-2.0 */
/* Factorisations over ranks: types, shapes, blocks, alignments, grids and devices drawn by a seed. All ranks know A, and
 * get the whole factors, whose product has to be A, by the bound of LAPACK's tests:
 *
 *   max |A - P L U| <= 3 eps n max |A|,
 *
 * with pivots that are those of one process, and what a call may not write compared byte by byte. */
#include <complex.h>
#include <davit/davit.h>
#include <davit_mpi.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/mpi/distribution.h"
#include "tests/mpi/mpi_test.h"

typedef double _Complex element; /* of any type */

static int me, ranks;
static uint32_t random_state = 1234; /* the same on all ranks */

static int below(int n) {
  random_state = random_state * 1664525u + 1013904223u;
  return (int)((random_state >> 8) % (uint32_t)n);
}

static double value(uint32_t seed, int64_t k) {
  uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)k * UINT64_C(0xbf58476d1ce4e5b9);
  z ^= z >> 29;
  z *= UINT64_C(0x94d049bb133111eb);
  return (double)(z >> 11) / 4503599627370496.0 - 1;
}

/* ---- elements ---- */

static const davit_type types[] = {DAVIT_DOUBLE, DAVIT_FLOAT, DAVIT_COMPLEX_DOUBLE, DAVIT_COMPLEX_FLOAT};

static bool is_complex(davit_type type) {
  return type == DAVIT_COMPLEX_DOUBLE || type == DAVIT_COMPLEX_FLOAT;
}

static bool is_double(davit_type type) {
  return type == DAVIT_DOUBLE || type == DAVIT_COMPLEX_DOUBLE;
}

static void put(davit_type type, void *data, size_t k, element x) {
  if (is_complex(type) && is_double(type))
    ((davit_complex_double *)data)[k] = x;
  else if (is_complex(type))
    ((davit_complex_float *)data)[k] = (davit_complex_float)x;
  else if (is_double(type))
    ((double *)data)[k] = creal(x);
  else
    ((float *)data)[k] = (float)creal(x);
}

static element get(davit_type type, const void *data, size_t k) {
  if (is_complex(type))
    return is_double(type) ? ((const davit_complex_double *)data)[k]
                           : (element)((const davit_complex_float *)data)[k];
  return is_double(type) ? ((const double *)data)[k] : (double)((const float *)data)[k];
}

/* ---- a matrix ---- */

/* The m × n submatrix at (i, j) of a larger one. */
typedef struct matrix {
  davit_type type;
  int m, n, i, j, desc[9];
  int p, q, row, col; /* the grid, and where in it this rank is */
  size_t elements;
  void *data, *before;
  element *all; /* A, column-major */
} matrix;

static size_t at(const matrix *a, int i, int j) {
  return (size_t)i + (size_t)j * (size_t)a->m;
}

/* Row and column in the submatrix of this rank's element k; false if it is outside. */
static bool inside(const matrix *a, size_t k, int *i, int *j) {
  const int *desc = a->desc, mb = desc[4], nb = desc[5];
  const int il = (int)(k % (size_t)desc[8]), jl = (int)(k / (size_t)desc[8]);
  *i = (il / mb * a->p + (a->row - desc[6] + a->p) % a->p) * mb + il % mb - (a->i - 1);
  *j = (jl / nb * a->q + (a->col - desc[7] + a->q) % a->q) * nb + jl % nb - (a->j - 1);
  return il < davit_mpi_local_size(desc[2], mb, a->row, desc[6], a->p) &&
         jl < davit_mpi_local_size(desc[3], nb, a->col, desc[7], a->q) && *i >= 0 && *i < a->m && *j >= 0 &&
         *j < a->n;
}

/* Hermitian and positive definite, or anything; rounded to the type. */
static void draw(matrix *a, bool definite) {
  const uint32_t seed = (uint32_t)below(1 << 20);
  char rounded[sizeof(element)];
  a->all = malloc(((size_t)a->m * (size_t)a->n + 1) * sizeof *a->all);
  for (int j = 0; j < a->n; j++)
    for (int i = 0; i < a->m; i++) {
      const int low = definite && i < j ? j : i, high = definite && i < j ? i : j;
      const int64_t k = 2 * ((int64_t)low * 1000 + high);
      element x = value(seed, k) + (is_complex(a->type) ? value(seed, k + 1) * I : 0);
      x = definite && i == j ? a->n + 2 : definite && i < j ? conj(x) : x;
      put(a->type, rounded, 0, x);
      a->all[at(a, i, j)] = get(a->type, rounded, 0);
    }
}

/* Puts A into the ranks' parts. */
static void distribute(matrix *a) {
  int i, j;
  for (size_t k = 0; k < a->elements; k++)
    put(a->type, a->data, k, inside(a, k, &i, &j) ? a->all[at(a, i, j)] : value(99, (int64_t)k));
  memcpy(a->before, a->data, a->elements * davit_type_bytes(a->type));
}

/* `fits`: blocks that need no other layout. */
static matrix make(davit_mpi_grid *grid, int p, int q, davit_type type, int m, int n, bool fits,
                   bool definite) {
  matrix a = {.type = type, .m = m, .n = n, .p = p, .q = q};
  const int mb = fits ? 32 + below(3) * below(40) : 1 + below(60), nb = fits ? mb : 1 + below(60);
  const int above = below(2) * below(2 * mb), left = fits ? above + mb * (below(3) - 1) : below(40);
  const int start = left < 0 ? above : left;
  const int first_row = below(p), first_col = below(q);
  const int rows = above + m + below(5), cols = start + n + below(5);
  CHECK(davit_mpi_grid_position(grid, &a.row, &a.col));
  const int local_rows = (int)davit_mpi_local_size(rows, mb, a.row, first_row, p),
            local_cols = (int)davit_mpi_local_size(cols, nb, a.col, first_col, q);
  const int ld = (local_rows > 1 ? local_rows : 1) + below(4);
  CHECK(davit_mpi_descriptor(grid, rows, cols, mb, nb, first_row, first_col, ld, a.desc));
  a.i = above + 1;
  a.j = start + 1;
  a.elements = (size_t)ld * (size_t)(local_cols > 1 ? local_cols : 1);
  a.data = malloc(a.elements * davit_type_bytes(type));
  a.before = malloc(a.elements * davit_type_bytes(type));
  draw(&a, definite);
  distribute(&a);
  return a;
}

static void destroy(matrix *a) {
  free(a->data);
  free(a->before);
  free(a->all);
}

/* What all ranks have, on all ranks. */
static element *collected(const matrix *a, MPI_Comm comm) {
  const size_t count = (size_t)a->m * (size_t)a->n;
  element *x = calloc(count + 1, sizeof *x);
  int i, j;
  for (size_t k = 0; k < a->elements; k++)
    if (inside(a, k, &i, &j))
      x[at(a, i, j)] = get(a->type, a->data, k);
  MPI_Allreduce(MPI_IN_PLACE, x, (int)(2 * count), MPI_DOUBLE, MPI_SUM, comm);
  return x;
}

/* uplo 'A': all of the submatrix may be written. */
static void expect_untouched(const matrix *a, char uplo, const char *what) {
  const size_t bytes = davit_type_bytes(a->type);
  size_t touched = 0;
  for (size_t k = 0; k < a->elements; k++) {
    int i, j;
    const bool in = inside(a, k, &i, &j);
    if (!in || (uplo == 'L' && i < j) || (uplo == 'U' && i > j))
      touched += memcmp((char *)a->data + k * bytes, (char *)a->before + k * bytes, bytes) != 0;
  }
  EXPECT(touched == 0, "%s: %zu elements outside are not what they were", what, touched);
}

static void expect_small(const matrix *a, double difference, const char *what) {
  double largest = 0;
  const int64_t count = (int64_t)a->m * a->n;
  const double eps = is_double(a->type) ? DBL_EPSILON : (double)FLT_EPSILON;
  for (int64_t k = 0; k < count; k++)
    largest = fmax(largest, cabs(a->all[k])); /* not NaN, what a triangle leaves out */
  const double bound = 3 * eps * (a->n > a->m ? a->n : a->m) * largest;
  EXPECT(difference <= bound, "%s: a residual of %g, %g allowed", what, difference,
         bound); /* NaN fails, too */
}

/* ---- calls ---- */

#define BY_TYPE(type, NAME, ...)                                                                             \
  ((type) == DAVIT_DOUBLE           ? davit_mpi_d##NAME(__VA_ARGS__)                                         \
   : (type) == DAVIT_FLOAT          ? davit_mpi_s##NAME(__VA_ARGS__)                                         \
   : (type) == DAVIT_COMPLEX_DOUBLE ? davit_mpi_z##NAME(__VA_ARGS__)                                         \
                                    : davit_mpi_c##NAME(__VA_ARGS__))

/* The parts lie on the device of the options, or where they are. */
typedef struct setting {
  davit_mpi_grid *grid;
  int p, q;
  MPI_Comm comm; /* of the grid's ranks */
  davit_mpi_options options;
  bool on_device;
} setting;

static void *placed(const setting *s, const matrix *a) {
  void *there = a->data;
  const size_t bytes = a->elements * davit_type_bytes(a->type);
  if (s->on_device) {
    CHECK(davit_malloc(bytes, s->options.devices[0], &there));
    CHECK(davit_copy(bytes, a->data, there));
  }
  return there;
}

static void fetch(const matrix *a, void *there) {
  if (there == a->data)
    return;
  CHECK(davit_copy(a->elements * davit_type_bytes(a->type), there, a->data));
  davit_free(there);
}

/* Of the broadcasts of elements since it was last 0. Counts are ints, so they may be sides of blocks, never areas. */
static int largest_count;

__attribute__((visibility("default"))) int MPI_Bcast(void *data, int count, MPI_Datatype type, int root,
                                                     MPI_Comm comm) {
  if (type != MPI_BYTE && count > largest_count)
    largest_count = count;
  return PMPI_Bcast(data, count, type, root, comm);
}

static void expect_short_counts(const matrix *a) {
  const int side = a->m > a->n ? a->m : a->n;
  EXPECT(largest_count <= side, "%d × %d: a broadcast counts %d elements", a->m, a->n, largest_count);
  largest_count = 0;
}

static davit_status run_potrf(const setting *s, const matrix *a, char uplo) {
  void *there = placed(s, a);
  const davit_status status =
      BY_TYPE(a->type, potrf, s->grid, uplo, a->n, there, a->i, a->j, a->desc, &s->options);
  expect_short_counts(a);
  fetch(a, there);
  return status;
}

/* ---- Cholesky ---- */

/* The largest element of A - L L' in its first `cols` columns, or with 'U' rows of A - U' U. */
static double potrf_residual(const matrix *a, const element *x, char uplo, int cols) {
  const size_t n = (size_t)a->n;
  double most = 0;
  for (size_t j = 0; j < (size_t)cols; j++)
    for (size_t i = j; i < n; i++) {
      element sum = uplo == 'L' ? a->all[i + j * n] : conj(a->all[j + i * n]);
      for (size_t k = 0; k <= j; k++)
        sum -= uplo == 'L' ? x[i + k * n] * conj(x[j + k * n]) : conj(x[k + i * n]) * x[k + j * n];
      most = cabs(sum) <= most ? most : cabs(sum);
    }
  return most;
}

/* `bad` is where the matrix stops to be positive definite, or -1. */
static void try_potrf(const setting *s, davit_type type, int n, bool fits, int bad) {
  const char uplo = "LU"[below(2)];
  matrix a = make(s->grid, s->p, s->q, type, n, n, fits, true);
  char what[200], order[40];
  snprintf(what, sizeof what, "potrf %c, type %d, n %d at (%d, %d), grid %d × %d, blocks %d × %d, bad %d",
           uplo, (int)type, n, a.i, a.j, s->p, s->q, a.desc[4], a.desc[5], bad);
  snprintf(order, sizeof order, "minor of order %d is", bad + 1);
  if (bad >= 0)
    a.all[(size_t)bad * ((size_t)n + 1)] = -1;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      if (uplo == 'L' ? i < j : i > j)
        a.all[at(&a, i, j)] = NAN;
  distribute(&a);
  const davit_status status = run_potrf(s, &a, uplo);
  EXPECT(status == (bad < 0 ? DAVIT_SUCCESS : DAVIT_NOT_POSITIVE_DEFINITE), "%s: %s, %s", what,
         davit_status_string(status), davit_last_error());
  EXPECT(bad < 0 || strstr(davit_last_error(), order), "%s: %s", what, davit_last_error());
  const int offset = (a.i - 1) % a.desc[4];
  const bool blocks_known = fits && s->p * s->q > 1; /* those of the descriptor */
  const int done = bad < 0 ? n : blocks_known ? (offset + bad) / a.desc[4] * a.desc[4] - offset : 0;
  element *x = collected(&a, s->comm);
  expect_small(&a, potrf_residual(&a, x, uplo, done < 0 ? 0 : done), what);
  expect_untouched(&a, uplo, what);
  free(x);
  destroy(&a);
}

/* ---- LU ---- */

/* The largest element of A - P L U. */
static double getrf_residual(const matrix *a, const element *x, const int *pivots) {
  const int least = a->m < a->n ? a->m : a->n;
  element *rows = malloc(((size_t)a->m * (size_t)a->n + 1) * sizeof *rows);
  double most = 0;
  memcpy(rows, a->all, (size_t)a->m * (size_t)a->n * sizeof *rows);
  for (int j = 0; j < a->n; j++)
    for (int i = 0; i < least; i++) {
      const size_t here = at(a, i, j), there = at(a, pivots[i] - 1, j);
      const element kept = rows[here];
      rows[here] = rows[there];
      rows[there] = kept;
    }
  for (int j = 0; j < a->n; j++)
    for (int i = 0; i < a->m; i++) {
      element sum = rows[at(a, i, j)];
      for (int k = 0; k <= (i < j ? i : j) && k < least; k++)
        sum -= (k == i ? 1 : x[at(a, i, k)]) * x[at(a, k, j)];
      most = cabs(sum) <= most ? most : cabs(sum);
    }
  free(rows);
  return most;
}

/* Those of one process. */
static void factor_alone(const matrix *a, int *pivots) {
  const davit_solve_options host = {.devices = (const int[]){DAVIT_HOST}, .device_count = 1};
  void *copy = malloc(((size_t)a->m * (size_t)a->n + 1) * davit_type_bytes(a->type));
  for (size_t k = 0; k < (size_t)a->m * (size_t)a->n; k++)
    put(a->type, copy, k, a->all[k]);
  const int ld = a->m > 1 ? a->m : 1;
  (void)(a->type == DAVIT_DOUBLE           ? davit_dgetrf(a->m, a->n, copy, ld, pivots, &host)
         : a->type == DAVIT_FLOAT          ? davit_sgetrf(a->m, a->n, copy, ld, pivots, &host)
         : a->type == DAVIT_COMPLEX_DOUBLE ? davit_zgetrf(a->m, a->n, copy, ld, pivots, &host)
                                           : davit_cgetrf(a->m, a->n, copy, ld, pivots, &host));
  free(copy);
}

enum { UNTOUCHED = -77 };

/* ipiv of this rank; all pivots, from 1 on, come to all ranks. */
static void collect_pivots(const setting *s, const matrix *a, const int *ipiv, int local_rows, int *pivots,
                           const char *what) {
  const int least = a->m < a->n ? a->m : a->n, *desc = a->desc;
  int touched = 0;
  for (int i = 0; i < least; i++)
    pivots[i] = 0;
  for (int il = 0; il < local_rows; il++) {
    const int i =
        (il / desc[4] * a->p + (a->row - desc[6] + a->p) % a->p) * desc[4] + il % desc[4] - (a->i - 1);
    if (i >= 0 && i < least)
      pivots[i] = ipiv[il] - (a->i - 1);
    else
      touched += ipiv[il] != UNTOUCHED;
  }
  EXPECT(touched == 0, "%s: %d pivots of other rows are not what they were", what, touched);
  int least_col = a->col, *agreed = malloc(((size_t)least + 1) * sizeof *agreed);
  MPI_Allreduce(MPI_IN_PLACE, &least_col, 1, MPI_INT, MPI_MIN, s->comm);
  MPI_Allreduce(pivots, agreed, least, MPI_INT, MPI_MAX, s->comm);
  for (int i = 0; i < least; i++) {
    EXPECT(pivots[i] == 0 || pivots[i] == agreed[i], "%s: process columns differ in pivot %d", what, i + 1);
    const bool valid = agreed[i] > i && agreed[i] <= a->m;
    EXPECT(valid, "%s: pivot %d is %d", what, i + 1, agreed[i]);
    pivots[i] = valid ? agreed[i] : i + 1;
  }
  free(agreed);
}

static davit_status run_getrf(const setting *s, const matrix *a, int *ipiv, int local_rows) {
  void *there = placed(s, a), *pivots = ipiv;
  const size_t bytes = (size_t)local_rows * sizeof *ipiv;
  if (s->on_device && local_rows > 0) {
    CHECK(davit_malloc(bytes, s->options.devices[0], &pivots));
    CHECK(davit_copy(bytes, ipiv, pivots));
  }
  const davit_status status =
      BY_TYPE(a->type, getrf, s->grid, a->m, a->n, there, a->i, a->j, a->desc, pivots, &s->options);
  expect_short_counts(a);
  fetch(a, there);
  if (pivots != ipiv) {
    CHECK(davit_copy(bytes, pivots, ipiv));
    davit_free(pivots);
  }
  return status;
}

/* `zero`: a column of zeros, with the last one that has a pivot, or -1. */
static void try_getrf(const setting *s, davit_type type, int m, int n, bool fits, int zero) {
  matrix a = make(s->grid, s->p, s->q, type, m, n, fits, false);
  const int least = m < n ? m : n,
            local_rows = (int)davit_mpi_local_size(a.desc[2], a.desc[4], a.row, a.desc[6], a.p);
  int *ipiv = malloc(((size_t)local_rows + 1) * sizeof *ipiv),
      *pivots = malloc((size_t)(least + 1) * sizeof *pivots),
      *alone = malloc((size_t)(least + 1) * sizeof *alone);
  char what[200], index[40];
  snprintf(what, sizeof what, "getrf, type %d, %d × %d at (%d, %d), grid %d × %d, blocks %d × %d, zero %d",
           (int)type, m, n, a.i, a.j, s->p, s->q, a.desc[4], a.desc[5], zero);
  snprintf(index, sizeof index, "U(%d, %d) is 0", zero + 1, zero + 1);
  for (int i = 0; zero >= 0 && i < m; i++)
    a.all[at(&a, i, zero)] = a.all[at(&a, i, least - 1)] = 0;
  distribute(&a);
  for (int il = 0; il < local_rows; il++)
    ipiv[il] = UNTOUCHED;
  const davit_status status = run_getrf(s, &a, ipiv, local_rows);
  EXPECT(status == (zero < 0 ? DAVIT_SUCCESS : DAVIT_SINGULAR), "%s: %s, %s", what,
         davit_status_string(status), davit_last_error());
  EXPECT(zero < 0 || strstr(davit_last_error(), index), "%s: %s", what, davit_last_error());
  collect_pivots(s, &a, ipiv, local_rows, pivots, what);
  element *x = collected(&a, s->comm);
  expect_small(&a, getrf_residual(&a, x, pivots), what);
  expect_untouched(&a, 'A', what);
  for (int j = 0; j < least; j++)
    for (int i = j + 1; i < m; i++)
      EXPECT(cabs(x[at(&a, i, j)]) <= (is_complex(type) ? 1.5 : 1), "%s: L(%d, %d) is larger than 1", what,
             i + 1, j + 1);
  factor_alone(&a, alone);
  for (int i = 0; i < least && is_double(type); i++) /* floats have ties, nearly */
    EXPECT(pivots[i] == alone[i], "%s: pivot %d is %d, that of one process %d", what, i + 1, pivots[i],
           alone[i]);
  free(x);
  free(ipiv);
  free(pivots);
  free(alone);
  destroy(&a);
}

/* ---- grids ---- */

static void try_cases(setting *s, int cases) {
  static const int devices[2] = {DAVIT_HOST, 0};
  static const int sizes[] = {0, 1, 2, 31, 64, 97, 130, 200, 255};
  int count;
  CHECK(davit_device_count(&count));
  for (int i = 0; i < cases; i++) {
    const int how = below(3); /* by default, on the CPU, on a device with memory of its own */
    const davit_type type = types[i % 4];
    s->options = (davit_mpi_options){.devices = NULL};
    if (how == 1 || (how == 2 && count > 0))
      s->options = (davit_mpi_options){.devices = &devices[how - 1], .device_count = 1};
    s->on_device = s->options.devices && s->options.devices[0] != DAVIT_HOST && below(2);
    const int n = sizes[below(9)];
    try_potrf(s, type, n, below(4) > 0, -1);
    try_potrf(s, type, n + 1, below(4) > 0, below(n + 1));
    const int m = below(3) ? n : sizes[below(9)], least = m < n ? m : n;
    try_getrf(s, type, m, n, below(4) > 0, -1);
    try_getrf(s, type, m + 1, n + 1, below(4) > 0, below(least + 1));
  }
}

static void test_grid(int p, int q, int cases) {
  setting s = {.p = p, .q = q};
  const uint32_t state = random_state;
  CHECK(davit_mpi_grid_create(MPI_COMM_WORLD, p, q, &s.grid));
  MPI_Comm_split(MPI_COMM_WORLD, s.grid ? 0 : MPI_UNDEFINED, me, &s.comm);
  if (s.grid) {
    try_cases(&s, cases);
    MPI_Comm_free(&s.comm);
  }
  random_state = state * 69069u + 1; /* for ranks outside as well */
  CHECK(davit_mpi_grid_destroy(s.grid));
}

/* ---- arguments ---- */

#define REFUSED(call, part)                                                                                  \
  do {                                                                                                       \
    const davit_status refused = (call);                                                                     \
    EXPECT(refused == DAVIT_INVALID_ARGUMENT, "%s: %s", #call, davit_status_string(refused));                \
    EXPECT(strstr(davit_last_error(), part), "%s: the sentence is: %s", #call, davit_last_error());          \
  } while (0)

/* All ranks refuse what is wrong on one; A and ipiv are as they were. */
static void test_arguments(void) {
  enum { N = 40 };
  const int last = ranks - 1;
  const davit_mpi_options reserved = {.reserved = {1}};
  davit_mpi_grid *grid;
  double a[N * N];
  int desc[9], ipiv[N];
  CHECK(davit_mpi_grid_create(MPI_COMM_WORLD, ranks, 1, &grid));
  CHECK(davit_mpi_descriptor(grid, N, N, 4, 4, 0, 0, N, desc));
  for (int k = 0; k < N * N; k++)
    a[k] = k;
  for (int i = 0; i < N; i++)
    ipiv[i] = UNTOUCHED;
  REFUSED(davit_mpi_dpotrf(NULL, 'L', N, a, 1, 1, desc, NULL), "grid is NULL");
  REFUSED(davit_mpi_dpotrf(grid, me == last ? 'X' : 'L', N, a, 1, 1, desc, NULL), "uplo is 'X'");
  REFUSED(davit_mpi_dpotrf(grid, 'L', me == last ? -1 : N, a, 1, 1, desc, NULL), "n is -1");
  REFUSED(davit_mpi_dpotrf(grid, 'L', N, me == last ? NULL : a, 1, 1, desc, NULL), "a is NULL");
  REFUSED(davit_mpi_dpotrf(grid, 'L', N, a, 2, 1, desc, NULL), "ia is 2");
  REFUSED(davit_mpi_dpotrf(grid, 'L', N, a, 1, 1, me == last ? NULL : desc, NULL), "desca is NULL");
  REFUSED(davit_mpi_dpotrf(grid, 'L', N, a, 1, 1, desc, me == last ? &reserved : NULL), "reserved");
  REFUSED(davit_mpi_dgetrf(grid, me == last ? -1 : N, N, a, 1, 1, desc, ipiv, NULL), "m is -1");
  REFUSED(davit_mpi_dgetrf(grid, N, me == last ? -2 : N, a, 1, 1, desc, ipiv, NULL), "n is -2");
  REFUSED(davit_mpi_dgetrf(grid, N, N, a, 1, 3, desc, ipiv, NULL), "ja is 3");
  REFUSED(davit_mpi_dgetrf(grid, N, N, a, 1, 1, desc, me == last ? NULL : ipiv, NULL), "ipiv is NULL");
  REFUSED(davit_mpi_dgetrf(grid, N, N, a, 1, 1, desc, ipiv, me == last ? &reserved : NULL), "reserved");
  if (ranks > 1) {
    REFUSED(davit_mpi_dpotrf(grid, me == last ? 'U' : 'L', N, a, 1, 1, desc, NULL), "arguments differ");
    REFUSED(davit_mpi_dpotrf(grid, 'L', me == last ? N - 1 : N, a, 1, 1, desc, NULL), "arguments differ");
    REFUSED(davit_mpi_dgetrf(grid, N, me == last ? N - 1 : N, a, 1, 1, desc, ipiv, NULL), "arguments differ");
  }
  for (int k = 0; k < N * N; k++)
    EXPECT(a[k] == k && ipiv[k % N] == UNTOUCHED, "element %d was written", k);
  CHECK(davit_mpi_dgetrf(grid, N, 0, a, 1, 1, desc, NULL, NULL));
  CHECK(davit_mpi_dpotrf(grid, 'u', 0, NULL, 1, 1, desc, NULL));
  CHECK(davit_mpi_grid_destroy(grid));
}

/* Messages of as many elements as an int counts, or of one column. */
static void test_columns_at_once(void) {
  static const int64_t lengths[][2] = {{0, INT_MAX},   {1, INT_MAX},         {2, 1073741823},
                                       {46340, 46341}, {46341, 46340},       {1073741824, 1},
                                       {INT_MAX, 1},   {INT64_C(1) << 40, 1}};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    const int64_t columns = dvt_mpi_columns_at_once(lengths[i][0]);
    EXPECT(columns == lengths[i][1], "%lld columns of %lld rows", (long long)columns,
           (long long)lengths[i][0]);
  }
}

int main(int argc, char **argv) {
  mpi_test_begin(&argc, &argv, &me, &ranks);
  const char *scale = getenv("DAVIT_TEST_SCALE");
  const int cases = scale && atof(scale) < 1 ? 12 : 40;
  test_grid(ranks, 1, cases);
  if (ranks > 1)
    test_grid(1, ranks, cases);
  if (ranks >= 4)
    test_grid(2, ranks / 2, cases);
  if (ranks == 6)
    test_grid(2, 2, cases); /* two ranks are not in it */
  test_arguments();
  test_columns_at_once();
  return mpi_test_end();
}
