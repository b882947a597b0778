/* Matrix-vector product on a device: y = alpha op(A) x + beta y, 2 m n flops; reads A once.
 *
 * dvt_cublas_*: cuBLAS, which keeps the rules of the reference BLAS for beta = 0; for alpha = 0 y is scaled
 * without it, so that A and x stay unread. y is left alone when m or n is 0, as in the reference BLAS.
 *
 * dvt_target_*: a team of WIDE × GROUPS lanes. For 'N' it makes WIDE elements of y: each group of lanes takes
 * every GROUPS-th column, a lane a row, so that neighbours read neighbouring elements of A. For 'T' it makes
 * GROUPS elements of y: WIDE lanes walk down each column. Either way the lanes leave their sums in team
 * memory, where one thread for each element adds them in ascending order. Lanes are dealt to the threads there
 * are, so the bits depend neither on the number of threads nor of teams. A wide 'N' with few rows (fewer than
 * WIDE times the teams that the device runs at once) leaves part of the device idle.
 *
 * The file includes itself once for each type: the part after #else is the kernels of type REAL. */
#ifndef REAL

#include <omp.h>
#include <stdbool.h>

#include "offload/blas.h"
#include "offload/runtime/cublas.h"

#ifdef DAVIT_WITH_CUDA
#include <cublas_v2.h>

