/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky's factorisation, and systems with one right-hand side (doubles, of the largest two orders): on GPUs over
 * 1, 2 … devices with operands in pinned or pageable memory or on the first of them, else on the CPU. Peers take turns
 * with davit: cuSOLVER on the first GPU, for operands on the host with copies of the whole matrix from and to pinned
 * memory; on the CPU OpenBLAS and the system's LAPACK. Each call gets a fresh copy of the same matrix, which is not
 * timed.
 *
 * Flops are n³ / 3. Floors, of GPUs: arithmetic = flops over the devices times the rate that cuBLAS sustains on one of
 * them in this run; link = half of the matrix, which crosses it each way, at --link per device and direction.
 *
 * `error_eps` is the largest difference of the solution of A x = b from x, for a random x, in eps of the largest
 * element. The matrix has random numbers in [0, 1) beside a diagonal of n, so its condition is about 3, and the program
 * ends with a failure if the error is more than 3 n.
 *
 *   --sizes LIST    orders (2000,4000,8192,16384,20000; of the CPU 500,1000,2000,4000)
 *   --device LIST   the first GPU and -1, the CPU
 *   --devices LIST  how many GPUs (1,2,4), those of davit_device_defaults()
 *   --types LIST    d,s
 *   --place LIST    where operands of GPUs are (pinned,pageable,device)
 *   --blocks LIST   columns of a block; 0: davit's own choice
 *   --repeats N     calls that count, after the first (5; 3 on the CPU)
 *   --peers 0       without peers, and without the floor of arithmetic
 *   --link GBS      10^9 bytes/s (55) */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peers/cublasxt.h"
#include "bench/peers/cusolver.h"
#include "bench/peers/lapack.h"
#include "bench/series.h"
#include "offload/runtime/device.h"
#include "src/base/team.h"

typedef struct problem {
  bool gpu, solves; /* solves: posv, not potrf */
  davit_type type;
  char uplo;
  int64_t n, block;
  const char *place;
  const int *devices;
  int device_count, repeats, lapacks;
  double sustained;    /* flops per second of one device; 0: unknown */
  int64_t block_taken; /* by the last call of davit's */
  char *original, *a, *peer_a;
  BENCH_VECTORS(*x, *product, *b, *peer_b); /* product: A x */
} problem;

static bool is_double(const problem *p) {
  return p->type == DAVIT_DOUBLE;
}

static bool is_on_device(const problem *p) {
  return strcmp(p->place, "device") == 0;
}

static size_t vector_bytes(const problem *p) {
  return (size_t)p->n * davit_type_bytes(p->type);
}

static size_t matrix_bytes(const problem *p) {
  return (size_t)p->n * vector_bytes(p);
}

static double flops_of(const problem *p) {
  const double n = (double)p->n;
  return n * n * n / 3 + (p->solves ? 2 * n * n : 0);
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
  const davit_solve_options options = {
      .devices = p->devices, .device_count = p->device_count, .block = p->block, .report = &report};
  const davit_status status = p->solves
                                  ? davit_dposv(p->uplo, p->n, 1, (double *)p->a, p->n, p->b, p->n, &options)
                              : is_double(p) ? davit_dpotrf(p->uplo, p->n, (double *)p->a, p->n, &options)
                                             : davit_spotrf(p->uplo, p->n, (float *)p->a, p->n, &options);
  p->block_taken = report.block;
  return status;
}

static davit_status cusolver_call(problem *p, int which) {
  (void)which;
  return peer_cusolver_factor(p->peer_a, p->solves ? p->peer_b : NULL);
}

static davit_status lapack_call(problem *p, int which) {
  return peer_lapack_factor(which, p->type, p->uplo, p->n, p->peer_a, p->solves ? p->peer_b : NULL);
}

/* davit's, then the peers'. */
enum { MOST_WORKS = 3 };
static int open_works(problem *p, work works[MOST_WORKS]) {
  int count = 0;
  works[count++] = (work){.name = "davit", .call = davit_call, .a = p->a, .b = p->b};
  for (int i = 0; i < p->lapacks; i++)
    works[count++] = (work){peer_lapack_name(i), lapack_call, i, .a = p->peer_a, .b = p->peer_b};
  if (p->gpu && p->peer_a && peer_cusolver_open &&
      peer_cusolver_open(dvt_device_find(p->devices[0])->ordinal, p->type, p->uplo, p->n, !is_on_device(p)))
    works[count++] = (work){.name = "cusolver", .call = cusolver_call, .a = p->peer_a, .b = p->peer_b};
  return count;
}

