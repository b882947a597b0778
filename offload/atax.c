/* SPDX-License-Identifier: Apache-2.0 */
/* y = opᵀ(A) (op(A) x) on a device: 4 m n flops over m n elements of A.
 *
 * GPU, 'T' (tmp_j = a_j · x, y = sum of tmp_j a_j): one pass over A where a column fits on a multiprocessor,
 * m <= 12288 doubles or 24576 floats: the kernel of atax_pass.inc, and one that adds the teams' sums of y in
 * a fixed order (atax.inc). Longer columns, and 'N', whose tmp needs whole rows, which lie across all
 * columns: two products, which read A twice. Other devices: two products by davit's own regions.
 *
 * CPU: 'T': ABREAST columns are multiplied by x and, while they are in the L2 cache, added to y: one pass
 * over A. 'N': the same for panels of rows. They fit the L2 cache where A is narrow enough for runs of
 * SHORT_RUN bytes down its columns; panels of wider matrices have long runs and come from the L3 cache, or
 * from memory once more. Each share of the work has its own y; these are added in the order of the shares. So
 * the bits depend on site->threads, not on how many of them there are in the end. */
#include "offload/atax.h"

#include <omp.h>
#include <string.h>

#include "offload/blas.h"
#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/runtime/launch.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"

enum {
  HELD = 12, /* pieces of 16 bytes that a thread has in registers, and as many in flight */
  MAX_THREADS = 512,
  SUM_THREADS = 1024, /* of a team of the second kernel: 32 elements of y by 32 shares of the teams */
  SUM_SHARES = SUM_THREADS / 32,
  /* CPU */
  ABREAST = 4,
  LINE = 64,
  CACHE_BYTES = 1 << 20,
  SHORT_RUN = 4 << 10, /* bytes of a column that are read at a time: shorter ones are slow, */
  LONG_RUN = 64 << 10, /* longer ones no faster */
  UNIT_BYTES = 512     /* of a column: no thread's share of the rows is smaller */
};

/* How a thread holds columns: `slots` pieces of each of `columns` columns. */
typedef struct shape {
  int columns, slots;
} shape;
enum { SHAPES = 3 };
static const shape shapes[SHAPES] = {{1, HELD}, {4, HELD / 4}, {12, HELD / 12}};

#ifdef DVT_NVIDIA
/* The value as one that the compiler knows nothing about. */
static inline int opaque(int value) {
  __asm__ volatile("" : "+r"(value));
  return value;
}
#endif

#define NAME(x) DVT_PASTE(TYPE, _##x, _1)
#define COLUMNS 1
#define EACH "offload/atax_pass.inc"
#include "offload/each_floating.inc"
#undef COLUMNS

#define NAME(x) DVT_PASTE(TYPE, _##x, _4)
#define COLUMNS 4
#define EACH "offload/atax_pass.inc"
#include "offload/each_floating.inc"
#undef COLUMNS

#define NAME(x) DVT_PASTE(TYPE, _##x, _12)
#define COLUMNS 12
#define EACH "offload/atax_pass.inc"
#include "offload/each_floating.inc"
#undef COLUMNS

#define EACH "offload/atax.inc"
#include "offload/each_floating.inc"

/* ---- GPU ---- */

static dvt_kernel passes[2][SHAPES] = {
    {DVT_KERNEL(float_atax_pass_1), DVT_KERNEL(float_atax_pass_4), DVT_KERNEL(float_atax_pass_12)},
    {DVT_KERNEL(double_atax_pass_1), DVT_KERNEL(double_atax_pass_4), DVT_KERNEL(double_atax_pass_12)}};
static dvt_kernel sums[2] = {DVT_KERNEL(float_atax_sums), DVT_KERNEL(double_atax_sums)};

/* A launch of the one-pass kernel. */
typedef struct plan {
  dvt_kernel *kernel;
  int threads, teams;
  size_t team_bytes;
  int64_t pitch; /* elements of a team's sums: the column and what of the threads' pieces lies beyond it */
} plan;

/* The shape that keeps most of A in flight: useful bytes of a team over its threads. -1: no shape fits. */
static int choose(const dvt_atax *g, int *threads) {
  const int64_t piece = 16 / (int64_t)davit_type_bytes(g->type);
  int64_t best = 0;
  int chosen = -1;
  for (int k = 0; k < SHAPES; k++)
    for (int t = 32; t <= MAX_THREADS; t *= 2) {
      const int64_t worth = shapes[k].columns * g->m * MAX_THREADS / t;
      if (g->m <= t * shapes[k].slots * piece && worth > best) {
        best = worth;
        chosen = k;
        *threads = t;
      }
    }
  return chosen;
}

/* Whether a column fits a team. Its memory is for the group that comes, x if registers do not hold it, and two
 * sets of the warps' sums. */
