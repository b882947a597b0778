/* C = alpha op(A) op(B) + beta C on the CPU, by BLIS: 2 m n k flops.
 *
 * BLIS keeps the rules of the reference BLAS that tests/test_ref.c checks: beta = 0 does not read C, alpha = 0
 * or k = 0 does not read A and B. It splits the work over m and n, never over k, and any number of threads may
 * call at once: each call brings its own thread count and BLIS initialises itself once under a lock. */
#include <blis.h>
#include <limits.h>
#include <omp.h>

#include "ref/ref.h"

/* BLIS aborts the process when a parallel region gives it several threads but fewer than it asked for. With
 * the runtime's dynamic adjustment off, OMP_THREAD_LIMIT takes threads away: outside of parallel regions it
 * says how many there are, inside of them the other threads' share is unknown. (LLVM's KMP_DEVICE_THREAD_LIMIT
 * counts the whole process, about which nobody can ask: it must not be set below what all calls use.) */
int dvt_ref_threads(int threads) {
  int limit = omp_get_thread_limit();
  if (omp_in_parallel() && limit < INT_MAX)
    return 1;
  return threads < limit ? threads : limit;
}

#define DEFINE(p, T)                                                                                         \
  void dvt_ref_##p##gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, T alpha, const T *a,     \
                         int64_t lda, const T *b, int64_t ldb, T beta, T *c, int64_t ldc, int threads) {     \
    if (m == 0 || n == 0)                                                                                    \
      return;                                                                                                \
    trans_t opa = transa == 'N' ? BLIS_NO_TRANSPOSE : BLIS_TRANSPOSE;                                        \
    trans_t opb = transb == 'N' ? BLIS_NO_TRANSPOSE : BLIS_TRANSPOSE;                                        \
    rntm_t runtime = BLIS_RNTM_INITIALIZER;                                                                  \
    bli_rntm_set_num_threads(dvt_ref_threads(threads), &runtime);                                            \
    int dynamic = omp_get_dynamic();                                                                         \
    omp_set_dynamic(0);                                                                                      \
    bli_##p##gemm_ex(opa, opb, m, n, k, &alpha, (T *)a, 1, lda, (T *)b, 1, ldb, &beta, c, 1, ldc, NULL,      \
                     &runtime);                                                                              \
    omp_set_dynamic(dynamic);                                                                                \
  }

DEFINE(d, double)
DEFINE(s, float)
