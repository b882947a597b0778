/* SPDX-License-Identifier: Apache-2.0 */
/* Factorisations of dense matrices by blocks of columns, which go to the devices in turn, as tasks of a
 * graph; and what is multiplied or solved with their factors.
 *
 * A block is loaded, factored, copied to the other devices, and stored; on every device it updates the blocks behind
 * it. As the one that others are updated with it is called a panel. The next block has a lane of its own, so that it is
 * updated and factored while the others are updated. How a block is factored, and another one updated with it, is a
 * rule: cholesky.c, lu.c, qr.c. substitute.c solves with the triangles.
 *
 * What does not fit into the devices' memory is done in slabs: as many blocks as fit are loaded, updated with all
 * panels before the slab, which come from the matrix once more, and factored. */
#ifndef DAVIT_SRC_FACTOR_FACTOR_H
#define DAVIT_SRC_FACTOR_FACTOR_H

#include "src/factor/blocks.h"

/* *info as LAPACK's routine has it. The report is filled but for seconds and `failed`. */
davit_status dvt_factor_run(dvt_factor_call *call, int *info);

extern const dvt_factor_rule dvt_cholesky_lower_rule, dvt_cholesky_upper_rule, dvt_lu_rule, dvt_qr_rule;

/* ---- for the rules ---- */

typedef struct dvt_follows {
  int32_t task[DVT_MAX_DEVICES * DVT_FACTOR_ROLES + 8];
  int count;
} dvt_follows;

static inline void dvt_follow(dvt_follows *all, int32_t task) {
  if (task != DVT_NOTHING)
    all->task[all->count++] = task;
}

/* Behind the newest tasks that have written the blocks of a group; and that `task` has written them. */
void dvt_follow_group(const dvt_factoring *f, dvt_follows *all, const dvt_group *g);
void dvt_group_written(const dvt_factoring *f, const dvt_group *g, int32_t task);

/* An operation on a device's lane behind some tasks, of which none are left in `all`; `number` NULL: nothing waits for
 * it but the lane itself. */
davit_status dvt_factor_compute(dvt_factoring *f, int w, int role, dvt_follows *all,
                                const dvt_operation *operation, const void *arguments, double flops,
                                int32_t *number);
davit_status dvt_factor_level3(dvt_factoring *f, int w, int role, dvt_follows *all, const dvt_level3 *g,
                               int32_t *number);
davit_status dvt_factor_copy(dvt_factoring *f, int w, int role, dvt_follows *all, const dvt_copy *copy,
                             int32_t *number);

/* All that is enqueued: what is loaded next takes its place. */
dvt_follows dvt_factor_everything(const dvt_factoring *f);

/* That panel k is read on a device's lane by that task. */
void dvt_factor_reads(dvt_factoring *f, int64_t k, int w, int role, int32_t task);

/* Applies `step` with all panels in place, in ascending or descending order, to all right-hand sides. */
typedef davit_status (*dvt_factor_step)(dvt_factoring *f, int64_t k, const dvt_group *g, int role);
davit_status dvt_factor_sweep(dvt_factoring *f, bool descending, dvt_factor_step step);

/* ---- systems with a triangle ---- */

/* One of the triangles in the panels: its square on the diagonal, and what lies beside it, above or below. `pull`: a
 * block of the right-hand sides gets what the others subtract and is solved, else it is solved and subtracted from the
 * others. */
typedef struct dvt_triangle {
  char uplo, trans, diag;
  bool above, pull;
} dvt_triangle;

/* Right-hand sides, with `square` (leading dimension ld) on the diagonal of panel k. */
davit_status dvt_substitute(dvt_factoring *f, int64_t k, const dvt_group *g, int role,
                            const dvt_triangle *triangle, const char *square, int64_t ld);

/* The same with the square that stands in the panel; and with U, whose diagonal is not 1, as a step of a sweep. */
davit_status dvt_substitute_in_panel(dvt_factoring *f, int64_t k, const dvt_group *g, int role,
                                     const dvt_triangle *triangle);
davit_status dvt_substitute_upper(dvt_factoring *f, int64_t k, const dvt_group *g, int role);

#endif
