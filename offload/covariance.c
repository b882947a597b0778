/* The steps of a covariance on a device. The data, centred, are read and written once more than they must be: the
 * product takes them from memory.
 *
 * Means: of variables that are columns ('N') a team adds up a column and centres it at once, while it is in the caches.
 * Of variables that are rows ('T') teams add up shares of the observations for 32 variables each; the shares' sums meet
 * in scratch memory, in a fixed order, and are taken from the data by a third kernel.
 *
 * Product: 1 / divisor is cuBLAS's or BLIS's alpha, rounded once. syrk makes the square on the diagonal, gemm what is
 * below. Davit's own regions (no cuBLAS) multiply blocks of BLOCK columns from the diagonal down, rows cols
 * (cols + BLOCK) flops. Only the lower triangle counts; the upper one is its mirror image, and so exactly symmetric.
 *
 * The file includes itself once for each type: the part after #else is the kernels of type REAL. */
#ifndef REAL

#include <omp.h>
#include <string.h>

#include "offload/blas.h"
#include "offload/covariance.h"
#include "offload/kernel/gpu.h"
#include "offload/runtime/launch.h"
#include "src/base/arithmetic.h"

enum {
  TILE = 32,
  TEAM = 256, /* threads: 32 lanes by GROUPS */
  GROUPS = TEAM / 32,
  MOST_TEAMS = 1 << 20,
  WANTED_TEAMS = 2048, /* when work can be shared as finely as one likes */
  MOST_SHARES = 64,
  BLOCK = 512 /* columns */
};

/* Shares of the observations, where variables are rows. */
static int64_t share_count(const dvt_covariance *g) {
  int64_t wanted = WANTED_TEAMS / dvt_at_least(dvt_divide_up(g->cols, 32), 1);
  return dvt_at_least(dvt_at_most(dvt_at_most(wanted, MOST_SHARES), dvt_divide_up(g->rows, 4 * GROUPS)), 1);
}

size_t dvt_centre_scratch(const dvt_covariance *g) {
  return g->trans == 'N' ? 0 : (size_t)share_count(g) * (size_t)g->cols * sizeof(double);
}

#ifdef DVT_GPU
#define BODY(operation) NAME(operation)
#else
/* Stands for the kernels' bodies where no GPU code is made, so that the regions have the same arguments. */
static inline void no_body(const void *first, ...) {
  (void)first;
}
#define BODY(operation) no_body
#endif

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
/* Enqueues the region of function `name` with `count` arguments that stand in `arguments`. */
#define LAUNCH(name, teams, arguments)                                                                       \
  do {                                                                                                       \
    static dvt_kernel kernel = {.function = TEXT(NAME(name))};                                               \
    davit_status launched = dvt_launch(&kernel, site->stream, teams, TEAM, 0, arguments,                     \
                                       (int)(sizeof(arguments) / sizeof *(arguments)));                      \
    if (launched != DAVIT_SUCCESS)                                                                           \
      return launched;                                                                                       \
  } while (0)

#define REAL double
#define NAME(operation) d##operation
#include "offload/covariance.c"
#undef REAL
#undef NAME
#define REAL float
#define NAME(operation) s##operation
#include "offload/covariance.c"

davit_status dvt_centre(const dvt_site *site, const dvt_covariance *g, void *scratch) {
  return g->type == DAVIT_DOUBLE ? dcentre(site, g, scratch) : scentre(site, g, scratch);
}

davit_status dvt_product(const dvt_site *site, const dvt_covariance *g, int64_t begin, int64_t end, void *s,
                         int64_t lds) {
  return g->type == DAVIT_DOUBLE ? dproduct(site, g, begin, end, s, lds)
                                 : sproduct(site, g, begin, end, s, lds);
}

