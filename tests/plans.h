/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of level 3: shapes and choices to build them from, and a model that replays a plan and knows what every tile
 * buffer holds and which steps are over when a step starts. */
#ifndef DAVIT_TESTS_PLANS_H
#define DAVIT_TESTS_PLANS_H

#include "tests/support.h"

#include "src/level3/model.h"
#include "src/level3/rule.h"

/* The plan is right: every product finds its operands, each term of the routine's rule is added once (in place: in
 * the rule's order, and from finished tiles), every output goes home once, complete, no tile is loaded that an
 * output has replaced, and no two steps that touch the same tile buffer, or the same tile of the caller's C, may run
 * at the same time: one of them has to come before the other by the order of a stream or by a wait. */
void check_plan(const dvt_plan_shape *shape, const dvt_plan *plan);

bool same_operand(const dvt_operand *x, const dvt_operand *y);

/* A product of matrices of n × n doubles on devices that have room for all of them, and links between them. */
dvt_plan_shape large_shape(int64_t n, int devices);

/* Lengths, and columns that follow each other. */
void set_shape(dvt_plan_shape *shape, int64_t m, int64_t n, int64_t k);

/* Lengths of a routine with a square or triangular operand, or result. */
void make_square(dvt_plan_shape *shape, dvt_routine routine);

/* Tiles of one length. */
dvt_plan_choice square_choice(int rows, int cols, int parts, int64_t tile);

/* The seconds that the choice's plan plays. */
double played(const dvt_model *model, const dvt_plan_shape *shape, const dvt_plan_choice *choice);

#endif
