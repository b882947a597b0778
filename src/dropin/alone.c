/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are too small for a team: BLIS computes them on the calling thread, whatever its number of threads.
 *
 * BLIS 0.9 has every call of level 3 done by all of its threads, one of order 1 too: waking them costs 5 to 100 us,
 * and LAPACK makes such calls by the ten thousand. Its typed functions take the number of threads of one call, so no
 * other call is changed; for the rest they are what its BLAS calls itself. */
#include <blis.h>
#include <dlfcn.h>
#include <string.h>

#include "src/dropin/dropin.h"

double dvt_alone_most = -INFINITY;

static struct {
#define FIELD(t, name) __typeof__(bli_##t##name##_ex) *t##name;
  DVT_ALL_ROUTINES(FIELD)
#undef FIELD
} typed;

/* A team costs a call as much as so many flops that one thread computes: measured with 2 to 32 threads, where calls
 * of one and of all threads take the same time (docs/notes/dropin.md). gemm has a form of its own for small matrices,
 * which waits less. */
static double team_costs(dvt_routine routine, int threads) {
  return routine == DVT_GEMM ? 0.03e6 * (threads < 7 ? threads : 7) : 0.25e6 * (threads < 12 ? threads : 12);
}

static bool known; /* the functions and the settings */
static rntm_t one_thread;

/* The settings of BLIS's calls with one thread. False: this BLIS keeps them otherwise than the one that davit was
 * built with, or with ways (BLIS_JC_NT and its kin) in place of a number. All bytes of a struct of that size are
 * written, and no others. */
static bool read_settings(void *blis, int threads) {
  union {
    rntm_t settings;
    unsigned char bytes[1024];
  } all[2];
  void (*settings_now)(rntm_t *) = (void (*)(rntm_t *))(uintptr_t)dlsym(blis, "bli_rntm_init_from_global");
  if (!settings_now)
    return false;
  for (int i = 0; i < 2; i++) {
    memset(&all[i], i ? 0x5a : 0xa5, sizeof all[i]);
    settings_now(&all[i].settings);
  }
  for (size_t i = 0; i < sizeof all[0]; i++)
    if ((all[0].bytes[i] == all[1].bytes[i]) != (i < sizeof(rntm_t)))
      return false;
  if (bli_rntm_num_threads(&all[0].settings) != threads)
    return false;
  one_thread = all[0].settings;
  bli_rntm_set_num_threads(1, &one_thread);
  bli_rntm_enable_l3_sup(&one_thread); /* which calls of BLAS do not look at */
  return true;
}

void dvt_alone_bind(void *blis, int threads) {
#define FIND(t, name)                                                                                        \
  typed.t##name = (__typeof__(bli_##t##name##_ex) *)(uintptr_t)dlsym(blis, "bli_" #t #name "_ex");           \
  if (!typed.t##name)                                                                                        \
    return;
  DVT_ALL_ROUTINES(FIND)
#undef FIND
  if (threads <= 1 || !read_settings(blis, threads))
    return;
  known = true;
  double most = 2 * team_costs(DVT_SYRK, threads); /* of single precision */
  __atomic_store(&dvt_alone_most, &most, __ATOMIC_RELEASE);
}

/* ---- the call in BLIS's terms ---- */

/* Of real matrices the conjugate transpose is the transpose. */
static trans_t trans_of(char letter, char type) {
  return letter == 'N'                         ? BLIS_NO_TRANSPOSE
         : letter == 'T' || !dvt_complex(type) ? BLIS_TRANSPOSE
                                               : BLIS_CONJ_TRANSPOSE;
}

#define RESULT bool
#define OPTIONS rntm_t
#define NO_FORM false
#define CALL(t, name, ...) return (typed.t##name(__VA_ARGS__, NULL, options), true)
#define COMPLEX_FLOAT scomplex
#define COMPLEX_DOUBLE dcomplex
#define TRANS(letter) trans_of(letter, g->type)
#define SIDE g->side == 'L' ? BLIS_LEFT : BLIS_RIGHT
#define UPLO g->uplo == 'L' ? BLIS_LOWER : BLIS_UPPER
#define DIAG g->diag == 'U' ? BLIS_UNIT_DIAG : BLIS_NONUNIT_DIAG
#define OF_SQUARE BLIS_NO_CONJUGATE, BLIS_NO_TRANSPOSE,
#define OTHER_TRANS TRANS(g->transa),
#define SCALAR(pointer) pointer
#define MATRIX(x) x, 1, g->ld##x
#include "src/dropin/call.inc"

/* ---- which calls ---- */

bool dvt_keeps_diagonal(const dvt_call *g) {
  if ((g->routine != DVT_HERK && g->routine != DVT_HER2K) || dvt_scalar_part(g->type, g->beta, 0) != 1)
    return false;
  return g->k == 0 || (dvt_scalar_part(g->type, g->alpha, 0) == 0 &&
                       (g->routine == DVT_HERK || dvt_scalar_part(g->type, g->alpha, 1) == 0));
}

/* BLIS's BLAS has gemm done by gemv if C is a vector, on one thread anyway. */
static bool done_otherwise(const dvt_call *g) {
  return g->routine == DVT_GEMM ? g->m == 1 || g->n == 1 : dvt_keeps_diagonal(g);
}

bool dvt_alone(const dvt_call *g, int threads, bool any_size) {
  if (!known || done_otherwise(g) ||
      (!any_size && dvt_flops(g) > team_costs(g->routine, threads) * (dvt_single(g->type) ? 2 : 1)))
    return false;
  rntm_t settings = one_thread;
  return compute(g, &settings);
}
