/* SPDX-License-Identifier: Apache-2.0 */
/* Factorisations of Cholesky, LU and QR, and systems or least squares with one right-hand side (doubles, of the largest
 * two orders): on GPUs over 1, 2 … devices with operands in pinned or pageable memory or on the first of them, else on
 * the CPU. Matrices are n × n, those of gels --tall times as high. Peers take turns with davit: cuSOLVER on the first
 * GPU, for operands on the host with copies of the whole matrix from and to pinned memory; on the CPU OpenBLAS and the system's
 * LAPACK. Each call gets a fresh copy of the same matrix, which is not timed.
 *
 * gesv_mixed is gesv with options->arithmetic, beside the same peers.
 *
 * Flops are n³ / 3 for Cholesky, 2 n³ / 3 for LU, 2 n² (m - n / 3) for QR. Floors, of GPUs: arithmetic = flops over the
 * devices times the rate that cuBLAS sustains on one of them in this run; link = the matrix (of Cholesky half of it),
 * which crosses it each way, at --link per device and direction.
 *
 * `error_eps` is the largest difference of the solution of A x = b from x, for a random x, in eps of the largest
 * element. The matrix has random numbers in [0, 1) beside one n in each column, so its condition is about 3, and the
 * program ends with a failure if the error is more than 3 sqrt(m n). Those n are on the diagonal for Cholesky, and else below
 * it, so that LU exchanges rows that lie far apart.
 *
 *   --routines LIST potrf,posv,getrf,gesv,gesv_mixed,geqrf,gels
 *   --sizes LIST    n (2000,4000,8192,16384,20000; of the CPU 500,1000,2000,4000)
 *   --device LIST   the first GPU and -1, the CPU
 *   --devices LIST  how many GPUs (1,2,4), those of davit_device_defaults()
 *   --types LIST    d,s
 *   --place LIST    where operands of GPUs are (pinned,pageable,device)
 *   --blocks LIST   columns of a block; 0: davit's own choice
 *   --tall N        rows of gels's matrices, in n (2)
 *   --repeats N     calls that count, after the first (5; 3 on the CPU)
 *   --peers 0       without peers, and without the floor of arithmetic
 *   --link GBS      10^9 bytes/s (55)
 *   --seconds N     begin no row later than N seconds after the start (0: no limit) */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peers/cublasxt.h"
#include "bench/peers/cusolver.h"
#include "bench/peers/lapack.h"
#include "bench/series.h"
#include "offload/runtime/device.h"
#include "src/base/team.h"

typedef struct routine {
  const char *name;
  peer_kind kind;
  bool solves, tall;
} routine;

static const routine routines[] = {
    {"potrf", PEER_CHOLESKY, false, false}, {"posv", PEER_CHOLESKY, true, false},
    {"getrf", PEER_LU, false, false},       {"gesv", PEER_LU, true, false},
    {"gesv_mixed", PEER_LU, true, false},   {"geqrf", PEER_QR, false, false},
    {"gels", PEER_QR, true, true},
};
enum { ROUTINES = sizeof routines / sizeof *routines };

typedef struct problem {
  bool gpu;
  peer_factor factor; /* the routine's kind and shape */
  const char *routine;
  int64_t block;
  const char *place;
  const int *devices;
  int device_count, repeats, lapacks;
  double sustained;                         /* flops per second of one device; 0: unknown */
  int64_t block_taken;                      /* by the last call of davit's */
  void *original, *a, *peer_a, *beside;     /* beside: pivots or tau */
  BENCH_VECTORS(*x, *product, *b, *peer_b); /* product: A x */
} problem;

static bool is_double(const problem *p) {
  return p->factor.type == DAVIT_DOUBLE;
}

/* davit's call of either type. */
#define CALL(p, name, ...) (is_double(p) ? davit_d##name(__VA_ARGS__) : davit_s##name(__VA_ARGS__))

static bool is_on_device(const problem *p) {
  return strcmp(p->place, "device") == 0;
}

/* Of one column. */
static size_t vector_bytes(const problem *p) {
  return (size_t)p->factor.m * davit_type_bytes(p->factor.type);
}

static size_t matrix_bytes(const problem *p) {
  return (size_t)p->factor.n * vector_bytes(p);
}

static double flops_of(const problem *p) {
  const double m = (double)p->factor.m, n = (double)p->factor.n;
  const peer_kind kind = p->factor.kind;
  const double factor =
      kind == PEER_CHOLESKY ? n * n * n / 3 : n * n * (m - n / 3) * (kind == PEER_LU ? 1 : 2);
  return factor + (!p->factor.solves ? 0 : kind == PEER_QR ? 4 * m * n - n * n : 2 * n * n);
}

