/* Matrix product on a device: C = alpha op(A) op(B) + beta C, 2 m n k flops.
 *
 * dvt_cublas_*: cuBLAS, which keeps the rules of the reference BLAS for beta = 0; where the product vanishes
 * (alpha = 0 or k = 0) C is scaled without it, so that A and B stay unread.
 *
 * dvt_target_*: a team of SIDE_M × SIDE_N threads computes one TILE_M × TILE_N tile of C after another.
 * It brings TILE_K columns of op(A) and rows of op(B) into team memory, where transposition and edges vanish
 * (cells outside the matrices are 0 and never reach C), and each thread adds up MICRO × MICRO elements in
 * registers: rows SIDE_M and columns SIDE_N apart, so that neighbours read neighbouring cells of team memory
 * and write neighbouring rows of C. Each element is summed in ascending k, whatever the number of teams.
 * Reads m n k (1 / TILE_M + 1 / TILE_N) elements of A and B through the caches, and C once if beta ≠ 0.
 * A team of another size (the host's runtime gives what it has) computes one element at a time.
 *
 * The file includes itself once for each type: the part after #else is the kernel of type REAL. */
#ifndef REAL

#include <omp.h>
#include <stdbool.h>

#include "offload/blas.h"
#include "offload/runtime/cublas.h"
#include "src/base/arithmetic.h"

#ifdef DAVIT_WITH_CUDA
#include <cublas_v2.h>

static cublasOperation_t operation(char trans) {
  return trans == 'N' ? CUBLAS_OP_N : CUBLAS_OP_T;
}