davit_status dvt_transpose(const dvt_site *site, davit_type type, int64_t rows, int64_t cols,
                           const void *from, int64_t ld_from, void *to, int64_t ld_to, bool mirror) {
  return type == DAVIT_DOUBLE ? dtranspose(site, rows, cols, from, ld_from, to, ld_to, mirror)
                              : stranspose(site, rows, cols, from, ld_from, to, ld_to, mirror);
}

davit_status dvt_pack(const dvt_site *site, davit_type type, int64_t side, int64_t width, const void *from,
                      int64_t ld, void *packed) {
  return type == DAVIT_DOUBLE ? dpack(site, side, width, from, ld, packed)
                              : spack(site, side, width, from, ld, packed);
}

#else /* one type */

/* ---- kernels ---- */

#ifdef DVT_GPU
DVT_DEFINE_SHUFFLE(REAL, NAME(shuffle))

/* The team's columns, one after another: mean, then centred. */
static inline void NAME(centre_columns)(const REAL *d, int64_t ldd, REAL *centred, int64_t ldc, REAL *mean,
                                        int64_t rows, int64_t cols, double divisor) {
  DVT_SHARED REAL warps[GROUPS];
  for (int64_t j = dvt_team(); j < cols; j += dvt_teams()) {
    const REAL *from = d + j * ldd;
    REAL *to = centred + j * ldc, sum = 0;
#pragma unroll 4
    for (int64_t i = dvt_thread(); i < rows; i += TEAM)
      sum += from[i];
#pragma unroll
    for (int half = 16; half > 0; half /= 2)
      sum += NAME(shuffle)(sum, dvt_lane_number() ^ half);
    if (dvt_lane_number() == 0)
      warps[dvt_thread() / 32] = sum;
    dvt_barrier();
    sum = 0;
#pragma unroll
    for (int k = 0; k < GROUPS; k++)
      sum += warps[k];
    REAL middle = sum / (REAL)divisor;
    if (dvt_thread() == 0)
      mean[j] = middle;
#pragma unroll 4
    for (int64_t i = dvt_thread(); i < rows; i += TEAM)
      to[i] = from[i] - middle;
    dvt_barrier();
  }
}

/* A team adds up a share of the observations of 32 variables. */
static inline void NAME(add_rows)(const REAL *d, int64_t ldd, REAL *sums, int64_t variables,
                                  int64_t observations, int64_t shares) {
  DVT_SHARED REAL groups[GROUPS][33];
  int lane = dvt_lane_number(), group = dvt_thread() / 32;
  int64_t blocks = (variables + 31) / 32, each = (observations + shares - 1) / shares;
  int64_t share = dvt_team() / blocks, begin = share * each, end = dvt_at_most(begin + each, observations);
  int64_t j = dvt_team() % blocks * 32 + lane;
  REAL sum = 0;
  if (j < variables) {
#pragma unroll 4
    for (int64_t i = begin + group; i < end; i += GROUPS)
      sum += d[j + i * ldd];
  }
  groups[group][lane] = sum;
  dvt_barrier();
  if (group == 0 && j < variables) {
#pragma unroll
    for (int k = 1; k < GROUPS; k++)
      sum += groups[k][lane];
    sums[share * variables + j] = sum;
  }
}

static inline void NAME(mean_of_shares)(const REAL *sums, REAL *mean, int64_t variables, int64_t shares,
                                        double divisor) {
  int64_t j = (int64_t)dvt_team() * TEAM + dvt_thread();
  if (j >= variables)
    return;
  REAL sum = 0;
#pragma unroll 4
  for (int64_t share = 0; share < shares; share++)
    sum += sums[share * variables + j];
  mean[j] = sum / (REAL)divisor;
}

/* As dealt in add_rows. */
static inline void NAME(centre_rows)(const REAL *d, int64_t ldd, REAL *centred, int64_t ldc, const REAL *mean,
                                     int64_t variables, int64_t observations, int64_t shares) {
  int64_t blocks = (variables + 31) / 32, each = (observations + shares - 1) / shares;
  int64_t begin = dvt_team() / blocks * each, end = dvt_at_most(begin + each, observations);
  int64_t j = dvt_team() % blocks * 32 + dvt_lane_number();
  if (j >= variables)
    return;
  REAL middle = mean[j];
#pragma unroll 4
  for (int64_t i = begin + dvt_thread() / 32; i < end; i += GROUPS)
    centred[j + i * ldc] = d[j + i * ldd] - middle;
}

