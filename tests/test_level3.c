/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 of BLAS with tiles that do not fit, with large triangles, with failures, and what it refuses. All routines,
 * types and flags are in test_operations.c. */
#include "tests/problem.h"

/* ---- tiles ---- */

/* Calls that more than one product was needed for, by routine and side, and those that gave up tiles for others. */
static int tiled[DVT_ROUTINES][2], evicting[DVT_ROUTINES];

/* Over devices, with tiles that need not fit. */
static void try_spread(const problem *g, int count, int64_t tile, bool tight) {
  SCOPE;
  int devices[MAX_PLACES] = {DAVIT_HOST};
  for (int i = 0; i < device_count(); i++)
    devices[i] = i;
  davit_level3_report report;
  product p = {.g = *g,
               .place = {DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE},
               .options = {.devices = devices,
                           .device_count = count,
                           .tile = tile,
                           .separate_memory = tight,
                           .cache_bytes = tight ? 18 * 64 * davit_type_bytes(g->type) : 0,
                           .report = &report}};
  product_make(&p);
  CHECK(product_call(&p, NULL));
  product_expect(&p);
  tiled[g->routine][g->side == 'R'] += report.products > report.device_count;
  evicting[g->routine] += report.evictions > 0;
}

static void try_tight(problem *p) {
  static uint64_t seed = 7;
  const int all = device_count() > 4 ? 4 : device_count() > 0 ? device_count() : 1;
  set_sizes(p, random_below(&seed, 20) + 15, random_below(&seed, 20) + 15, random_below(&seed, 40) + 20);
  set_factors(p, 15);
  try_spread(p, 1 + random_below(&seed, all), 8, true);
}

CASE(test_tight_caches) {
  each_flags(DAVIT_DOUBLE, try_tight);
  each_flags(DAVIT_COMPLEX_FLOAT, try_tight);
  for (dvt_routine r = 0; r < DVT_ROUTINES; r++) {
    assert_true(tiled[r][0] > 0 && evicting[r] > 0);
    assert_true(tiled[r][1] > 0 || (!is_square(r) && !is_triangular(r)));
  }
}

/* Triangles in tiles, whose products are not left to cuBLAS on NVIDIA's GPUs. */
static void try_large_product(problem *p) {
  enum { ORDER = 530, LINES = 40 };
  static int turn;
  if (p->routine != DVT_TRMM)
    return;
  set_sizes(p, p->side == 'L' ? ORDER : LINES, p->side == 'L' ? LINES : ORDER, 1);
  set_factors(p, turn++ % 3 ? 15 : 12);
  try_spread(p, 1, ORDER / 2, false);
}

CASE(test_large_products) {
  each_flags(DAVIT_DOUBLE, try_large_product);
  if (device_count() > 0)
    each_flags(DAVIT_COMPLEX_FLOAT, try_large_product);
}

/* Systems that are not left to cuBLAS on NVIDIA's GPUs. */
static void try_large_solve(problem *p) {
  enum { ORDER = 257, LINES = 260 };
  if (p->routine != DVT_TRSM)
    return;
  SCOPE;
  set_sizes(p, p->side == 'L' ? ORDER : LINES, p->side == 'L' ? LINES : ORDER, 1);
  set_factors(p, 15);
  product on_device = {.g = *p};
  davit_queue *queue = new_queue(0, 1);
  product_make(&on_device);
  CHECK(product_call(&on_device, queue));
  finish(queue);
  product_expect(&on_device);
}

CASE(test_large_systems) {
  if (device_count() > 0 && is_gpu(0))
    each_flags(DAVIT_DOUBLE, try_large_solve);
}

/* ---- failures ---- */

