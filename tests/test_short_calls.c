/* SPDX-License-Identifier: Apache-2.0 */
/* Short plain calls on the CPU leave OpenMP alone (offload/kernel/threads.h): a thread of the program that makes them
 * does not become one of the runtime's. That would cost it more than such a call takes, and where a program has LLVM's
 * helper threads, they would end with it. Beside davit's nowait regions threads that have used OpenMP may end.
 *
 * The runtime tells a tool of OpenMP, which this program has, of each thread that it registers. */
#include "tests/support.h"

#include <omp-tools.h>
#include <omp.h>

#include "ref/blas.h"

/* ---- the tool ---- */

static atomic_int roots; /* threads that are watched and were registered since */
static _Thread_local bool is_watched;

static void begin_thread(ompt_thread_t kind, ompt_data_t *data) {
  (void)data;
  roots += is_watched && kind == ompt_thread_initial;
}

static atomic_int teams; /* of several threads */

static void begin_team(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *team, unsigned threads,
                       int flags, const void *code) {
  (void)task, (void)frame, (void)team, (void)flags, (void)code;
  teams += threads > 1;
}

static int begin_tool(ompt_function_lookup_t find, int device, ompt_data_t *data) {
  (void)device, (void)data;
  const ompt_set_callback_t set = (ompt_set_callback_t)find("ompt_set_callback");
  set(ompt_callback_parallel_begin, (ompt_callback_t)begin_team);
  return set(ompt_callback_thread_begin, (ompt_callback_t)begin_thread) == ompt_set_always;
}

static void end_tool(ompt_data_t *data) {
  (void)data;
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
  static ompt_start_tool_result_t tool = {begin_tool, end_tool, {0}};
  (void)version, (void)runtime;
  return &tool;
}

/* ---- the calls ---- */