/* ---- what is timed ---- */

typedef struct work {
  const char *name;
  davit_status (*call)(problem *p, int which);
  int which;
  void *a, *b;
  double first, times[BENCH_MOST];
  bench_time time;
} work;

static davit_status davit_call(problem *p, int which) {
  (void)which;
  davit_solve_report report;
  const davit_solve_options options = {.devices = p->devices,
                                       .device_count = p->device_count,
                                       .block = p->block,
                                       .report = &report,
                                       .arithmetic = strstr(p->routine, "mixed") ? DAVIT_ARITHMETIC_MIXED
                                                                                 : DAVIT_ARITHMETIC_NATIVE};
  const int64_t m = p->factor.m, n = p->factor.n;
  const char uplo = p->factor.uplo;
  const bool solves = p->factor.solves;
  davit_status status = DAVIT_SUCCESS;
  switch (p->factor.kind) {
  case PEER_CHOLESKY:
    status = solves ? CALL(p, posv, uplo, n, 1, p->a, n, p->b, n, &options)
                    : CALL(p, potrf, uplo, n, p->a, n, &options);
    break;
  case PEER_LU:
    status = solves ? CALL(p, gesv, n, 1, p->a, n, p->beside, p->b, n, &options)
                    : CALL(p, getrf, n, n, p->a, n, p->beside, &options);
    break;
  case PEER_QR:
    status = solves ? CALL(p, gels, 'N', m, n, 1, p->a, m, p->b, m, &options)
                    : CALL(p, geqrf, m, n, p->a, m, p->beside, &options);
    break;
  }
  p->block_taken = report.block;
  return status;
}

static davit_status cusolver_call(problem *p, int which) {
  (void)which;
  return peer_cusolver_factor(p->peer_a, p->factor.solves ? p->peer_b : NULL);
}

static davit_status lapack_call(problem *p, int which) {
  return peer_lapack_factor(which, &p->factor, p->peer_a, p->factor.solves ? p->peer_b : NULL);
}

/* davit's, then the peers'. */
enum { MOST_WORKS = 3 };
static int open_works(problem *p, work works[MOST_WORKS]) {
  int count = 0;
  works[count++] = (work){.name = "davit", .call = davit_call, .a = p->a, .b = p->b};
  for (int i = 0; i < p->lapacks; i++)
    works[count++] = (work){peer_lapack_name(i), lapack_call, i, .a = p->peer_a, .b = p->peer_b};
  if (p->gpu && p->peer_a && peer_cusolver_open &&
      peer_cusolver_open(dvt_device_find(p->devices[0])->ordinal, &p->factor, !is_on_device(p)))
    works[count++] = (work){.name = "cusolver", .call = cusolver_call, .a = p->peer_a, .b = p->peer_b};
  return count;
}

/* ---- the check ---- */

