/* SPDX-License-Identifier: Apache-2.0 */
/* y = opᵀ(A) (op(A) x) on a device: 4 m n flops over m n elements of A.
 *
 * GPU, 'T' (tmp_j = a_j · x, y = sum of tmp_j a_j): one pass over A where a column fits on a multiprocessor,
 * m <= 12288 doubles or 24576 floats: the kernel of atax_pass.inc. 'N': one pass where a row fits on the
 * multiprocessors of a cluster, n <= 24576, on devices that have clusters, if the columns begin at multiples
 * of 16 bytes: the kernel of atax_panel.inc. Both leave several sums of y, which a second kernel adds in a
 * fixed order (atax.inc); it is launched while the first one ends. Everything else: two products, which read
 * A twice. Other devices: two products by davit's own regions.
 *
 * CPU: 'T': ABREAST columns are multiplied by x and, while they are in the L2 cache, added to y: one pass
 * over A. 'N': the same for panels of rows, which fit the L2 cache where A is so narrow that they have runs of
 * SHORT_RUN bytes down its columns, and so long that each thread has some. Other matrices are shared by columns,
 * and read once for tmp and once for y, the second time from the last column on, which a cache may still have.
 * Each share of the work has its own sums, of y or of tmp; these are added in the order of the shares. So the bits
 * depend on site->threads, not on how many of them there are in the end. */
#include "offload/atax.h"

#include <string.h>

#include "offload/blas.h"
#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/kernel/threads.h"
#include "offload/runtime/launch.h"
#include "offload/runtime/space.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"

