/* SPDX-License-Identifier: Apache-2.0 */
/* options->mapped: the device's copies of what OpenMP has mapped are read and written, and the host's are not. */
#include <omp.h>

#include "tests/support.h"

enum { N = 40, ALL = 6 * N * N };

/* One mapped block, cut into operands. The device's copy of b and c, which calls write, differs from the host's. */
static double block[ALL];
static double *const a = block, *const b = block + N * N, *const c = block + 2 * N * N,
                     *const x = block + 3 * N * N, *const y = x + N, *const z = y + N;
static double before[ALL], result[ALL];

static void fill_and_map(int device) {
  uint64_t random = 5;
  for (int i = 0; i < ALL; i++)
    block[i] = random_below(&random, 9) - 4;
#pragma omp target enter data map(to : block[0 : ALL]) device(device)
  for (int i = 0; i < ALL; i++)
    before[i] = block[i];
}

/* What the device's copy is now; the host's has not changed. */
static void take_back(int device) {
  assert_memory_equal(block, before, sizeof block);
#pragma omp target update from(block[0 : ALL]) device(device)
  memcpy(result, block, sizeof result);
#pragma omp target exit data map(delete : block[0 : ALL]) device(device)
  memcpy(block, before, sizeof block);
}

/* The same call from the host's memory is the oracle: f(0) is the plain form, f(1) the queue's. */
typedef davit_status (*call)(davit_queue *queue, const int *device, bool mapped);

static void compare(const char *name, call f, int device, bool queued) {
  davit_queue *queue = queued ? new_queue(device, 1) : NULL;
  fill_and_map(device);
  CHECK(f(queue, &device, true));
  if (queue)
    finish(queue);
  take_back(device);
  CHECK(f(NULL, &(int){DAVIT_HOST}, false));
  for (int i = 0; i < ALL; i++)
    if (fabs(block[i] - result[i]) > 1e-9 * (1 + fabs(block[i])))
      fail_msg("%s on device %d%s: [%d] is %g, not %g", name, device, queued ? ", queue" : "", i, result[i],
               block[i]);
}

#define OPTIONS(T)                                                                                           \
  &(T) {                                                                                                     \
    .devices = queue ? NULL : device, .device_count = !queue, .mapped = mapped                               \
  }
#define CALL_FORM(name, T, ...)                                                                              \
  static davit_status call_##name(davit_queue *queue, const int *device, bool mapped) {                      \
    return queue ? davit_queue_##name(queue, __VA_ARGS__, OPTIONS(T))                                        \
                 : davit_##name(__VA_ARGS__, OPTIONS(T));                                                    \
  }
