/* SPDX-License-Identifier: Apache-2.0 */
/* y = alpha op(A) x + beta y as target regions; reads A once. As in the reference BLAS, y stays as it is when
 * m or n is 0.
 *
 * A team has WIDE × GROUPS lanes. For 'N' it computes WIDE elements of y: each group of lanes takes every
 * GROUPS-th column, a lane takes a row, so that neighbours read neighbouring elements of A. For 'T' it
 * computes GROUPS elements of y: WIDE lanes walk down each column. In both cases the lanes store their sums
 * in team memory, and one thread for each element adds them in ascending order. Lanes are distributed over
 * the threads that there are, so the bits depend neither on the number of threads nor of teams. A wide 'N'
 * with few rows (fewer than WIDE times the teams that the device runs at once) leaves part of the device
 * idle. */
#include <omp.h>

#include "offload/blas.h"
#include "offload/blas_hip.h"
#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"

enum { WIDE = 32, GROUPS = 8, LANES = WIDE * GROUPS, MAX_TEAMS = 65536 };

static inline int team_count(int64_t length, int each) {
  int64_t teams = (length + each - 1) / each;
  return teams < MAX_TEAMS ? (int)teams : MAX_TEAMS;
}

#define EACH "offload/gemv.inc"
#include "offload/each_blas.inc"

davit_status dvt_gemv_region(const dvt_site *site, const void *gemv) {
  dvt_gemv g = dvt_gemv_settled(gemv);
  if (g.m == 0 || g.n == 0 || (g.alpha == 0 && g.beta == 1))
    return DAVIT_SUCCESS;
  davit_status status;
  if (dvt_gemv_hip(site->device, &g, &status))
    return status;
  const bool plain = g.trans == 'N';
  g.x = dvt_walk_from(g.x, plain ? g.n : g.m, g.incx, g.type);
  g.y = dvt_walk_from(g.y, plain ? g.m : g.n, g.incy, g.type);
  if (g.alpha == 0) { /* sums over nothing: A and x, which may be NULL, stay unread */
    g.a = g.x = g.y;
    *(plain ? &g.n : &g.m) = 0;
  }
  (plain ? DVT_BY_TYPE(g.type, gemv_n) : DVT_BY_TYPE(g.type, gemv_t))(site->device, &g);
  return DAVIT_SUCCESS;
}
