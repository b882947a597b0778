/* SPDX-License-Identifier: Apache-2.0 */
/* Q R of tall matrices on an NVIDIA stream: products, triangles and Cholesky's factorisation by cuBLAS and cuSOLVER,
 * the steps between as kernels. */
#include "offload/cholesky_qr.h"

#include <float.h>

#include "offload/blas.h"
#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/runtime/launch.h"
#include "offload/solve.h"
#include "src/base/arithmetic.h"

enum { TEAM = 256, MOST_TEAMS = 512, JUDGES = 64 };

/* Rows that are eliminated in a team's memory. */
#define NARROW(T) (sizeof(T) > 8 ? 32 : 64)

#define EACH "offload/cholesky_qr.inc"
#include "offload/each_blas.inc"

#define BY_TYPE(type, name)                                                                                  \
  ((type) == DAVIT_DOUBLE           ? double_##name                                                          \
   : (type) == DAVIT_FLOAT          ? float_##name                                                           \
   : (type) == DAVIT_COMPLEX_DOUBLE ? complex_double_##name                                                  \
                                    : complex_float_##name)

#ifdef DVT_GPU
DVT_INLINE void judge_all(const float *most, int64_t count, int64_t n, double epsilon, int *found) {
  if (dvt_thread() != 0)
    return;
  float all = 0;
  for (int64_t i = 0; i < count; i++)
    all = most[i] > all ? most[i] : all;
  *found = *found ? DVT_DEPENDENT : dvt_cholesky_qr_found(n, (double)all, epsilon);
}
#endif

DVT_REGION(dvt_judge_region, judge_all, 32, (most, found),
           (const float *most, int64_t count, int64_t n, double epsilon, int *found), most, count, n, epsilon,
           found)

static davit_status copy(const dvt_site *site, davit_type type, int64_t m, int64_t n, const void *from,
                         int64_t ldf, void *to) {
  const size_t element = davit_type_bytes(type), column = (size_t)m * element;
  return dvt_stream_copy(site->stream, to, column, from, (size_t)ldf * element, column, (size_t)n);
}

static davit_status upper(const dvt_site *site, davit_type type, int64_t n, const void *a, void *r) {
  return BY_TYPE(type, set_upper)(site, n, a, r);
}

static davit_status judge(const dvt_site *site, davit_type type, int64_t n, const void *gram, int *found) {
  const double epsilon = dvt_real_type(type) == DAVIT_DOUBLE ? DBL_EPSILON : FLT_EPSILON;
  const int64_t teams = dvt_at_most(n, JUDGES);
  void *room;
  DVT_TRY(site->workspace(site, JUDGES * sizeof(float), &room));
  float *most = room;
  DVT_TRY(BY_TYPE(type, find_distance)(site, n, gram, most, teams));
  DVT_RUN(site, dvt_judge_region, 1, 32, (const float *)most, teams, n, epsilon, found);
  return DAVIT_SUCCESS;
}

static davit_status correct(const dvt_site *site, davit_type type, int64_t n, void *gram, void *t) {
  return BY_TYPE(type, set_corrections)(site, n, gram, t);
}

static davit_status eliminate(const dvt_site *site, davit_type type, int64_t n, void *s, int64_t ld) {
  return BY_TYPE(type, eliminate_narrow)(site, n, s, ld);
}

static int64_t narrow(davit_type type) {
  return NARROW(char[davit_type_bytes(type)]);
}

static davit_status finish_reflectors(const dvt_site *site, const dvt_reconstruct *r) {
  return BY_TYPE(r->type, finish_all)(site, r);
}

static const dvt_cholesky_qr_forms on_stream = {.level3 = dvt_level3_stream,
                                                .potrf = dvt_potrf_stream,
                                                .copy = copy,
                                                .upper = upper,
                                                .judge = judge,
                                                .correct = correct,
                                                .eliminate = eliminate,
                                                .narrow = narrow,
                                                .finish = finish_reflectors};

davit_status dvt_cholesky_qr_stream(const dvt_site *site, const void *cholesky_qr) {
  return dvt_cholesky_qr_steps(site, cholesky_qr, &on_stream);
}

davit_status dvt_reconstruct_stream(const dvt_site *site, const void *reconstruct) {
  return dvt_reconstruct_steps(site, reconstruct, &on_stream);
}
