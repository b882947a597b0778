/* SPDX-License-Identifier: Apache-2.0 */
/* Right-hand sides of systems with a triangle, block by block, beside a panel of it. */
#include "src/factor/factor.h"

davit_status dvt_substitute(dvt_factoring *f, int64_t k, const dvt_group *g, int role, const dvt_triangle *t,
                            const char *square, int64_t ld) {
  const int w = g->w;
  const dvt_panel *p = &f->worker[w].panel;
  const dvt_blocks *blocks = g->blocks;
  const int64_t to = g->first;
  const davit_type type = f->call->type;
  const int64_t start = dvt_block_start(&f->a, k), rank = dvt_panel_rank(f, k), behind = start + rank,
                length = dvt_blocks_length(&f->a), rest = t->above ? start : length - behind,
                width = dvt_block_width(blocks, to), ldb = dvt_block_ld(blocks, to);
  char *b = blocks->at[to] + (size_t)start * f->element,
       *others = blocks->at[to] + (size_t)(t->above ? 0 : behind) * f->element,
       *beside = dvt_behind(f, &f->a, p->pointer, p->ld, (t->above ? 0 : behind) - p->origin);
  const dvt_level3 solve = dvt_solve_left(type, t->uplo, t->trans, t->diag, rank, width, square, ld, b, ldb);
  const dvt_level3 subtract =
      t->pull
          ? dvt_subtract_product(type, t->trans, 'N', rank, width, rest, beside, p->ld, others, ldb, b, ldb)
          : dvt_subtract_product(type, t->trans, 'N', rest, width, rank, beside, p->ld, b, ldb, others, ldb);
  int32_t *last = &blocks->last[to];
  dvt_follows all = {.count = 0};
  dvt_follow(&all, p->ready);
  dvt_follow(&all, *last);
  if (rest > 0 && t->pull)
    DVT_TRY(dvt_factor_level3(f, w, role, &all, &subtract, NULL));
  DVT_TRY(dvt_factor_level3(f, w, role, &all, &solve, rest > 0 && !t->pull ? NULL : last));
  if (rest > 0 && !t->pull)
    DVT_TRY(dvt_factor_level3(f, w, role, &all, &subtract, last));
  dvt_factor_reads(f, k, w, role, *last);
  return DAVIT_SUCCESS;
}

davit_status dvt_substitute_in_panel(dvt_factoring *f, int64_t k, const dvt_group *g, int role,
                                     const dvt_triangle *triangle) {
  const dvt_panel *p = &f->worker[g->w].panel;
  return dvt_substitute(f, k, g, role, triangle,
                        p->pointer + (size_t)(dvt_block_start(&f->a, k) - p->origin) * f->element, p->ld);
}

davit_status dvt_substitute_upper(dvt_factoring *f, int64_t k, const dvt_group *g, int role) {
  static const dvt_triangle upper = {.uplo = 'U', .trans = 'N', .diag = 'N', .above = true};
  return dvt_substitute_in_panel(f, k, g, role, &upper);
}
