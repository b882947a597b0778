/* SPDX-License-Identifier: Apache-2.0 */
/* The scans' driver, and their kernels for sums, affine maps and segments. */
#include "bench/study/reduce/scan.h"

#include <davit/memory.h>

#include "bench/study/common/kernel.h"

#define TEXT "bench/study/reduce/scan.inc"
#define FORMS study_scan_forms
#define WANTED(block) ((block) >= 32)
#define SEGMENTS
#include "bench/study/reduce/each_operator.inc"

static const study_scan_forms *forms_of(const study_scan *s) {
  static const study_scan_forms *(*const of[STUDY_OPERATORS])(int) = {sum_forms, compose_forms,
                                                                      segments_forms};
  return of[s->op](s->block);
}

int64_t study_scan_tile(const study_scan *s) {
  return s->form == STUDY_WARP_SCAN ? STUDY_WARP
         : s->form == STUDY_SEVERAL ? (int64_t)STUDY_SCAN_EACH * s->block
                                    : s->block;
}

/* Elements of a team: those of all its warps for WARP. */
static int64_t elements_of_team(const study_scan *s) {
  return s->form == STUDY_WARP_SCAN ? WARPS_OF(s->block) * 32 : study_scan_tile(s);
}

/* Teams of a launch that begins with team `first` of so many. */
static int64_t teams_from(const study_scan *s, int64_t first, int64_t teams) {
  const int64_t most = s->most_blocks > 0 && s->most_blocks < INT32_MAX ? s->most_blocks : INT32_MAX;
  return teams - first < most ? teams - first : most;
}

static davit_status check(const study_scan *s, int device, study_site *site) {
  DVT_TRY(study_scan_check(s));
  return study_site_of(device, site);
}

static void scan_tiles(const study_scan *s, const study_site *site, int64_t n, const void *x, void *y,
                       void *totals) {
  const int64_t teams = study_quotient_up(n, elements_of_team(s));
  for (int64_t first = 0; first < teams; first += teams_from(s, first, teams))
    forms_of(s)->form[s->form](site, teams_from(s, first, teams), first, n, x, y, totals, s->exclusive);
}

/* y[i] = prefixes[i / tile] ∘ y[i] */
static void shift(const study_scan *s, const study_site *site, int64_t n, const void *prefixes, void *y) {
  const int64_t teams = study_quotient_up(n, s->block);
  for (int64_t first = 0; first < teams; first += teams_from(s, first, teams))
    forms_of(s)->shift(site, teams_from(s, first, teams), first, n, study_scan_tile(s), prefixes, y);
}

davit_status study_scan_tiles(const study_scan *s, int device, int64_t n, const void *x, void *y,
                              void *totals) {
  study_site site;
  DVT_TRY(check(s, device, &site));
  scan_tiles(s, &site, n, x, y, totals);
  return DAVIT_SUCCESS;
}

/* The scan of the totals: exclusive, by P3. */
static study_scan of_totals(const study_scan *s) {
  study_scan totals = *s;
  totals.form = STUDY_BLOCK_SCAN;
  totals.exclusive = true;
  return totals;
}

davit_status study_scan_grid(const study_scan *s, int device, int64_t n, const void *x, void *y) {
  if (s->form == STUDY_WARP_SCAN)
    return davit_fail(DAVIT_UNSUPPORTED, "a grid is made of blocks, not of warps");
  study_site site;
  void *totals = NULL;
  DVT_TRY(check(s, device, &site));
  const int64_t tiles = n < 0 ? 0 : study_quotient_up(n, study_scan_tile(s));
  const study_scan next = of_totals(s);
  if (tiles > 1)
    DVT_TRY(davit_malloc((size_t)tiles * study_monoid_of(s->op)->bytes, site.place, &totals));
  scan_tiles(s, &site, n, x, y, totals);
  davit_status status = tiles > 1 ? study_scan_grid(&next, device, tiles, totals, totals) : DAVIT_SUCCESS;
  if (tiles > 1 && status == DAVIT_SUCCESS)
    shift(s, &site, n, totals, y);
  (void)davit_free(totals);
  return status;
}

int study_scan_levels(const study_scan *s, int64_t n) {
  const study_scan next = of_totals(s);
  if (n < 1)
    return 0;
  const int64_t tiles = study_quotient_up(n, study_scan_tile(s));
  return tiles < 2 ? 1 : 1 + study_scan_levels(&next, tiles);
}