static double at(const problem *p, const void *x, int64_t i) {
  return is_double(p) ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static davit_status multiply(const problem *p) {
  const peer_factor *f = &p->factor;
  return f->kind == PEER_CHOLESKY ? CALL(p, symm, 'L', f->uplo, f->n, 1, 1, p->original, f->n, p->x, f->n, 0,
                                         p->product, f->n, NULL)
                                  : CALL(p, gemm, 'N', 'N', f->m, 1, f->n, 1, p->original, f->m, p->x, f->n,
                                         0, p->product, f->m, NULL);
}

static davit_status solve(const problem *p) {
  const int64_t n = p->factor.n;
  if (p->factor.kind == PEER_CHOLESKY)
    return CALL(p, potrs, p->factor.uplo, n, 1, p->a, n, p->b, n, NULL);
  if (p->factor.kind == PEER_LU)
    return CALL(p, getrs, 'N', n, 1, p->a, n, p->beside, p->b, n, NULL);
  const davit_status status = CALL(p, ormqr, 'L', 'T', n, 1, n, p->a, n, p->beside, p->b, n, NULL);
  return status == DAVIT_SUCCESS ? CALL(p, trsm, 'L', 'U', 'N', 'N', n, 1, 1, p->a, n, p->b, n, NULL)
                                 : status;
}

/* Of what davit's last call has left in a and b. */
static double error_of(const problem *p) {
  const size_t bytes = (size_t)p->factor.n * davit_type_bytes(p->factor.type);
  if (!p->factor.solves)
    bench_check(solve(p), "check");
  char *expected = malloc(2 * bytes), *found = expected + bytes;
  if (!expected)
    bench_check(davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for the check"), "check");
  bench_check(davit_copy(bytes, p->x, expected), "check");
  bench_check(davit_copy(bytes, p->b, found), "check");
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < p->factor.n; i++) {
    const double off = fabs(at(p, found, i) - at(p, expected, i));
    largest = fmax(largest, fabs(at(p, expected, i)));
    difference = isnan(difference) || off <= difference ? difference : off; /* NaN stays */
  }
  free(expected);
  const double error = difference / largest / (is_double(p) ? 0x1p-53 : 0x1p-24);
  if (!(error <= 3 * sqrt((double)p->factor.m * (double)p->factor.n)))
    bench_check(davit_fail(DAVIT_INTERNAL_ERROR, "x is off by %.3g eps, more than 3 sqrt(m n)", error),
                "solve");
  return error;
}

/* ---- rows ---- */

static void take_turn(problem *p, work *w, int turn) {
  bench_check(davit_copy(matrix_bytes(p), p->original, w->a), "copy");
  bench_check(davit_copy(vector_bytes(p), p->product, w->b), "copy");
  bench_rest();
  const double start = bench_now();
  if (w->call(p, w->which) == DAVIT_SUCCESS)
    *(turn < 0 ? &w->first : &w->times[turn]) = bench_now() - start;
  else
    snprintf(w->time.error, sizeof w->time.error, "%s", davit_last_error());
}

/* The error of davit's result; negative where it failed. */
static double take_turns(problem *p, work *works, int count) {
  double error = -1;
  for (int turn = -1; turn < p->repeats; turn++)
    for (int w = 0; w < count; w++) {
      if (!works[w].time.error[0])
        take_turn(p, &works[w], turn);
      if (w == 0 && turn == p->repeats - 1 && !works[w].time.error[0])
        error = error_of(p);
    }
  for (int w = 0; w < count; w++)
    if (!works[w].time.error[0]) {
      works[w].time.median = bench_median(works[w].times, p->repeats);
      works[w].time.best = works[w].times[0];
    }
  return error;
}

static void describe(const problem *p) {
  const peer_factor *f = &p->factor;
  const char *type = bench_type_name(f->type);
  const char uplo[] = {f->kind == PEER_CHOLESKY ? f->uplo : '-', 0};
  bench_row();
  bench_number("device", p->devices[0]);
  bench_text("operation", p->routine);
  bench_text("type", type);
  if (f->kind == PEER_CHOLESKY)
    bench_text("uplo", uplo);
  bench_text("place", p->place);
  bench_number("n", (double)f->n);
  if (f->m != f->n)
    bench_number("m", (double)f->m);
  bench_number("devices", p->device_count);
  if (p->block > 0)
    bench_number("block", (double)p->block);
  bench_number("block_taken", (double)p->block_taken);
  fprintf(stderr, "%2d %-5s %s %s %6lld %-8s devices %d block %5lld: ", p->devices[0], p->routine, type, uplo,
          (long long)f->n, p->place, p->device_count, (long long)p->block_taken);
}

static void floors(const problem *p) {
  const double bytes = (double)matrix_bytes(p) / (p->factor.kind == PEER_CHOLESKY ? 2 : 1);
  const double link = 1e9 * atof(bench_option("link", "55"));
  if (p->sustained > 0)
    bench_number("floor_arithmetic_ms", 1e3 * flops_of(p) / p->sustained / p->device_count);
  if (p->gpu && !is_on_device(p))
    bench_number("floor_link_ms", 1e3 * bytes / link / p->device_count);
}

/* The time of each, and the fastest as what the readers of results know as the peer. */
static void against(const work *davit, const work *peers, int count) {
  const work *fastest = NULL;
  for (const work *w = peers; w < peers + count; w++) {
    char key[32];
    snprintf(key, sizeof key, w->time.error[0] ? "%s_error" : "%s_ms", w->name);
    if (w->time.error[0]) {
      fprintf(stderr, "  %s: %s", w->name, w->time.error);
      continue;
    }
    bench_number(key, 1e3 * w->time.median);
    fprintf(stderr, "  %s %.2f ms", w->name, 1e3 * w->time.median);
    if (!fastest || w->time.median < fastest->time.median)
      fastest = w;
  }
  if (!fastest)
    return;
  bench_text("peer", fastest->name);
  bench_number("peer_us", 1e6 * fastest->time.median);
  bench_number("ratio", fastest->time.median / davit->time.median);
}

static bool is_late(void) {
  static double begin;
  const double now = bench_now(), limit = (double)bench_whole("seconds", 0);
  begin = begin > 0 ? begin : now;
  return limit > 0 && now - begin > limit;
}

/* The time and the error of what was measured; the row stays open for the peers. */
static void result(const problem *p, const work *davit, double error) {
  const bench_time *time = &davit->time;
  const double first = 1e3 * davit->first, gflops = 1e-9 * flops_of(p) / time->median;
  bench_number("first_ms", first);
  bench_number("median_ms", 1e3 * time->median);
  bench_number("best_ms", 1e3 * time->best);
  bench_number("gflops", gflops);
  bench_number("error_eps", error);
  floors(p);
  fprintf(stderr, "first %8.2f median %8.3f best %8.3f ms %9.1f GFLOP/s", first, 1e3 * time->median,
          1e3 * time->best, gflops);
}

static void row(problem *p) {
  work works[MOST_WORKS];
  if (is_late())
    return;
  bench_check(multiply(p), "A x");
  const int count = open_works(p, works);
  const double error = take_turns(p, works, count);
  if (peer_cusolver_close)
    peer_cusolver_close();
  describe(p);
  if (works[0].time.error[0]) {
    bench_text("error", works[0].time.error);
    fprintf(stderr, "%s\n", works[0].time.error);
  } else {
    result(p, &works[0], error);
    against(&works[0], works + 1, count - 1);
    fputc('\n', stderr);
  }
  fflush(stdout); /* survives a time limit */
}

/* ---- operands ---- */

static int place_of(const problem *p) {
  return is_on_device(p) ? p->devices[0] : strcmp(p->place, "pinned") == 0 ? DAVIT_PINNED : DAVIT_PAGEABLE;
}

/* On the GPU, from where a matrix is copied fastest, unless it would take more than a quarter of the memory. */
static int place_of_original(const problem *p) {
  size_t available, total;
  return p->gpu && davit_device_memory(p->devices[0], &available, &total) == DAVIT_SUCCESS &&
                 matrix_bytes(p) <= available / 4
             ? p->devices[0]
             : DAVIT_PAGEABLE;
}

/* In column j of `count` from `first` on, one n in row j + down. */
static davit_status fill_diagonal(const problem *p, const void *values, int64_t first, int64_t down,
                                  int64_t count) {
  const size_t element = davit_type_bytes(p->factor.type);
  char *to = (char *)p->original + (size_t)(first * p->factor.m + first + down) * element;
  return count > 0 ? davit_copy_2d(1, count, element, values, 1, to, p->factor.m + 1) : DAVIT_SUCCESS;
}

static bool fill_diagonals(const problem *p) {
  const int64_t n = p->factor.n, down = p->factor.kind == PEER_CHOLESKY ? 0 : n * 3 / 8;
  void *values = bench_memory(DAVIT_PAGEABLE, (size_t)n * davit_type_bytes(p->factor.type));
  if (!values)
    return false;
  for (int64_t i = 0; i < n; i++)
    if (is_double(p))
      ((double *)values)[i] = (double)n;
    else
      ((float *)values)[i] = (float)n;
  bench_check(fill_diagonal(p, values, 0, down, n - down), "diagonal");
  bench_check(fill_diagonal(p, values, n - down, down - n, down), "diagonal");
  davit_free(values);
  return true;
}

static void close_operands(problem *p) {
  bench_vectors_close(p->operand);
  davit_free(p->original);
  davit_free(p->a);
  davit_free(p->beside);
  if (p->peer_a != p->a)
    davit_free(p->peer_a);
  p->original = p->a = p->peer_a = p->beside = NULL;
}

static bool open_operands(problem *p, bool peers) {
  const int place = place_of(p);
  const int64_t m = p->factor.m, lengths[BENCH_OPERANDS] = {p->factor.n, m, m, m};
  p->original = bench_vector(place_of_original(p), p->factor.type, m * p->factor.n);
  p->a = p->original ? bench_memory(place, matrix_bytes(p)) : NULL;
  p->beside = p->a ? bench_memory(place, (size_t)p->factor.n * sizeof(double)) : NULL;
  p->peer_a = !p->beside || !peers                ? NULL
              : strcmp(p->place, "pageable") == 0 ? bench_memory(DAVIT_PINNED, matrix_bytes(p))
                                                  : p->a;
  return p->beside && fill_diagonals(p) && bench_vectors_open(place, p->factor.type, lengths, p->operand);
}

/* ---- the program ---- */

static bool is_among_largest(const bench_values *sizes, int64_t n, int most) {
  int larger = 0;
  for (int i = 0; i < sizes->count; i++)
    larger += sizes->at[i] > n;
  return larger < most;
}

/* What a routine is measured with: all counts of devices and blocks. */
static void measure(problem *p, const bench_spread *spread) {
  const bench_values blocks = bench_list("blocks", "0");
  for (int d = 0; d < spread->counts.count; d++)
    for (int b = 0; b < blocks.count; b++) {
      p->device_count = (int)spread->counts.at[d];
      p->block = blocks.at[b];
      row(p);
    }
}

/* The routines of --routines that share a matrix of kind and shape. 'U' of potrf once. */
static void measure_matrix(problem *p, const bench_spread *spread, const routine *first, bool upper,
                           bool systems) {
  const char *wanted = bench_option("routines", "potrf,posv,getrf,gesv,gesv_mixed,geqrf,gels");
  const bool peers = bench_whole("peers", 1) != 0;
  bool open = false, usable = false;
  for (const routine *r = first; r < routines + ROUTINES; r++) {
    const bool shares =
        (r->kind == PEER_CHOLESKY) == (first->kind == PEER_CHOLESKY) && r->tall == first->tall;
    if (!shares || !strstr(wanted, r->name) || (r->solves && !systems) || is_late())
      continue;
    p->routine = r->name;
    p->factor.kind = r->kind;
    p->factor.solves = r->solves;
    p->factor.m = (r->tall ? bench_whole("tall", 2) : 1) * p->factor.n;
    p->factor.uplo = 'L';
    if (!open)
      usable = open_operands(p, peers);
    open = true;
    if (!usable)
      break;
    measure(p, spread);
    if (strcmp(r->name, "potrf") != 0 || !upper)
      continue;
    p->factor.uplo = 'U';
    row(p);
  }
  close_operands(p);
}

static void measure_place(problem *p, const bench_spread *spread, const bench_values *sizes, bool upper) {
  for (int i = 0; i < sizes->count; i++) {
    p->factor.n = sizes->at[i];
    const bool systems = is_double(p) && is_among_largest(sizes, p->factor.n, 2);
    for (int r = 0; r < ROUTINES; r++)
      if (strcmp(routines[r].name, "potrf") == 0 || strcmp(routines[r].name, "getrf") == 0 ||
          routines[r].tall)
        measure_matrix(p, spread, &routines[r], upper && is_among_largest(sizes, p->factor.n, 1), systems);
  }
}

static void measure_device(bool gpu, const bench_spread *spread, int lapacks) {
  static const char *const places[] = {"pinned", "pageable", "device"};
  const bench_kinds kinds = bench_types("ds");
  const bench_values sizes = bench_sizes("sizes", gpu ? "2000,4000,8192,16384,20000" : "500,1000,2000,4000");
  const char *wanted = bench_option("place", "pinned,pageable,device");
  for (int k = 0; k < kinds.count; k++) {
    problem p = {.gpu = gpu,
                 .factor.type = kinds.at[k],
                 .devices = spread->devices,
                 .repeats = bench_count("repeats", gpu ? 5 : 3),
                 .lapacks = gpu ? 0 : lapacks};
    if (gpu && bench_whole("peers", 1) != 0 && peer_cublas_sustained)
      p.sustained = peer_cublas_sustained(is_double(&p) ? 'd' : 's', 1.5);
    bool upper = k == 0;
    for (int l = 0; l < (gpu ? 3 : 1); l++) {
      p.place = gpu ? places[l] : "host";
      if (gpu && !strstr(wanted, p.place))
        continue;
      measure_place(&p, spread, &sizes, upper);
      upper = false;
    }
  }
  davit_memory_trim(DAVIT_PINNED);
}

static const char usage[] =
    "bench_solve [--routines potrf,getrf] [--sizes 8192,16384] [--device LIST] [--devices 1,2,4] [--types "
    "d,s]\n"
    "            [--place pinned,pageable,device] [--blocks 0,512] [--repeats 5] [--peers 0] [--link 55]\n"
    "            [--tall 2] [--seconds N]\n";

int main(int argc, char **argv) {
  const bench_values devices = bench_open(usage, argc, argv);
  const int lapacks = bench_whole("peers", 1) != 0 ? peer_lapack_load(dvt_threads()) : 0;
  bench_begin("solve");
  is_late(); /* begins to count */
  const bench_spread several = bench_spread_read();
  for (int i = 0; i < devices.count; i++) {
    const int device = (int)devices.at[i];
    const bool gpu = bench_is_gpu(device);
    const bench_spread one = {.devices = {device}, .most = 1, .counts = {1, {1}}};
    measure_device(gpu, gpu && i == 0 ? &several : &one, lapacks);
  }
  return bench_finish();
}