static const double coefficients[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
static double number;
static davit_closest_pair_result pair;
CALL_FORM(dgemm, davit_level3_options, 'N', 'T', N, N, N, 1, a, N, b, N, 2, c, N)
CALL_FORM(dtrsm, davit_level3_options, 'L', 'L', 'N', 'U', 2, 2, 1, a, N, c, N)
CALL_FORM(dgemv, davit_gemv_options, 'T', N, N, 1, a, N, x, 1, 0, y, 1)
CALL_FORM(daxpy, davit_axpy_options, N, 3, x, 1, y, -1)
CALL_FORM(dscal, davit_scal_options, N, 3, x, 1)
CALL_FORM(ddot, davit_dot_options, N, x, 1, y, 1, &number)
CALL_FORM(dasum, davit_norm_options, N, x, 1, &number)
CALL_FORM(reduce, davit_reduce_options, DAVIT_SUM, DAVIT_DOUBLE, N *N, a, &number)
CALL_FORM(scan, davit_scan_options, DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, N *N, a, c)
CALL_FORM(stencil, davit_stencil_options, DAVIT_DOUBLE, N, N, a, N, coefficients, c, N)
CALL_FORM(atax, davit_atax_options, DAVIT_DOUBLE, 'N', N, N, a, N, x, z, y)
CALL_FORM(covariance, davit_covariance_options, DAVIT_DOUBLE, 'N', N, N, a, N, y, b, N, c, N)
CALL_FORM(dpotrs, davit_solve_options, 'L', 3, 2, a, N, c, N)
CALL_FORM(dgeqrf, davit_solve_options, N, 9, a, N, z)
CALL_FORM(dormqr, davit_solve_options, 'L', 'T', 9, 7, 3, a, N, z, c, N)
CALL_FORM(dorgqr, davit_solve_options, 9, 7, 3, a, N, z)

/* The plain form has no info; rows are exchanged in y, whose numbers are then integers. */
static davit_status call_dgesv(davit_queue *queue, const int *device, bool mapped) {
  static int info;
  int *ipiv = (int *)(void *)y;
  return queue ? davit_queue_dgesv(queue, 3, 2, a, N, ipiv, c, N, &info, OPTIONS(davit_solve_options))
               : davit_dgesv(3, 2, a, N, ipiv, c, N, OPTIONS(davit_solve_options));
}

/* It has no queue form. */
static davit_status call_dgels(davit_queue *queue, const int *device, bool mapped) {
  queue = NULL;
  return davit_dgels('T', 5, 9, 2, a, N, c, N, OPTIONS(davit_solve_options));
}
CALL_FORM(closest_pair, davit_closest_pair_options, DAVIT_DOUBLE, 2, N, b, &pair)

static const struct {
  const char *name;
  call f;
  bool is_number; /* in `number` or `pair` */
} calls[] = {{"gemm", call_dgemm, false},
             {"trsm", call_dtrsm, false},
             {"gemv", call_dgemv, false},
             {"axpy", call_daxpy, false},
             {"scal", call_dscal, false},
             {"dot", call_ddot, true},
             {"asum", call_dasum, true},
             {"reduce", call_reduce, true},
             {"scan", call_scan, false},
             {"stencil", call_stencil, false},
             {"atax", call_atax, false},
             {"covariance", call_covariance, false},
             {"potrs", call_dpotrs, false},
             {"geqrf", call_dgeqrf, false},
             {"ormqr", call_dormqr, false},
             {"orgqr", call_dorgqr, false},
             {"gesv", call_dgesv, false},
             {"gels", call_dgels, false},
             {"closest_pair", call_closest_pair, true}};

/* The host's copy is spoilt, so that who reads it finds something else. */
static void compare_numbers(const char *name, call f, int device, bool queued) {
  davit_queue *queue = queued ? new_queue(device, 1) : NULL;
  fill_and_map(device);
  CHECK(f(NULL, &(int){DAVIT_HOST}, false));
  const double expected = number, distance = pair.distance;
  for (int i = 0; i < ALL; i++)
    block[i] = before[i] = i * i;
  CHECK(f(queue, &device, true));
  if (queue)
    finish(queue);
  take_back(device);
  if (number != expected || pair.distance != distance)
    fail_msg("%s on device %d%s: %g and %g, not %g and %g", name, device, queued ? ", queue" : "", number,
             pair.distance, expected, distance);
}

CASE(copies_of_the_device_are_used) {
  int count;
  CHECK(davit_device_count(&count));
  for (int device = 0; device < count; device += count > 1 ? count - 1 : 1)
    for (int i = 0; i < COUNT(calls); i++)
      for (int queued = 0; queued < 2; queued++)
        (calls[i].is_number ? compare_numbers : compare)(calls[i].name, calls[i].f, device, queued);
}

/* Without a named device it is the calling thread's current one; with the host's, the host's memory. */
CASE(the_device_is_one) {
  int count, two[2] = {0, DAVIT_HOST};
  CHECK(davit_device_count(&count));
  if (count < 1)
    skip();
  CHECK(davit_device_select(0));
  fill_and_map(0);
  CHECK(davit_dscal(N, 2, x, 1, &(davit_scal_options){.mapped = true}));
  take_back(0);
  for (int i = 0; i < N; i++)
    assert_true(result[x - block + i] == 2 * x[i]);
  REFUSED(davit_dscal(N, 2, x, 1, &(davit_scal_options){.devices = two, .device_count = 2, .mapped = true}),
          "options->mapped is set, but options->device_count is 2, not 1");
  CHECK(
      davit_dscal(N, 2, x, 1, &(davit_scal_options){.devices = &two[1], .device_count = 1, .mapped = true}));
  for (int i = 0; i < N; i++)
    assert_true(x[i] == 2 * before[x - block + i]);
}

CASE(what_is_not_mapped_is_refused) {
  int count, device = 0;
  CHECK(davit_device_count(&count));
  if (count < 1)
    skip();
  davit_queue *queue = new_queue(0, 1);
  for (int i = 0; i < COUNT(calls); i++) {
    REFUSED(calls[i].f(NULL, &device, true), "options->mapped is set, but");
    REFUSED(calls[i].f(queue, &device, true), "is not mapped on device 0");
  }
  /* What is not touched need not be mapped. */
  const davit_level3_options mapped = {.mapped = true};
  CHECK(davit_device_select(0));
  CHECK(davit_daxpy(0, 1, x, 1, y, 1, &(davit_axpy_options){.mapped = true}));
  CHECK(davit_queue_dgemm(queue, 'N', 'N', 0, N, N, 1, a, N, b, N, 0, c, 1,
                          &(davit_level3_options){.mapped = true}));
  REFUSED(davit_dgemm('N', 'N', N, N, 0, 1, a, N, b, 1, 0, c, N, &mapped), "c is not mapped on device 0");
  REFUSED(davit_ddot(N, NULL, 1, y, 1, &number, &(davit_dot_options){.mapped = true}), "x is NULL");
  finish(queue);
}
