/* SPDX-License-Identifier: Apache-2.0 */
/* Right-hand sides of systems with a triangle, block by block, beside a panel of it. */
#include "src/factor/factor.h"

davit_status dvt_substitute(dvt_factoring *f, int64_t k, int64_t to, int role, const dvt_triangle *t,
                            const char *square, int64_t ld, dvt_follows *all, int32_t *number) {
  const int w = dvt_owner(f, to);
  const dvt_panel *p = &f->worker[w].panel;
  const davit_type type = f->call->type;
  const int64_t start = dvt_block_start(&f->a, k), rank = dvt_panel_rank(f, k), behind = start + rank,
                length = dvt_blocks_length(&f->a), rest = t->above ? start : length - behind,
                width = dvt_block_width(&f->b, to), ldb = dvt_block_ld(&f->b, to);
  char *b = f->b.at[to] + (size_t)start * f->element,
       *others = f->b.at[to] + (size_t)(t->above ? 0 : behind) * f->element,
       *beside = dvt_behind(f, &f->a, p->pointer, p->ld, (t->above ? 0 : behind) - p->origin);
  const dvt_level3 solve = {.routine = DVT_TRSM,
                            .type = type,
                            .side = 'L',
                            .uplo = t->uplo,
                            .transa = t->trans,
                            .diag = t->diag,
                            .m = rank,
                            .n = width,
                            .k = rank,
                            .alpha = 1,
                            .a = square,
                            .lda = ld,
                            .c = b,
                            .ldc = ldb};
  const dvt_level3 subtract = {.routine = DVT_GEMM,
                               .type = type,
                               .transa = t->beside,
                               .transb = 'N',
                               .m = t->pull ? rank : rest,
                               .n = width,
                               .k = t->pull ? rest : rank,
                               .alpha = -1,
                               .a = beside,
                               .lda = p->ld,
                               .b = t->pull ? others : b,
                               .ldb = ldb,
                               .beta = 1,
                               .c = t->pull ? b : others,
                               .ldc = ldb};
  const bool alone = rest == 0;
  if (t->pull && !alone)
    DVT_TRY(dvt_factor_level3(f, w, role, all, &subtract, NULL));
  DVT_TRY(dvt_factor_level3(f, w, role, all, &solve, t->pull || alone ? number : NULL));
  return t->pull || alone ? DAVIT_SUCCESS : dvt_factor_level3(f, w, role, all, &subtract, number);
}