#define DEFINE(p, P, T)                                                                                      \
  davit_status dvt_cublas_##p##gemm(dvt_stream *stream, char transa, char transb, int64_t m, int64_t n,      \
                                    int64_t k, T alpha, const T *a, int64_t lda, const T *b, int64_t ldb,    \
                                    T beta, T *c, int64_t ldc) {                                             \
    bool vanishes = alpha == 0 || k == 0;                                                                    \
    if (m == 0 || n == 0 || (vanishes && beta == 1))                                                         \
      return DAVIT_SUCCESS;                                                                                  \
    void *handle;                                                                                            \
    davit_status status = dvt_stream_cublas(stream, &handle);                                                \
    if (status != DAVIT_SUCCESS)                                                                             \
      return status;                                                                                         \
    if (vanishes)                                                                                            \
      return dvt_cublas_##p##scale(handle, m, n, beta, c, ldc);                                              \
    return dvt_cublas_status((int)DVT_CUBLAS(P##gemm_v2_64)(handle, operation(transa), operation(transb), m, \
                                                            n, k, &alpha, a, lda, b, ldb, &beta, c, ldc),    \
                             #p "gemm");                                                                     \
  }
#else
#define DEFINE(p, P, T)                                                                                      \
  davit_status dvt_cublas_##p##gemm(dvt_stream *stream, char transa, char transb, int64_t m, int64_t n,      \
                                    int64_t k, T alpha, const T *a, int64_t lda, const T *b, int64_t ldb,    \
                                    T beta, T *c, int64_t ldc) {                                             \
    (void)stream, (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda;    \
    (void)b, (void)ldb, (void)beta, (void)c, (void)ldc;                                                      \
    return davit_fail(DAVIT_UNSUPPORTED, #p "gemm: this build has no CUDA");                                 \
  }
#endif

DEFINE(d, D, double)
DEFINE(s, S, float)

enum {
  SIDE_M = 16,
  SIDE_N = 8,
  THREADS = SIDE_M * SIDE_N,
  MICRO = 8,
  TILE_M = SIDE_M * MICRO,
  TILE_N = SIDE_N * MICRO,
  TILE_K = 8,
  PAD = 2, /* spreads a transposed store over the banks */
  MOST_TEAMS = 65536
};

/* Which cells of a tile of `lines` rows of op(A) or columns of op(B), TILE_K deep, a thread brings: the first
 * and the way to the next. Neighbouring threads take neighbouring addresses. */
typedef struct share {
  int line, line_step, depth, depth_step;
} share;

static inline share deal(int thread, bool lines_contiguous, int lines) {
  return lines_contiguous ? (share){thread % lines, 0, thread / lines, THREADS / lines}
                          : (share){thread / TILE_K, THREADS / TILE_K, thread % TILE_K, 0};
}

static inline int smaller(int64_t value, int most) {
  return value < most ? (int)value : most;
}

/* On a GPU the team's arrays are placed in its fast memory; a CPU's runtime warns about the request, and a
 * variable of the teams region is shared by the team's threads there anyway. */
#if defined(__NVPTX__) || defined(__AMDGCN__)
#define GPU
#endif

#define REAL double
#define NAME(operation) d##operation
#define PUBLIC(operation) dvt_target_d##operation
#include "offload/gemm.c"
#undef REAL
#undef NAME
#undef PUBLIC
#define REAL float
#define NAME(operation) s##operation
#define PUBLIC(operation) dvt_target_s##operation
#include "offload/gemm.c"

#else /* the kernel of one type */

static inline void NAME(update)(REAL *out, REAL alpha, REAL sum, REAL beta) {
  *out = beta == 0 ? alpha * sum : alpha * sum + beta * *out;
}

/* A thread's share of a tile into team memory, as cells[depth][line]; of the tile, `lines` and `depth` are
 * inside the matrix. */
static inline void NAME(bring)(REAL *cells, int tile, share mine, int lines, int depth, const REAL *from,
                               int64_t step) {
#pragma unroll
  for (int r = 0; r < tile * TILE_K / THREADS; r++) {
    int line = mine.line + r * mine.line_step, l = mine.depth + r * mine.depth_step;
    cells[l * (tile + PAD) + line] = line < lines && l < depth ? from[r * step] : 0;
  }
}

static inline void NAME(multiply)(REAL sum[MICRO][MICRO], const REAL *as, const REAL *bs) {
  for (int l = 0; l < TILE_K; l++, as += TILE_M + PAD, bs += TILE_N + PAD) {
    REAL left[MICRO], right[MICRO];
#pragma unroll
    for (int i = 0; i < MICRO; i++)
      left[i] = as[i * SIDE_M];
#pragma unroll
    for (int j = 0; j < MICRO; j++)
      right[j] = bs[j * SIDE_N];
#pragma unroll
    for (int j = 0; j < MICRO; j++)
#pragma unroll
      for (int i = 0; i < MICRO; i++)
        sum[j][i] += left[i] * right[j];
  }
}

/* The tile at c, rows × cols, by a team of any size; a and b are at the tile's first row and column. */
static inline void NAME(by_element)(int rows, int cols, int64_t k, REAL alpha, const REAL *a, int64_t a_row,
                                    int64_t a_col, const REAL *b, int64_t b_row, int64_t b_col, REAL beta,
                                    REAL *c, int64_t ldc) {
  for (int e = omp_get_thread_num(); e < rows * cols; e += omp_get_num_threads()) {
    int i = e % rows, j = e / rows;
    REAL sum = 0;
    for (int64_t l = 0; l < k; l++)
      sum += a[i * a_row + l * a_col] * b[l * b_row + j * b_col];
    NAME(update)(&c[i + j * ldc], alpha, sum, beta);
  }
}

davit_status PUBLIC(gemm)(int device, char transa, char transb, int64_t m, int64_t n, int64_t k, REAL alpha,
                          const REAL *a, int64_t lda, const REAL *b, int64_t ldb, REAL beta, REAL *c,
                          int64_t ldc) {
  if (m == 0 || n == 0 || ((alpha == 0 || k == 0) && beta == 1))
    return DAVIT_SUCCESS;
  int64_t depth = alpha == 0 ? 0 : k; /* sums over nothing leave A and B unread */
  if (k == 0)
    alpha = 0;
  /* op(A)(i, l) is a[i * a_row + l * a_col], op(B)(l, j) is b[l * b_row + j * b_col]. */
  int64_t a_row = transa == 'N' ? 1 : lda, a_col = transa == 'N' ? lda : 1;
  int64_t b_row = transb == 'N' ? 1 : ldb, b_col = transb == 'N' ? ldb : 1;
  int64_t tiles_m = dvt_divide_up(m, TILE_M), tiles = tiles_m * dvt_divide_up(n, TILE_N);
  int teams = smaller(tiles, MOST_TEAMS);
#pragma omp target teams num_teams(teams) thread_limit(THREADS) device(device) is_device_ptr(a, b, c)
  {
    REAL as[TILE_K * (TILE_M + PAD)], bs[TILE_K * (TILE_N + PAD)];
#ifdef GPU
#pragma omp allocate(as, bs) allocator(omp_pteam_mem_alloc)
#endif
#pragma omp parallel num_threads(THREADS)
    for (int64_t tile = omp_get_team_num(); tile < tiles; tile += omp_get_num_teams()) {
      int64_t i0 = tile % tiles_m * TILE_M, j0 = tile / tiles_m * TILE_N;
      int rows = smaller(m - i0, TILE_M), cols = smaller(n - j0, TILE_N);
      const REAL *at = a + i0 * a_row, *bt = b + j0 * b_col;
      REAL *ct = c + i0 + j0 * ldc;
      if (omp_get_num_threads() != THREADS) {
        NAME(by_element)(rows, cols, depth, alpha, at, a_row, a_col, bt, b_row, b_col, beta, ct, ldc);
        continue;
      }
      int thread = omp_get_thread_num(), ti = thread % SIDE_M, tj = thread / SIDE_M;
      share sa = deal(thread, a_row == 1, TILE_M), sb = deal(thread, b_col == 1, TILE_N);
      at += sa.line * a_row + sa.depth * a_col;
      bt += sb.line * b_col + sb.depth * b_row;
      REAL sum[MICRO][MICRO] = {{0}};
      for (int64_t l0 = 0; l0 < depth; l0 += TILE_K, at += TILE_K * a_col, bt += TILE_K * b_row) {
        int inside = smaller(depth - l0, TILE_K);
        NAME(bring)(as, TILE_M, sa, rows, inside, at, sa.line_step * a_row + sa.depth_step * a_col);
        NAME(bring)(bs, TILE_N, sb, cols, inside, bt, sb.line_step * b_col + sb.depth_step * b_row);
#pragma omp barrier
        NAME(multiply)(sum, as + ti, bs + tj);
#pragma omp barrier
      }
#pragma unroll
      for (int j = 0; j < MICRO; j++)
#pragma unroll
        for (int i = 0; i < MICRO; i++) {
          int row = ti + i * SIDE_M, col = tj + j * SIDE_N;
          if (row < rows && col < cols)
            NAME(update)(&ct[row + col * ldc], alpha, sum[j][i], beta);
        }
    }
  }
  return DAVIT_SUCCESS;
}

#endif