#define DEFINE(p, P, T)                                                                                      \
  /* y as a matrix: of one column if dense, else of one row, its columns |incy| apart. */                    \
  static davit_status p##scale(void *handle, int64_t length, T factor, T *y, int64_t incy) {                 \
    return incy == 1 || incy == -1                                                                           \
               ? dvt_cublas_##p##scale(handle, length, 1, factor, y, length)                                 \
               : dvt_cublas_##p##scale(handle, 1, length, factor, y, incy < 0 ? -incy : incy);               \
  }                                                                                                          \
  davit_status dvt_cublas_##p##gemv(dvt_stream *stream, char trans, int64_t m, int64_t n, T alpha,           \
                                    const T *a, int64_t lda, const T *x, int64_t incx, T beta, T *y,         \
                                    int64_t incy) {                                                          \
    if (m == 0 || n == 0 || (alpha == 0 && beta == 1))                                                       \
      return DAVIT_SUCCESS;                                                                                  \
    void *handle;                                                                                            \
    davit_status status = dvt_stream_cublas(stream, &handle);                                                \
    if (status != DAVIT_SUCCESS)                                                                             \
      return status;                                                                                         \
    if (alpha == 0)                                                                                          \
      return p##scale(handle, trans == 'N' ? m : n, beta, y, incy);                                          \
    cublasOperation_t op = trans == 'N' ? CUBLAS_OP_N : CUBLAS_OP_T;                                         \
    return dvt_cublas_status(                                                                                \
        (int)DVT_CUBLAS(P##gemv_v2_64)(handle, op, m, n, &alpha, a, lda, x, incx, &beta, y, incy),           \
        #p "gemv");                                                                                          \
  }
#else
#define DEFINE(p, P, T)                                                                                      \
  davit_status dvt_cublas_##p##gemv(dvt_stream *stream, char trans, int64_t m, int64_t n, T alpha,           \
                                    const T *a, int64_t lda, const T *x, int64_t incx, T beta, T *y,         \
                                    int64_t incy) {                                                          \
    (void)stream, (void)trans, (void)m, (void)n, (void)alpha, (void)a, (void)lda, (void)x, (void)incx;       \
    (void)beta, (void)y, (void)incy;                                                                         \
    return davit_fail(DAVIT_UNSUPPORTED, #p "gemv: this build has no CUDA");                                 \
  }
#endif

DEFINE(d, D, double)
DEFINE(s, S, float)

enum { WIDE = 32, GROUPS = 8, LANES = WIDE * GROUPS, MOST_TEAMS = 65536 };

static inline int team_count(int64_t length, int each) {
  int64_t teams = (length + each - 1) / each;
  return teams < MOST_TEAMS ? (int)teams : MOST_TEAMS;
}

/* On a GPU the team's arrays are placed in its fast memory; a CPU's runtime warns about the request, and a
 * variable of the teams region is shared by the team's threads there anyway. */
#if defined(__NVPTX__) || defined(__AMDGCN__)
#define GPU
#endif

#define REAL double
#define NAME(operation) d##operation
#define PUBLIC(operation) dvt_target_d##operation
#include "offload/gemv.c"
#undef REAL
#undef NAME
#undef PUBLIC
#define REAL float
#define NAME(operation) s##operation
#define PUBLIC(operation) dvt_target_s##operation
#include "offload/gemv.c"

#else /* the kernels of one type */

static void NAME(gemv_n)(int device, int64_t m, int64_t n, REAL alpha, const REAL *a, int64_t lda,
                         const REAL *x, int64_t incx, REAL beta, REAL *y, int64_t incy) {
  int teams = team_count(m, WIDE);
#pragma omp target teams num_teams(teams) thread_limit(LANES) device(device) is_device_ptr(a, x, y)
  {
    REAL sums[LANES];
#ifdef GPU
#pragma omp allocate(sums) allocator(omp_pteam_mem_alloc)
#endif
#pragma omp parallel num_threads(LANES)
    for (int64_t i0 = (int64_t)omp_get_team_num() * WIDE; i0 < m; i0 += (int64_t)omp_get_num_teams() * WIDE) {
      int rows = m - i0 < WIDE ? (int)(m - i0) : WIDE;
      for (int lane = omp_get_thread_num(); lane < LANES; lane += omp_get_num_threads()) {
        REAL sum = 0;
        if (lane % WIDE < rows) {
          const REAL *row = a + i0 + lane % WIDE;
#pragma unroll 8
          for (int64_t j = lane / WIDE; j < n; j += GROUPS)
            sum += row[j * lda] * x[j * incx];
        }
        sums[lane] = sum;
      }
#pragma omp barrier
      for (int i = omp_get_thread_num(); i < rows; i += omp_get_num_threads()) {
        REAL sum = 0;
        for (int group = 0; group < GROUPS; group++)
          sum += sums[group * WIDE + i];
        REAL *out = &y[(i0 + i) * incy];
        *out = beta == 0 ? alpha * sum : alpha * sum + beta * *out;
      }
#pragma omp barrier
    }
  }
}

static void NAME(gemv_t)(int device, int64_t m, int64_t n, REAL alpha, const REAL *a, int64_t lda,
                         const REAL *x, int64_t incx, REAL beta, REAL *y, int64_t incy) {
  int teams = team_count(n, GROUPS);
#pragma omp target teams num_teams(teams) thread_limit(LANES) device(device) is_device_ptr(a, x, y)
  {
    REAL sums[LANES];
#ifdef GPU
#pragma omp allocate(sums) allocator(omp_pteam_mem_alloc)
#endif
#pragma omp parallel num_threads(LANES)
    for (int64_t j0 = (int64_t)omp_get_team_num() * GROUPS; j0 < n;
         j0 += (int64_t)omp_get_num_teams() * GROUPS) {
      int cols = n - j0 < GROUPS ? (int)(n - j0) : GROUPS;
      for (int lane = omp_get_thread_num(); lane < LANES; lane += omp_get_num_threads()) {
        REAL sum = 0;
        if (lane / WIDE < cols) {
          const REAL *col = a + (j0 + lane / WIDE) * lda;
#pragma unroll 8
          for (int64_t i = lane % WIDE; i < m; i += WIDE)
            sum += col[i] * x[i * incx];
        }
        sums[lane] = sum;
      }
#pragma omp barrier
      for (int j = omp_get_thread_num(); j < cols; j += omp_get_num_threads()) {
        REAL sum = 0;
        for (int lane = 0; lane < WIDE; lane++)
          sum += sums[j * WIDE + lane];
        REAL *out = &y[(j0 + j) * incy];
        *out = beta == 0 ? alpha * sum : alpha * sum + beta * *out;
      }
#pragma omp barrier
    }
  }
}

davit_status PUBLIC(gemv)(int device, char trans, int64_t m, int64_t n, REAL alpha, const REAL *a,
                          int64_t lda, const REAL *x, int64_t incx, REAL beta, REAL *y, int64_t incy) {
  if (m == 0 || n == 0 || (alpha == 0 && beta == 1))
    return DAVIT_SUCCESS;
  int64_t columns = trans == 'N' ? n : m, rows = trans == 'N' ? m : n;
  if (incx < 0)
    x -= (columns - 1) * incx;
  if (incy < 0)
    y -= (rows - 1) * incy;
  /* For alpha = 0 the sums run over nothing, so A and x stay unread. */
  if (trans == 'N')
    NAME(gemv_n)(device, m, alpha == 0 ? 0 : n, alpha, a, lda, x, incx, beta, y, incy);
  else
    NAME(gemv_t)(device, alpha == 0 ? 0 : m, n, alpha, a, lda, x, incx, beta, y, incy);
  return DAVIT_SUCCESS;
}

#endif
