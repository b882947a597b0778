/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a matrix in a new order, the unit matrix, NaN on a diagonal, a few integers, as kernels. Rows are read to
 * scratch memory and written from there, neighbours of the list by neighbouring threads: of a column only the rows of
 * the list are accessed, each in a sector of 32 bytes. */
#include "offload/factored.h"
#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/runtime/launch.h"
#include "src/base/arithmetic.h"

enum { TEAM = 256, COLUMNS = 8, MOST_TEAMS = 4096, SHORT = 12 * TEAM };

/* Scratch memory for rows; of that size it stays in the caches of large GPUs. */
enum { ROOM_BYTES = 32 << 20 };

#define EACH "offload/parts.inc"
#include "offload/each_blas.inc"

davit_status dvt_site_wait(const dvt_site *site) {
  return site->stream ? dvt_stream_synchronize(site->stream) : DAVIT_SUCCESS;
}

davit_status dvt_permute_device(const dvt_site *site, const void *permute) {
  const dvt_permute *p = permute;
  void *room;
  if (p->count == 0 || p->n == 0)
    return DAVIT_SUCCESS;
  if (p->count <= SHORT)
    return DVT_BLAS_BY_TYPE(p->type, permute_short)(site, p);
  const size_t column = (size_t)p->count * davit_type_bytes(p->type);
  const int64_t most = (int64_t)(ROOM_BYTES / column) / COLUMNS * COLUMNS,
                columns = dvt_at_most(p->n, most > COLUMNS ? most : COLUMNS);
  DVT_TRY(site->workspace(site, column * (size_t)columns, &room));
  for (int64_t j = 0; j < p->n; j += columns) {
    dvt_permute some = *p;
    some.a = (char *)p->a + (size_t)(j * p->lda) * davit_type_bytes(p->type);
    some.n = dvt_at_most(columns, p->n - j);
    DVT_TRY(DVT_BLAS_BY_TYPE(p->type, permute)(site, &some, room));
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_unit_device(const dvt_site *site, const void *unit) {
  const dvt_unit *u = unit;
  return u->m == 0 || u->n == 0 ? DAVIT_SUCCESS : DVT_BLAS_BY_TYPE(u->type, set_unit)(site, u);
}

davit_status dvt_find_nan_device(const dvt_site *site, davit_type type, const void *a, int64_t ld, int64_t n,
                                 int *info) {
  return DVT_BLAS_BY_TYPE(type, look_for_nan)(site, a, ld, n, info);
}

#ifdef DVT_GPU
DVT_INLINE void fetch(const int *from, int *to, int64_t count) {
  for (int64_t i = dvt_team() * TEAM + dvt_thread(); i < count; i += dvt_teams() * TEAM)
    to[i] = from[i];
}
#endif

DVT_REGION(dvt_fetch_region, fetch, TEAM, (from, to), (const int *from, int *to, int64_t count), from, to,
           count)

davit_status dvt_fetch_device(const dvt_site *site, const void *given) {
  const dvt_fetch *f = given;
  if (f->count == 0)
    return DAVIT_SUCCESS;
  DVT_RUN(site, dvt_fetch_region, dvt_at_most(dvt_divide_up(f->count, TEAM), MOST_TEAMS), TEAM, f->from,
          f->to, f->count);
  return DAVIT_SUCCESS;
}