static bool shape_plan(const dvt_atax *g, plan *p) {
  const size_t element = davit_type_bytes(g->type);
  const int k = g->trans == 'T' ? choose(g, &p->threads) : -1;
  if (k < 0)
    return false;
  const shape s = shapes[k];
  p->kernel = &passes[g->type == DAVIT_DOUBLE][k];
  p->pitch = p->threads * s.slots * (16 / (int64_t)element);
  p->team_bytes = (size_t)(HELD + (s.columns == 1 ? s.slots : 0)) * 16 * (size_t)p->threads +
                  2 * (size_t)s.columns * (size_t)(p->threads / 32) * element;
  p->teams = (int)dvt_at_most(INT32_MAX, dvt_divide_up(g->n, s.columns));
  return true;
}

/* Whether one pass is possible: a column fits, and the device has the team memory. */
static bool make_plan(const dvt_site *site, const dvt_atax *g, plan *p) {
  int residents;
  if (!shape_plan(g, p) ||
      dvt_launch_residents(p->kernel, site->stream, p->threads, p->team_bytes, &residents) != DAVIT_SUCCESS)
    return false;
  p->teams = (int)dvt_at_most(p->teams, residents);
  if (g->teams > 0)
    p->teams = (int)dvt_at_most(p->teams, g->teams);
  return true;
}

davit_status dvt_atax_fit(dvt_stream *stream, const dvt_atax *g, dvt_kernel_fit *fit) {
  plan p;
  return shape_plan(g, &p)
             ? dvt_launch_fit_of(p.kernel, stream, p.threads, p.team_bytes, fit)
             : davit_fail(DAVIT_UNSUPPORTED, "atax: no team holds a column of %lld", (long long)g->m);
}

static davit_status one_pass(const dvt_site *site, const dvt_atax *g, const plan *p) {
  const size_t element = davit_type_bytes(g->type);
  const bool aligned = ((uintptr_t)g->a | (uintptr_t)g->lda * element) % 16 == 0;
  void *y;
  DVT_TRY(site->workspace(site, (size_t)p->teams * (size_t)p->pitch * element, &y));
  DVT_TRY(
      dvt_launch(p->kernel, site->stream, p->teams, p->threads, p->team_bytes,
                 DVT_ARGUMENTS(g->a, g->lda, g->x, g->tmp, y, p->pitch, g->m, g->n, p->threads, aligned)));
  return dvt_launch(&sums[g->type == DAVIT_DOUBLE], site->stream, dvt_divide_up(g->m, 32), SUM_THREADS, 0,
                    DVT_ARGUMENTS(y, g->y, g->m, p->pitch, p->teams, g->add));
}

/* tmp = op(A) x and y = opᵀ(A) tmp, or y += …, in the form that fits the site. */
static davit_status two_products(const dvt_site *site, const dvt_atax *g) {
  const dvt_form multiply = site->stream ? dvt_gemv_stream : dvt_gemv_region;
  void *tmp = g->tmp;
  if (!tmp)
    DVT_TRY(site->workspace(site, (size_t)dvt_atax_inner(g) * davit_type_bytes(g->type), &tmp));
  const dvt_gemv first = {g->type, g->trans, g->m, g->n, 1, g->a, g->lda, g->x, 1, 0, tmp, 1};
  dvt_gemv second = first;
  second.trans = g->trans == 'N' ? 'T' : 'N';
  second.x = tmp;
  second.beta = g->add;
  second.y = g->y;
  DVT_TRY(multiply(site, &first));
  return multiply(site, &second);
}

davit_status dvt_atax_device(const dvt_site *site, const void *atax) {
  plan p;
  return site->stream && make_plan(site, atax, &p) ? one_pass(site, atax, &p) : two_products(site, atax);
}

/* ---- CPU ---- */

davit_status dvt_atax_host(const dvt_site *site, const void *atax) {
  const dvt_atax *g = atax;
  const size_t element = davit_type_bytes(g->type),
               tmp_bytes = g->tmp ? 0 : dvt_aligned_up((size_t)dvt_atax_inner(g) * element),
               y_bytes = dvt_aligned_up((size_t)dvt_atax_outer(g) * element);
  /* Shares of the work that have a y of their own: of rows that make whole runs, or of columns. */
  const int64_t unit = g->trans == 'N' ? UNIT_BYTES / (int64_t)element : ABREAST;
  const int shares = (int)dvt_at_most(dvt_divide_up(dvt_atax_inner(g), unit), site->threads);
  void *scratch;
  DVT_TRY(site->workspace(site, tmp_bytes + (size_t)shares * y_bytes, &scratch));
  (g->type == DAVIT_DOUBLE ? double_atax_host
                           : float_atax_host)(g, site->threads, unit, shares, g->tmp ? g->tmp : scratch,
                                              (char *)scratch + tmp_bytes, y_bytes / element);
  return DAVIT_SUCCESS;
}