/* ---- the check ---- */

static double at(const problem *p, const void *x, int64_t i) {
  return is_double(p) ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static davit_status multiply(const problem *p) {
  return is_double(p) ? davit_dsymm('L', p->uplo, p->n, 1, 1, (double *)p->original, p->n, p->x, p->n, 0,
                                    p->product, p->n, NULL)
                      : davit_ssymm('L', p->uplo, p->n, 1, 1, (float *)p->original, p->n, p->x, p->n, 0,
                                    p->product, p->n, NULL);
}

static davit_status solve(const problem *p) {
  return is_double(p) ? davit_dpotrs(p->uplo, p->n, 1, (double *)p->a, p->n, p->b, p->n, NULL)
                      : davit_spotrs(p->uplo, p->n, 1, (float *)p->a, p->n, p->b, p->n, NULL);
}

/* Of what davit's last call has left in a and b. */
static double error_of(const problem *p) {
  if (!p->solves)
    bench_check(solve(p), "check");
  char *expected = malloc(2 * vector_bytes(p)), *found = expected + vector_bytes(p);
  if (!expected)
    bench_check(davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for the check"), "check");
  bench_check(davit_copy(vector_bytes(p), p->x, expected), "check");
  bench_check(davit_copy(vector_bytes(p), p->b, found), "check");
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < p->n; i++) {
    const double off = fabs(at(p, found, i) - at(p, expected, i));
    largest = fmax(largest, fabs(at(p, expected, i)));
    difference = isnan(difference) || off <= difference ? difference : off; /* NaN stays */
  }
  free(expected);
  const double error = difference / largest / (is_double(p) ? 0x1p-53 : 0x1p-24);
  if (!(error <= 3 * (double)p->n))
    bench_check(davit_fail(DAVIT_INTERNAL_ERROR, "x is off by %.3g eps, more than 3 n", error), "solve");
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
  const char *operation = p->solves ? "posv" : "potrf";
  bench_row();
  bench_number("device", p->devices[0]);
  bench_text("operation", operation);
  bench_text("type", bench_type_name(p->type));
  bench_text("uplo", (char[]){p->uplo, 0});
  bench_text("place", p->place);
  bench_number("n", (double)p->n);
  bench_number("devices", p->device_count);
  if (p->block > 0)
    bench_number("block", (double)p->block);
  bench_number("block_taken", (double)p->block_taken);
  fprintf(stderr, "%2d %-5s %s %c %6lld %-8s devices %d block %5lld: ", p->devices[0], operation,
          bench_type_name(p->type), p->uplo, (long long)p->n, p->place, p->device_count,
          (long long)p->block_taken);
}

static void floors(const problem *p) {
  const double half = (double)matrix_bytes(p) / 2, link = 1e9 * atof(bench_option("link", "55"));
  if (p->sustained > 0)
    bench_number("floor_arithmetic_ms", 1e3 * flops_of(p) / p->sustained / p->device_count);
  if (p->gpu && !is_on_device(p))
    bench_number("floor_link_ms", 1e3 * half / link / p->device_count);
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

static void row(problem *p) {
  work works[MOST_WORKS];
  bench_check(multiply(p), "A x");
  const int count = open_works(p, works);
  const double error = take_turns(p, works, count);
  if (peer_cusolver_close)
    peer_cusolver_close();
  const bench_time *time = &works[0].time;
  describe(p);
  if (time->error[0]) {
    bench_text("error", time->error);
    fprintf(stderr, "%s\n", time->error);
    return;
  }
  bench_number("first_ms", 1e3 * works[0].first);
  bench_number("median_ms", 1e3 * time->median);
  bench_number("best_ms", 1e3 * time->best);
  bench_number("gflops", 1e-9 * flops_of(p) / time->median);
  bench_number("error_eps", error);
  floors(p);
  fprintf(stderr, "first %8.2f median %8.3f best %8.3f ms %9.1f GFLOP/s", 1e3 * works[0].first,
          1e3 * time->median, 1e3 * time->best, 1e-9 * flops_of(p) / time->median);
  against(&works[0], works + 1, count - 1);
  fputc('\n', stderr);
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

static bool fill_diagonal(const problem *p) {
  const size_t element = davit_type_bytes(p->type);
  char *diagonal = bench_memory(DAVIT_PAGEABLE, vector_bytes(p));
  if (!diagonal)
    return false;
  for (int64_t i = 0; i < p->n; i++)
    memcpy(diagonal + (size_t)i * element,
           is_double(p) ? (void *)&(double){(double)p->n} : &(float){(float)p->n}, element);
  bench_check(davit_copy_2d(1, p->n, element, diagonal, 1, p->original, p->n + 1), "diagonal");
  davit_free(diagonal);
  return true;
}

static void close_operands(problem *p) {
  bench_vectors_close(p->operand);
  davit_free(p->original);
  davit_free(p->a);
  if (p->peer_a != p->a)
    davit_free(p->peer_a);
  p->original = p->a = p->peer_a = NULL;
}

static bool open_operands(problem *p, bool peers) {
  const int place = place_of(p);
  const int64_t lengths[BENCH_OPERANDS] = {p->n, p->n, p->n, p->n};
  p->original = bench_vector(place_of_original(p), p->type, p->n * p->n);
  p->a = p->original ? bench_memory(place, matrix_bytes(p)) : NULL;
  p->peer_a = !p->a || !peers                     ? NULL
              : strcmp(p->place, "pageable") == 0 ? bench_memory(DAVIT_PINNED, matrix_bytes(p))
                                                  : p->a;
  return p->a && fill_diagonal(p) && bench_vectors_open(place, p->type, lengths, p->operand);
}

/* ---- the program ---- */

static bool is_among_largest(const bench_values *sizes, int64_t n, int most) {
  int larger = 0;
  for (int i = 0; i < sizes->count; i++)
    larger += sizes->at[i] > n;
  return larger < most;
}

/* 'L' with all counts of devices and blocks; 'U' once. */
static void measure(problem *p, const bench_spread *spread, bool upper, bool systems) {
  const bench_values blocks = bench_list("blocks", "0");
  for (int d = 0; d < spread->counts.count; d++)
    for (int b = 0; b < blocks.count; b++) {
      p->device_count = (int)spread->counts.at[d];
      p->block = blocks.at[b];
      p->uplo = 'L';
      row(p);
      p->solves = systems;
      if (systems)
        row(p);
      p->solves = false;
    }
  p->uplo = 'U';
  if (upper)
    row(p);
}

static void measure_device(bool gpu, const bench_spread *spread, int lapacks) {
  static const char *const places[] = {"pinned", "pageable", "device"};
  const bench_kinds kinds = bench_types("ds");
  const bench_values sizes = bench_sizes("sizes", gpu ? "2000,4000,8192,16384,20000" : "500,1000,2000,4000");
  const char *wanted = bench_option("place", "pinned,pageable,device");
  const bool peers = bench_whole("peers", 1) != 0;
  for (int k = 0; k < kinds.count; k++) {
    problem p = {.gpu = gpu,
                 .type = kinds.at[k],
                 .devices = spread->devices,
                 .repeats = bench_count("repeats", gpu ? 5 : 3),
                 .lapacks = gpu ? 0 : lapacks};
    if (gpu && peers && peer_cublas_sustained)
      p.sustained = peer_cublas_sustained(is_double(&p) ? 'd' : 's', 1.5);
    bool upper = k == 0;
    for (int l = 0; l < (gpu ? 3 : 1); l++) {
      p.place = gpu ? places[l] : "host";
      if (gpu && !strstr(wanted, p.place))
        continue;
      for (int i = 0; i < sizes.count; i++) {
        p.n = sizes.at[i];
        const bool largest = is_among_largest(&sizes, p.n, 1);
        if (open_operands(&p, peers))
          measure(&p, spread, upper && largest, is_double(&p) && is_among_largest(&sizes, p.n, 2));
        close_operands(&p);
      }
      upper = false;
    }
  }
  davit_memory_trim(DAVIT_PINNED);
}

static const char usage[] =
    "bench_solve [--sizes 8192,16384] [--device LIST] [--devices 1,2,4] [--types d,s]\n"
    "            [--place pinned,pageable,device] [--blocks 0,512] [--repeats 5] [--peers 0] [--link 55]\n";

int main(int argc, char **argv) {
  const bench_values devices = bench_open(usage, argc, argv);
  const int lapacks = bench_whole("peers", 1) != 0 ? peer_lapack_load(dvt_threads()) : 0;
  bench_begin("solve");
  const bench_spread several = bench_spread_read();
  for (int i = 0; i < devices.count; i++) {
    const int device = (int)devices.at[i];
    const bool gpu = bench_is_gpu(device);
    const bench_spread one = {.devices = {device}, .most = 1, .counts = {1, {1}}};
    measure_device(gpu, gpu && i == 0 ? &several : &one, lapacks);
  }
  return bench_finish();
}