/* Tiles through team memory, so that neighbours read and write neighbours. */
static inline void NAME(transpose_tiles)(const REAL *from, int64_t ld_from, REAL *to, int64_t ld_to,
                                         int64_t rows, int64_t cols, int64_t mirror) {
  DVT_SHARED REAL tile[TILE][TILE + 1];
  int lane = dvt_lane_number(), group = dvt_thread() / 32;
  int64_t high = (rows + TILE - 1) / TILE, tiles = high * ((cols + TILE - 1) / TILE);
  for (int64_t t = dvt_team(); t < tiles; t += dvt_teams()) {
    int64_t i0 = t % high * TILE, j0 = t / high * TILE;
    if (mirror && i0 < j0)
      continue;
#pragma unroll
    for (int k = 0; k < TILE; k += GROUPS)
      if (i0 + lane < rows && j0 + group + k < cols)
        tile[group + k][lane] = from[i0 + lane + (j0 + group + k) * ld_from];
    dvt_barrier();
#pragma unroll
    for (int k = 0; k < TILE; k += GROUPS) {
      int64_t i = i0 + group + k, j = j0 + lane;
      if (i < rows && j < cols && (!mirror || i > j))
        to[j + i * ld_to] = tile[lane][group + k];
    }
    dvt_barrier();
  }
}

/* Column j starts where those before it, of side - 1, side - 2, … elements, end. */
static inline void NAME(pack_columns)(const REAL *from, int64_t ld, REAL *packed, int64_t side,
                                      int64_t width) {
  for (int64_t j = dvt_team(); j < width; j += dvt_teams()) {
    REAL *to = packed + davit_covariance_packed_index(side, j, j + 1) - (j + 1);
#pragma unroll 4
    for (int64_t i = j + 1 + dvt_thread(); i < side; i += TEAM)
      to[i] = from[i + j * ld];
  }
}
#endif

static void NAME(centre_columns_region)(int device, int teams, const REAL *d, int64_t ldd, REAL *centred,
                                        int64_t ldc, REAL *mean, int64_t rows, int64_t cols, double divisor) {
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(TEAM) device(device)                        \
    is_device_ptr(d, centred, mean)
  {
    BODY(centre_columns)(d, ldd, centred, ldc, mean, rows, cols, divisor);
  }
}

static void NAME(add_rows_region)(int device, int teams, const REAL *d, int64_t ldd, REAL *sums,
                                  int64_t variables, int64_t observations, int64_t shares) {
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(TEAM) device(device) is_device_ptr(d, sums)
  {
    BODY(add_rows)(d, ldd, sums, variables, observations, shares);
  }
}

static void NAME(mean_of_shares_region)(int device, int teams, const REAL *sums, REAL *mean,
                                        int64_t variables, int64_t shares, double divisor) {
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(TEAM) device(device)                        \
    is_device_ptr(sums, mean)
  {
    BODY(mean_of_shares)(sums, mean, variables, shares, divisor);
  }
}

static void NAME(centre_rows_region)(int device, int teams, const REAL *d, int64_t ldd, REAL *centred,
                                     int64_t ldc, const REAL *mean, int64_t variables, int64_t observations,
                                     int64_t shares) {
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(TEAM) device(device)                        \
    is_device_ptr(d, centred, mean)
  {
    BODY(centre_rows)(d, ldd, centred, ldc, mean, variables, observations, shares);
  }
}