enum {
  /* 'T' */
  HELD = 12, /* pieces of 16 bytes that a thread has in registers, and as many in flight */
  COLUMN_THREADS = 512,
  /* 'N' */
  CELL_BYTES = 128, /* of a column that a thread has at a time */
  CELLS = 3,        /* of a thread, */
  KEPT_OF_8 = 1,    /* of which registers hold so many */
  KEPT_OF_4 = 2,
  PANEL_THREADS = 512,
  WARP_COLUMNS = 32 * CELLS,
  MAX_CLUSTER = 16,
  /* both */
  SUM_THREADS = 1024, /* of a team of the second kernel: 32 elements of y by 32 shares of the teams */
  SUM_SHARES = SUM_THREADS / 32,
  /* CPU */
  ABREAST = 4,
  LINE = 64,
  CACHE_BYTES = 1 << 20,
  SHORT_RUN = 4 << 10,    /* bytes of a column that are read at a time: shorter ones are slow, */
  LONG_RUN = 64 << 10,    /* longer ones no faster */
  STREAM_BYTES = 1 << 10, /* of short columns side by side: more are several streams to the prefetcher */
  AHEAD_BYTES = 2 << 10,  /* of what is prefetched of a column that is read alone */
  BLOCK_BYTES = 128 << 10 /* of columns that are read in ascending order */
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

#define EACH "offload/atax_panel.inc"
#include "offload/each_floating.inc"

/* Shares of the work on the CPU, each with sums of its own, `pitch` elements apart. */
typedef struct dvt_atax_shares {
  const dvt_atax *g;
  bool whole;     /* the shares' sums are of y; else they are of tmp, which has to be whole before y begins */
  int64_t all;    /* columns, or rows, of which */
  int64_t each;   /* go to each of */
  int count;      /* shares */
  int64_t length; /* of a share's sums */
  void *tmp, *sums;
  size_t pitch;
} dvt_atax_shares;

typedef struct dvt_interval {
  int64_t begin, count;
} dvt_interval;

static dvt_interval share_of(const dvt_atax_shares *s, int k) {
  const int64_t begin = dvt_at_most(k * s->each, s->all);
  return (dvt_interval){begin, dvt_at_most(s->each, s->all - begin)};
}

#define EACH "offload/atax.inc"
#include "offload/each_floating.inc"

/* ---- GPU ---- */

static dvt_kernel passes[2][SHAPES] = {
    {DVT_KERNEL(float_atax_pass_1), DVT_KERNEL(float_atax_pass_4), DVT_KERNEL(float_atax_pass_12)},
    {DVT_KERNEL(double_atax_pass_1), DVT_KERNEL(double_atax_pass_4), DVT_KERNEL(double_atax_pass_12)}};
static dvt_kernel panels[2] = {DVT_KERNEL(float_atax_panels), DVT_KERNEL(double_atax_panels)};
static dvt_kernel sums[2] = {DVT_KERNEL(float_atax_sums), DVT_KERNEL(double_atax_sums)};

/* A launch of a one-pass kernel. */
typedef struct plan {
  dvt_kernel *kernel;
  dvt_grid grid;
  int64_t count, pitch; /* of the sums of y that it leaves, and elements of each, unused ones included */
  int across, pieces;   /* 'N': warps side by side, and pieces of rows in a panel */
} plan;

static bool aligned(const dvt_atax *g) {
  return ((uintptr_t)g->a | (uintptr_t)g->lda * davit_type_bytes(g->type)) % 16 == 0;
}

/* The shape that keeps most of A in flight: useful bytes of a team over its threads. -1: no shape fits. */
static int choose(const dvt_atax *g, int *threads) {
  const int64_t piece = 16 / (int64_t)davit_type_bytes(g->type);
  int64_t best = 0;
  int chosen = -1;
  for (int k = 0; k < SHAPES; k++)
    for (int t = 32; t <= COLUMN_THREADS; t *= 2) {
      const int64_t worth = shapes[k].columns * g->m * COLUMN_THREADS / t;
      if (g->m <= t * shapes[k].slots * piece && worth > best) {
        best = worth;
        chosen = k;
        *threads = t;
      }
    }
  return chosen;
}

/* 'T': whether a column fits a team. Its memory is for the group that comes, x if registers do not hold it,
 * and two sets of the warps' sums. */
static bool shape_plan(const dvt_atax *g, plan *p) {
  const size_t element = davit_type_bytes(g->type);
  int threads = 0;
  const int k = choose(g, &threads);
  if (k < 0)
    return false;
  const shape s = shapes[k];
  p->kernel = &passes[g->type == DAVIT_DOUBLE][k];
  p->pitch = threads * s.slots * (16 / (int64_t)element);
  p->grid =
      (dvt_grid){.teams = dvt_divide_up(g->n, s.columns),
                 .threads = threads,
                 .dependent = true,
                 .shared_bytes = (size_t)(HELD + (s.columns == 1 ? s.slots : 0)) * 16 * (size_t)threads +
                                 2 * (size_t)s.columns * (size_t)(threads / 32) * element};
  return true;
}

/* 'T': whether a column fits, and the device has the team memory. */
static bool plan_columns(const dvt_site *site, const dvt_atax *g, plan *p) {
  int residents;
  if (!shape_plan(g, p) || dvt_launch_residents(p->kernel, site->stream, p->grid.threads,
                                                p->grid.shared_bytes, &residents) != DAVIT_SUCCESS)
    return false;
  p->grid.teams = dvt_at_most(p->grid.teams, residents);
  if (g->teams > 0)
    p->grid.teams = dvt_at_most(p->grid.teams, g->teams);
  p->count = p->grid.teams;
  return true;
}

davit_status dvt_atax_fit(dvt_stream *stream, const dvt_atax *g, dvt_kernel_fit *fit) {
  plan p;
  return g->trans == 'T' && shape_plan(g, &p)
             ? dvt_launch_fit_of(p.kernel, stream, p.grid.threads, p.grid.shared_bytes, fit)
             : davit_fail(DAVIT_UNSUPPORTED, "atax: no team holds a column of %lld", (long long)g->m);
}

/* 'N': whether a cluster holds all columns, and the device has clusters of that size. Where warps would be
 * more than half empty, two products are faster. */
static bool plan_panels(const dvt_site *site, const dvt_atax *g, plan *p) {
  enum { WARPS = PANEL_THREADS / 32 };
  const size_t element = davit_type_bytes(g->type);
  const int64_t across = dvt_divide_up(g->n, WARP_COLUMNS);
  const int64_t cluster = dvt_divide_up(across, WARPS);
  int clusters;
  if (cluster > MAX_CLUSTER || 2 * g->n < across * WARP_COLUMNS || !aligned(g))
    return false;
  p->kernel = &panels[g->type == DAVIT_DOUBLE];
  p->across = (int)across;
  p->pieces = cluster == 1 ? WARPS / (int)across : 1;
  p->grid = (dvt_grid){.threads = PANEL_THREADS,
                       .dependent = true,
                       .shared_bytes = WARPS * CELLS * 32 * CELL_BYTES,
                       .cluster = (int)cluster};
  if (dvt_launch_clusters(p->kernel, site->stream, &p->grid, &clusters) != DAVIT_SUCCESS || clusters == 0)
    return false;
  const int64_t rows = p->pieces * (CELL_BYTES / (int64_t)element),
                taken = dvt_at_most(clusters, dvt_divide_up(g->m, rows));
  p->grid.teams = taken * cluster;
  p->count = taken * p->pieces;
  p->pitch = dvt_divide_up(g->n, 32) * 32;
  return true;
}

/* One pass over A, which leaves sums of y, and a kernel that adds them. */
static davit_status one_pass(const dvt_site *site, const dvt_atax *g, const plan *p) {
  const size_t element = davit_type_bytes(g->type);
  const int64_t length = dvt_atax_outer(g);
  const dvt_grid adding = {.teams = dvt_divide_up(length, 32), .threads = SUM_THREADS, .dependent = true};
  void *y;
  DVT_TRY(site->workspace(site, (size_t)p->count * (size_t)p->pitch * element, &y));
  DVT_TRY(g->trans == 'T' ? dvt_launch_grid(p->kernel, site->stream, &p->grid,
                                            DVT_ARGUMENTS(g->a, g->lda, g->x, g->tmp, y, p->pitch, g->m, g->n,
                                                          p->grid.threads, aligned(g)))
                          : dvt_launch_grid(p->kernel, site->stream, &p->grid,
                                            DVT_ARGUMENTS(g->a, g->lda, g->x, g->tmp, y, p->pitch, g->m, g->n,
                                                          p->across, p->pieces)));
  return dvt_launch_grid(&sums[g->type == DAVIT_DOUBLE], site->stream, &adding,
                         DVT_ARGUMENTS(y, g->y, length, p->pitch, p->count, g->add));
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

/* Sums over nothing, of one axis or both. */
static davit_status fill_zero(const dvt_site *site, void *vector, int64_t length, size_t element) {
  const size_t bytes = (size_t)length * element;
  if (!vector || bytes == 0)
    return DAVIT_SUCCESS;
  return site->stream ? dvt_stream_fill(site->stream, vector, 0, bytes)
                      : dvt_space_fill(vector, site->device, 0, bytes);
}

static davit_status fill_all(const dvt_site *site, const dvt_atax *g) {
  DVT_TRY(fill_zero(site, g->y, dvt_atax_outer(g), davit_type_bytes(g->type)));
  return fill_zero(site, g->tmp, dvt_atax_inner(g), davit_type_bytes(g->type));
}

davit_status dvt_atax_device(const dvt_site *site, const void *atax) {
  const dvt_atax *g = atax;
  plan p = {0};
  if (g->m == 0 || g->n == 0)
    return fill_all(site, g);
  const bool planned =
      site->stream && (g->trans == 'T' ? plan_columns(site, g, &p) : plan_panels(site, g, &p));
  return planned ? one_pass(site, g, &p) : two_products(site, g);
}

/* ---- CPU ---- */

/* How the work is shared: by columns, or by rows in panels ('N' of narrow matrices). */
static dvt_atax_shares shares_of(const dvt_atax *g, int threads) {
  const int64_t element = (int64_t)davit_type_bytes(g->type);
  const bool rows =
                 g->trans == 'N' && g->n <= CACHE_BYTES / SHORT_RUN && g->m >= threads * SHORT_RUN / element,
             whole = rows || g->trans == 'T';
  const int64_t unit = rows ? LINE / element : ABREAST, all = rows ? g->m : g->n;
  const int count = (int)dvt_at_most(dvt_divide_up(all, unit), threads);
  return (dvt_atax_shares){.g = g,
                           .whole = whole,
                           .all = all,
                           .each = dvt_divide_up(dvt_divide_up(all, unit), count) * unit,
                           .count = count,
                           .length = whole ? dvt_atax_outer(g) : g->m};
}

davit_status dvt_atax_host(const dvt_site *site, const void *atax) {
  const dvt_atax *g = atax;
  if (g->m == 0 || g->n == 0)
    return fill_all(site, g);
  dvt_atax_shares s = shares_of(g, site->threads);
  const size_t element = davit_type_bytes(g->type),
               tmp_bytes = g->tmp ? 0 : dvt_aligned_up((size_t)dvt_atax_inner(g) * element),
               sums_bytes = dvt_aligned_up((size_t)s.length * element);
  char *scratch;
  DVT_TRY(site->workspace(site, tmp_bytes + (size_t)s.count * sums_bytes, (void **)&scratch));
  s.tmp = g->tmp ? g->tmp : scratch;
  s.sums = scratch + tmp_bytes;
  s.pitch = sums_bytes / element;
  dvt_on_threads(site->threads, g->type == DAVIT_DOUBLE ? double_atax_part : float_atax_part, &s);
  return DAVIT_SUCCESS;
}
