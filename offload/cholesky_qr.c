/* SPDX-License-Identifier: Apache-2.0 */
/* The steps between products of a tall matrix's Q R, as kernels. */
#include "offload/cholesky_qr.h"

#include <float.h>

#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/runtime/launch.h"
#include "src/base/arithmetic.h"

enum { TEAM = 256, MOST_TEAMS = 512, JUDGES = 64 };

/* Rows that are eliminated in a team's memory. */
#define NARROW(T) (sizeof(T) > 8 ? 32 : 64)

#define EACH "offload/cholesky_qr.inc"
#include "offload/each_blas.inc"

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

static davit_status upper(const dvt_site *site, davit_type type, int64_t n, const void *a, void *r) {
  return DVT_BLAS_BY_TYPE(type, set_upper)(site, n, a, r);
}

static davit_status judge(const dvt_site *site, davit_type type, int64_t n, const void *gram, int *found) {
  const double epsilon = dvt_real_type(type) == DAVIT_DOUBLE ? DBL_EPSILON : FLT_EPSILON;
  const int64_t teams = dvt_at_most(n, JUDGES);
  void *room;
  DVT_TRY(site->workspace(site, JUDGES * sizeof(float), &room));
  float *most = room;
  DVT_TRY(DVT_BLAS_BY_TYPE(type, find_distance)(site, n, gram, most, teams));
  DVT_RUN(site, dvt_judge_region, 1, 32, (const float *)most, teams, n, epsilon, found);
  return DAVIT_SUCCESS;
}

static davit_status correct(const dvt_site *site, davit_type type, int64_t n, void *gram, void *t) {
  return DVT_BLAS_BY_TYPE(type, set_corrections)(site, n, gram, t);
}

static davit_status eliminate(const dvt_site *site, davit_type type, int64_t n, void *s, int64_t ld) {
  return DVT_BLAS_BY_TYPE(type, eliminate_narrow)(site, n, s, ld);
}

static int64_t narrow(davit_type type) {
  return NARROW(char[davit_type_bytes(type)]);
}

static davit_status finish_reflectors(const dvt_site *site, const dvt_reconstruct *r) {
  return DVT_BLAS_BY_TYPE(r->type, finish_all)(site, r);
}

const dvt_cholesky_qr_forms dvt_cholesky_qr_kernels = {.upper = upper,
                                                       .judge = judge,
                                                       .correct = correct,
                                                       .eliminate = eliminate,
                                                       .narrow = narrow,
                                                       .finish = finish_reflectors};