static void NAME(transpose_region)(int device, int teams, const REAL *from, int64_t ld_from, REAL *to,
                                   int64_t ld_to, int64_t rows, int64_t cols, int64_t mirror) {
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(TEAM) device(device) is_device_ptr(from, to)
  {
    BODY(transpose_tiles)(from, ld_from, to, ld_to, rows, cols, mirror);
  }
}

static void NAME(pack_region)(int device, int teams, const REAL *from, int64_t ld, REAL *packed, int64_t side,
                              int64_t width) {
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(TEAM) device(device)                        \
    is_device_ptr(from, packed)
  {
    BODY(pack_columns)(from, ld, packed, side, width);
  }
}

/* ---- CPU ---- */

static void NAME(centre_column)(const REAL *from, REAL *to, REAL *mean, int64_t rows, REAL divisor) {
  enum { SUMS = 32 };
  REAL sums[SUMS] = {0}, sum = 0;
  int64_t i = 0;
  for (; i + SUMS <= rows; i += SUMS)
    for (int k = 0; k < SUMS; k++)
      sums[k] += from[i + k];
  for (int k = 0; k < SUMS; k++)
    sum += sums[k];
  for (; i < rows; i++)
    sum += from[i];
  REAL middle = sum / divisor;
  *mean = middle;
  for (i = 0; i < rows; i++)
    to[i] = from[i] - middle;
}

/* Variables [begin, end), which are rows. */
static void NAME(centre_some_rows)(const dvt_covariance *g, int64_t begin, int64_t end) {
  enum { WIDTH = 64 };
  const REAL *d = g->d;
  REAL *centred = g->centred, *mean = g->mean;
  for (int64_t first = begin; first < end; first += WIDTH) {
    const int64_t width = dvt_at_most(WIDTH, end - first);
    double sums[WIDTH] = {0}; /* a sum from the left would lose the digits of a long column of floats */
    for (int64_t i = 0; i < g->rows; i++)
      for (int64_t j = 0; j < width; j++)
        sums[j] += (double)d[first + j + i * g->ldd];
    for (int64_t j = 0; j < width; j++)
      mean[first + j] = (REAL)(sums[j] / g->mean_divisor);
  }
  for (int64_t i = 0; i < g->rows; i++)
    for (int64_t j = begin; j < end; j++)
      centred[j + i * g->ldc] = d[j + i * g->ldd] - mean[j];
}

static void NAME(centre_cpu)(const dvt_covariance *g, int threads) {
  const REAL *d = g->d;
  REAL *centred = g->centred, *mean = g->mean;
  if (g->trans == 'N') {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t j = 0; j < g->cols; j++)
      NAME(centre_column)(d + j * g->ldd, centred + j * g->ldc, mean + j, g->rows, (REAL)g->mean_divisor);
  } else {
    int64_t each = dvt_divide_up(dvt_divide_up(g->cols, threads), 64 / (int64_t)sizeof(REAL)) * 64 /
                   (int64_t)sizeof(REAL);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int64_t begin = 0; begin < g->cols; begin += each)
      NAME(centre_some_rows)(g, begin, dvt_at_most(begin + each, g->cols));
  }
}

static void NAME(transpose_cpu)(int threads, int64_t rows, int64_t cols, const REAL *from, int64_t ld_from,
                                REAL *to, int64_t ld_to, bool mirror) {
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t j0 = 0; j0 < cols; j0 += TILE)
    for (int64_t i0 = mirror ? j0 : 0; i0 < rows; i0 += TILE)
      for (int64_t i = i0; i < dvt_at_most(i0 + TILE, rows); i++)
        for (int64_t j = j0; j < dvt_at_most(j0 + TILE, mirror ? dvt_at_most(cols, i) : cols); j++)
          to[j + i * ld_to] = from[i + j * ld_from];
}

static void NAME(pack_cpu)(int threads, int64_t side, int64_t width, const REAL *from, int64_t ld,
                           REAL *packed) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
  for (int64_t j = 0; j < width; j++)
    if (j + 1 < side)
      memcpy(packed + davit_covariance_packed_index(side, j, j + 1), from + j + 1 + j * ld,
             (size_t)(side - j - 1) * sizeof(REAL));
}