#define LEAVES_OPENMP_ALONE(call)                                                                            \
  do {                                                                                                       \
    CHECK(call);                                                                                             \
    if (roots > 0)                                                                                           \
      fail_msg("%s registers its thread with OpenMP", #call);                                                \
  } while (0)

enum { N = 4096, SIDE = 64 };
static const int host = DAVIT_HOST;

/* The options of any capability: they begin with the devices. */
#define ON_HOST(capability) (&(davit_##capability##_options){.devices = &host, .device_count = 1})

static void call_blas(void) {
  double a[N], x[SIDE], y[SIDE], sum;
  LEAVES_OPENMP_ALONE(davit_random(DAVIT_DOUBLE, N, 1, a));
  LEAVES_OPENMP_ALONE(davit_fill(sizeof x, 0, x));
  LEAVES_OPENMP_ALONE(davit_copy(sizeof y, a, y));
  LEAVES_OPENMP_ALONE(davit_daxpy(SIDE, 2, a, 1, x, 1, ON_HOST(axpy)));
  LEAVES_OPENMP_ALONE(davit_ddot(SIDE, x, 1, y, 1, &sum, ON_HOST(dot)));
  LEAVES_OPENMP_ALONE(davit_dnrm2(SIDE, x, 1, &sum, ON_HOST(norm)));
  LEAVES_OPENMP_ALONE(davit_dasum(SIDE, x, 1, &sum, ON_HOST(norm)));
  LEAVES_OPENMP_ALONE(davit_dscal(SIDE, 2, x, 1, ON_HOST(scal)));
  for (const char *trans = "NT"; *trans; trans++) {
    LEAVES_OPENMP_ALONE(davit_dgemv(*trans, SIDE, SIDE, 1, a, SIDE, x, 1, 0, y, 1, ON_HOST(gemv)));
    LEAVES_OPENMP_ALONE(davit_atax(DAVIT_DOUBLE, *trans, SIDE, SIDE, a, SIDE, x, NULL, y, ON_HOST(atax)));
  }
}

static void call_kernels(void) {
  static const double coefficients[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  double x[N] = {1}, y[N], sum;
  uint8_t flags[N] = {0, 1};
  const davit_reduce_part parts[] = {{.n = N / 2, .x = x}, {.n = N / 2, .x = x + N / 2}};
  for (int op = 0; op < DAVIT_OPERATOR_COUNT; op++) {
    const davit_operator each = (davit_operator)op;
    LEAVES_OPENMP_ALONE(davit_reduce(each, DAVIT_DOUBLE, N, x, &sum, ON_HOST(reduce)));
    LEAVES_OPENMP_ALONE(davit_reduce_parts(each, DAVIT_DOUBLE, COUNT(parts), parts, &sum));
    LEAVES_OPENMP_ALONE(davit_scan(each, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, N, x, y, ON_HOST(scan)));
    LEAVES_OPENMP_ALONE(
        davit_segmented_scan(each, DAVIT_DOUBLE, DAVIT_SCAN_EXCLUSIVE, N, x, flags, y, ON_HOST(scan)));
  }
  LEAVES_OPENMP_ALONE(
      davit_stencil(DAVIT_DOUBLE, SIDE, SIDE, x, SIDE, coefficients, y, SIDE, ON_HOST(stencil)));
  LEAVES_OPENMP_ALONE(davit_covariance_pack(DAVIT_DOUBLE, SIDE, x, SIDE, y, NULL));
  LEAVES_OPENMP_ALONE(davit_covariance_unpack(DAVIT_DOUBLE, SIDE, y, NULL, x, SIDE));
}

static void call_align(void) {
  enum { TARGETS = 8, LENGTH = 40 };
  static uint8_t symbols[TARGETS * LENGTH];
  int64_t offsets[TARGETS + 1];
  int32_t scores[TARGETS];
  davit_align_matrix matrix;
  davit_align_database *database;
  for (int i = 0; i <= TARGETS; i++)
    offsets[i] = i * LENGTH;
  CHECK(davit_align_matrix_find("BLOSUM62", &matrix));
  const davit_align_sequences targets = {TARGETS, offsets, symbols};
  const davit_align_scoring scoring = {
      .symbols = matrix.symbols, .matrix = matrix.scores, .gap_open = 11, .gap_extend = 1};
  LEAVES_OPENMP_ALONE(
      davit_align_database_create(&targets, matrix.symbols, &database, ON_HOST(align_database)));
  LEAVES_OPENMP_ALONE(davit_align_scores(database, &scoring, LENGTH, symbols, scores));
  LEAVES_OPENMP_ALONE(davit_align_database_destroy(database));
}

static void *make_short_calls(void *unused) {
  is_watched = true;
  call_blas();
  call_kernels();
  call_align();
  return unused;
}

/* ---- threads that end ---- */

static void *use_openmp(void *unused) {
  is_watched = true;
  (void)omp_in_parallel();
  return unused;
}

static davit_status emit(const davit_region_site *site, void *counter) {
  int *count = counter;
#pragma omp target nowait depend(inout : *site->order) device(site -> device) map(tofrom : count[ : 1])
  ++*count;
  return DAVIT_SUCCESS;
}

static void use_region(void) {
  int count = 0;
  davit_queue *queue = new_queue(DAVIT_CURRENT, 1);
  CHECK(davit_queue_region_nowait(queue, emit, &count));
  finish(queue);
  assert_int_equal(count, 1);
}

PROBE(threads_end) {
  enum { TURNS = 3 };
  join_thread(start_thread(use_openmp, NULL));
  assert_int_equal(roots, 1);
  roots = 0;
  use_region();
  for (int i = 0; i < TURNS; i++) {
    join_thread(start_thread(make_short_calls, NULL));
    use_region();
  }
}

CASE(threads_end_that_have_made_short_calls) {
  try_probe("threads_end", "", "");
  try_probe("threads_end", "", "DAVIT_THREADS=4");
  try_probe("threads_end", "", "DAVIT_THREADS=1");
  try_probe("threads_end", "", "DAVIT_THREADS=4 DAVIT_BACKEND=threads");
}

static int teams_of_product(int64_t side, dvt_routine routine) {
  double *a = calloc((size_t)(side * side), sizeof *a), *c = calloc((size_t)(side * side), sizeof *c);
  const dvt_level3 g = {.routine = routine,
                        .type = DAVIT_DOUBLE,
                        .side = 'R',
                        .uplo = 'L',
                        .transa = 'N',
                        .transb = 'N',
                        .diag = 'U',
                        .m = side,
                        .n = side,
                        .k = side,
                        .alpha = 1,
                        .a = a,
                        .lda = side,
                        .b = a,
                        .ldb = side,
                        .c = c,
                        .ldc = side};
  teams = 0;
  CHECK(dvt_level3_host(&(dvt_site){.device = DAVIT_HOST, .threads = 2}, &g));
  free(a);
  free(c);
  return teams;
}

/* A team would wait in BLIS's barriers for longer than a small product takes. */
CASE(small_products_start_no_team) {
  for (int routine = 0; routine < DVT_ROUTINES; routine++) {
    assert_int_equal(teams_of_product(SIDE, (dvt_routine)routine), 0);
    if (routine == DVT_GEMM || routine == DVT_SYRK || routine == DVT_SYMM)
      assert_true(teams_of_product(4 * SIDE, (dvt_routine)routine) > 0);
  }
}

static void *use_a_team(void *unused) {
  int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
  threads++;
  assert_int_equal(threads, 2);
  return unused;
}

/* With LLVM's hidden helper threads the next region would crash (docs/openmp.md). */
CASE(threads_that_have_used_openmp_end_beside_regions) {
  enum { REGIONS = 20 };
  for (int turn = 0; turn < scaled(200); turn++) {
    int count[2] = {0};
    davit_queue *queues[2] = {new_queue(DAVIT_CURRENT, 1), new_queue(DAVIT_CURRENT, 1)};
    pthread_t thread = start_thread(use_a_team, NULL);
    for (int i = 0; i < REGIONS; i++)
      CHECK(davit_queue_region_nowait(queues[i % 2], emit, &count[i % 2]));
    join_thread(thread);
    thread = start_thread(use_a_team, NULL);
    finish(queues[0]);
    finish(queues[1]);
    join_thread(thread);
    assert_int_equal(count[0] + count[1], REGIONS);
  }
}

int main(int argc, char **argv) {
  return run_case_or_probe(argc, argv, NULL, finalize);
}