/* By tiles that travel, over up to two devices. What is read is as it was, whatever fails; C is made anew. */
static davit_status call_by_tiles(void *argument) {
  product *p = argument;
  int devices[2] = {DAVIT_HOST};
  const int count = two_devices(devices) ? 2 : 1;
  if (device_count() == 0)
    devices[0] = DAVIT_HOST;
  p->options =
      (davit_level3_options){.devices = devices, .device_count = count, .tile = 32, .separate_memory = true};
  dense_give(&p->o[2]);
  const davit_status status = product_call(p, NULL);
  assert_true(dense_as_image(&p->o[0]) && dense_as_image(&p->o[1]));
  return status;
}

CASE(test_failures) {
  for (dvt_routine r = DVT_SYMM; r < DVT_ROUTINES; r++) { /* gemm: test_inject.c */
    SCOPE;
    product p = {.g = {r, problem_types[is_hermitian(r) ? 2 : r % 2], 'L', 'L', 'N', 'N', 'N', .alpha = 0.5,
                       .beta = 1},
                 .place = {DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE}};
    set_sizes(&p.g, 70, 70, 50);
    product_make(&p);
    fail_everywhere(call_by_tiles, &p);
    product_expect(&p);
  }
}

/* ---- the complex numbers of C and what is refused ---- */

CASE(test_refusals) {
  double x[64] = {0}, y[64] = {0}, z[64] = {0};
  davit_complex_double u[64] = {0}, v[64] = {0}, w[64] = {0};
  const int64_t huge = INT64_C(1) << 30;
  REFUSED(davit_dsymm('L', 'U', huge, 4, 1, x, huge, y, huge, 0, z, huge, NULL),
          "lda is 1073741824: more than any");
  REFUSED(davit_dsyrk('U', 'N', huge, 4, 1, x, huge, 0, z, huge, NULL), "ldc is 1073741824: more than any");
  REFUSED(davit_dtrsm('R', 'U', 'N', 'U', 4, huge, 1, x, huge, y, 4, NULL),
          "lda is 1073741824: more than any");
  REFUSED(davit_zher2k('U', 'N', 4, INT64_MAX, 1, u, 4, v, 4, 0, w, 4, NULL), "k is 9223372036854775807");
  REFUSED(davit_dsymm('X', 'U', 4, 4, 1, x, 4, y, 4, 0, z, 4, NULL), "side is 'X', not 'L' or 'R'");
  REFUSED(davit_dsymm('L', 'N', 4, 4, 1, x, 4, y, 4, 0, z, 4, NULL), "uplo is 'N'");
  REFUSED(davit_dsymm('L', 'U', 4, 2, 1, x, 3, y, 4, 0, z, 4, NULL), "lda is 3, less than 4");
  REFUSED(davit_dsymm('R', 'U', 4, 2, 1, x, 1, y, 4, 0, z, 4, NULL), "lda is 1, less than 2");
  REFUSED(davit_dsyrk('U', 'Q', 4, 4, 1, x, 4, 0, z, 4, NULL), "trans is 'Q'");
  REFUSED(davit_zsyrk('U', 'C', 4, 4, 1, u, 4, 0, w, 4, NULL), "trans is 'C', not 'N' or 'T'");
  REFUSED(davit_zherk('U', 'T', 4, 4, 1, u, 4, 0, w, 4, NULL), "trans is 'T', not 'N' or 'C'");
  REFUSED(davit_dsyr2k('U', 'T', 4, 5, 1, x, 5, y, 4, 0, z, 4, NULL), "ldb is 4, less than 5");
  REFUSED(davit_dtrmm('L', 'U', 'N', 'X', 4, 4, 1, x, 4, y, 4, NULL), "diag is 'X', not 'N' or 'U'");
  REFUSED(davit_dtrsm('L', 'U', 'N', 'U', 4, 4, 1, x, 4, y, 3, NULL), "ldb is 3");
  REFUSED(davit_dtrsm('L', 'U', 'N', 'U', 4, 4, 1, x, 4, x + 3, 4, NULL), "b overlaps a");
  REFUSED(davit_dsyrk('L', 'N', 4, 4, 1, x, 4, 0, x + 8, 4, NULL), "c overlaps a");
}