/* ---- steps ---- */

static davit_status NAME(centre_on_gpu)(const dvt_site *site, const dvt_covariance *g, REAL *sums) {
  if (g->trans == 'N') {
    int teams = (int)dvt_at_most(g->cols, MOST_TEAMS);
    dvt_argument arguments[] = {dvt_pointer_argument(g->d),       dvt_integer_argument(g->ldd),
                                dvt_pointer_argument(g->centred), dvt_integer_argument(g->ldc),
                                dvt_pointer_argument(g->mean),    dvt_integer_argument(g->rows),
                                dvt_integer_argument(g->cols),    dvt_double_argument(g->mean_divisor)};
    if (site->stream)
      LAUNCH(centre_columns_region, teams, arguments);
    else
      NAME(centre_columns_region)
    (site->device, teams, g->d, g->ldd, g->centred, g->ldc, g->mean, g->rows, g->cols, g->mean_divisor);
    return DAVIT_SUCCESS;
  }
  int64_t shares = share_count(g), teams = shares * dvt_divide_up(g->cols, 32),
          mean_teams = dvt_divide_up(g->cols, TEAM);
  if (!site->stream) {
    NAME(add_rows_region)(site->device, (int)teams, g->d, g->ldd, sums, g->cols, g->rows, shares);
    NAME(mean_of_shares_region)(site->device, (int)mean_teams, sums, g->mean, g->cols, shares,
                                g->mean_divisor);
    NAME(centre_rows_region)
    (site->device, (int)teams, g->d, g->ldd, g->centred, g->ldc, g->mean, g->cols, g->rows, shares);
    return DAVIT_SUCCESS;
  }
  dvt_argument add[] = {dvt_pointer_argument(g->d),    dvt_integer_argument(g->ldd),
                        dvt_pointer_argument(sums),    dvt_integer_argument(g->cols),
                        dvt_integer_argument(g->rows), dvt_integer_argument(shares)};
  LAUNCH(add_rows_region, teams, add);
  dvt_argument mean[] = {dvt_pointer_argument(sums), dvt_pointer_argument(g->mean),
                         dvt_integer_argument(g->cols), dvt_integer_argument(shares),
                         dvt_double_argument(g->mean_divisor)};
  LAUNCH(mean_of_shares_region, mean_teams, mean);
  dvt_argument centre[] = {dvt_pointer_argument(g->d),       dvt_integer_argument(g->ldd),
                           dvt_pointer_argument(g->centred), dvt_integer_argument(g->ldc),
                           dvt_pointer_argument(g->mean),    dvt_integer_argument(g->cols),
                           dvt_integer_argument(g->rows),    dvt_integer_argument(shares)};
  LAUNCH(centre_rows_region, teams, centre);
  return DAVIT_SUCCESS;
}

static davit_status NAME(centre)(const dvt_site *site, const dvt_covariance *g, void *scratch) {
  if (site->threads == 0)
    return NAME(centre_on_gpu)(site, g, scratch);
  NAME(centre_cpu)(g, site->threads);
  return DAVIT_SUCCESS;
}

/* C = alpha op(X) op'(Y), op of the data: m and n variables. */
static davit_status NAME(multiply)(const dvt_site *site, const dvt_covariance *g, int64_t m, int64_t n,
                                   REAL alpha, const REAL *x, const REAL *y, REAL *c, int64_t ldc) {
  const dvt_gemm product = {.type = g->type,
                            .transa = g->trans == 'N' ? 'T' : 'N',
                            .transb = g->trans,
                            .m = m,
                            .n = n,
                            .k = g->rows,
                            .alpha = (double)alpha,
                            .a = x,
                            .lda = g->ldc,
                            .b = y,
                            .ldb = g->ldc,
                            .c = c,
                            .ldc = ldc};
  const dvt_form form = site->stream ? dvt_gemm_stream : site->threads > 0 ? dvt_gemm_host : dvt_gemm_region;
  return form(site, &product);
}

/* Without syrk: blocks of columns, each from its first row on the diagonal down. */
static davit_status NAME(blocks)(const dvt_site *site, const dvt_covariance *g, int64_t width, int64_t height,
                                 REAL alpha, const REAL *centred, int64_t step, REAL *s, int64_t lds) {
  davit_status status = DAVIT_SUCCESS;
  for (int64_t j = 0; j < width && status == DAVIT_SUCCESS; j += BLOCK)
    status = NAME(multiply)(site, g, height - j, dvt_at_most(BLOCK, width - j), alpha, centred + j * step,
                            centred + j * step, s + j + j * lds, lds);
  return status;
}

static davit_status NAME(product)(const dvt_site *site, const dvt_covariance *g, int64_t begin, int64_t end,
                                  REAL *s, int64_t lds) {
  int64_t width = end - begin, below = g->cols - end, step = g->trans == 'N' ? g->ldc : 1;
  REAL alpha = (REAL)(1 / g->divisor);
  if (g->rows == 0) /* sums over nothing: zeros, and nothing to read */
    return NAME(blocks)(site, g, width, g->cols - begin, alpha, s, 0, s, lds);
  const REAL *centred = (const REAL *)g->centred + begin * step;
  if (!site->stream && site->threads == 0)
    return NAME(blocks)(site, g, width, g->cols - begin, alpha, centred, step, s, lds);
  const dvt_syrk triangle = {.type = g->type,
                             .trans = g->trans == 'N' ? 'T' : 'N',
                             .n = width,
                             .k = g->rows,
                             .alpha = (double)alpha,
                             .a = centred,
                             .lda = g->ldc,
                             .c = s,
                             .ldc = lds};
  DVT_TRY((site->stream ? dvt_syrk_stream : dvt_syrk_host)(site, &triangle));
  return below > 0
             ? NAME(multiply)(site, g, below, width, alpha, centred + width * step, centred, s + width, lds)
             : DAVIT_SUCCESS;
}

static davit_status NAME(transpose)(const dvt_site *site, int64_t rows, int64_t cols, const REAL *from,
                                    int64_t ld_from, REAL *to, int64_t ld_to, bool mirror) {
  int teams = (int)dvt_at_most(dvt_divide_up(rows, TILE) * dvt_divide_up(cols, TILE), MOST_TEAMS);
  dvt_argument arguments[] = {dvt_pointer_argument(from),  dvt_integer_argument(ld_from),
                              dvt_pointer_argument(to),    dvt_integer_argument(ld_to),
                              dvt_integer_argument(rows),  dvt_integer_argument(cols),
                              dvt_integer_argument(mirror)};
  if (site->stream)
    LAUNCH(transpose_region, teams, arguments);
  else if (site->threads > 0)
    NAME(transpose_cpu)(site->threads, rows, cols, from, ld_from, to, ld_to, mirror);
  else
    NAME(transpose_region)(site->device, teams, from, ld_from, to, ld_to, rows, cols, mirror);
  return DAVIT_SUCCESS;
}

static davit_status NAME(pack)(const dvt_site *site, int64_t side, int64_t width, const REAL *from,
                               int64_t ld, REAL *packed) {
  int teams = (int)dvt_at_most(width, MOST_TEAMS);
  dvt_argument arguments[] = {dvt_pointer_argument(from), dvt_integer_argument(ld),
                              dvt_pointer_argument(packed), dvt_integer_argument(side),
                              dvt_integer_argument(width)};
  if (site->stream)
    LAUNCH(pack_region, teams, arguments);
  else if (site->threads > 0)
    NAME(pack_cpu)(site->threads, side, width, from, ld, packed);
  else
    NAME(pack_region)(site->device, teams, from, ld, packed, side, width);
  return DAVIT_SUCCESS;
}

#endif
