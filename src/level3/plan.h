/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a tiled operation of level 3 over several devices: which device computes which tile of C, from
 * which terms, in which order, and what is fetched from where into which tile buffer. A pure function of shapes,
 * sizes and a choice of tiles: no pointer, no queue, no clock. choose.c finds the choice, simulate.c
 * predicts the time, execute.c carries the plan out.
 *
 *   rule     says what an output tile is made of: a list of terms, each a kernel and two operand tiles. All
 *            that a routine adds (rule.h).
 *   choice   a grid of devices (rows × columns × parts of k) and the lengths of tiles
 *   plan     steps in an order that respects every dependence, each with its stream and the steps of other
 *            streams that it waits for
 *
 * Dimensions are cut at the borders of the devices' blocks and in between into tiles of nearly equal length;
 * the first tiles of k and the last ones of n may be shorter, so that arithmetic starts early and the last
 * store is short. A device gets one block of C. Where k is divided too, several devices compute partial sums
 * of one block, and each tile has an owner that adds them up in ascending k: the same choice gives the same
 * bits.
 *
 * A device keeps tiles in tile buffers, in a pool for each operand. If its block does not fit, it works through the
 * block in panels. Where the terms of a tile may be done in any order of tiles, the order in a panel is
 * k-outer at first (after r + c fetches there are r c products to do: the device is busy from the start) and
 * tile by tile later (tiles of C finish one after another and travel home beside the arithmetic), each for half of k
 * where the choice has nothing else: the longer the work takes by its bytes, the earlier tiles should finish. Of a
 * triangle each k finishes a row, or column, of tiles, so the order is k-outer to the end.
 *
 * Each tile of A and B crosses the host link once for all devices that need it: the importer is the one that
 * has imported least so far, the others copy from whoever has the tile at that moment. A tile that had to
 * make room is fetched again, from a peer if one still has it. */
#ifndef DAVIT_SRC_LEVEL3_PLAN_H
#define DAVIT_SRC_LEVEL3_PLAN_H

#include <davit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ref/blas.h"

enum { DVT_PLAN_DEVICES = 16 };

typedef enum dvt_dim { DVT_DIM_M, DVT_DIM_N, DVT_DIM_K, DVT_DIMS } dvt_dim;

/* DVT_SUM names copies of partial sums of C, which no rule uses. */
typedef enum dvt_matrix { DVT_A, DVT_B, DVT_C, DVT_SUM, DVT_MATRICES } dvt_matrix;

/* The pool that holds a matrix's tiles. */
enum { DVT_POOLS = 3 };
static inline int dvt_pool_of(int matrix) {
  return matrix == DVT_SUM ? DVT_C : matrix;
}

typedef struct dvt_rule dvt_rule; /* rule.h */

/* ---- what is planned ---- */

typedef struct dvt_plan_device {
  bool resident[DVT_POOLS]; /* the device works on the caller's matrix in place */
  size_t bytes;             /* of tile buffers it may have */
  double rate;              /* of arithmetic, relative to the others; shares are in proportion */
} dvt_plan_device;

typedef struct dvt_plan_shape {
  const dvt_rule *rule;
  int64_t length[DVT_DIMS]; /* m, n, k */
  char side, uplo, transa, transb;
  size_t element;          /* bytes */
  size_t pitch[DVT_POOLS]; /* bytes from column to column of the caller's matrices */
  bool load_c;             /* C counts before the call: beta != 0 */
  int devices;
  dvt_plan_device device[DVT_PLAN_DEVICES];
  bool peer[DVT_PLAN_DEVICES][DVT_PLAN_DEVICES]; /* the two can copy from each other */
} dvt_plan_shape;

/* How: the first grid[M] × grid[N] × grid[K] devices of the shape in a grid, and the tiles. */
typedef struct dvt_plan_choice {
  int grid[DVT_DIMS];
  int64_t tile[DVT_DIMS]; /* maximum lengths */
  int64_t lead;           /* length of the first tile of k in each part; 0: as the others */
  int64_t last;           /* length of the last tile of n in each block; 0: as the others */
  int by_tile;            /* so many quarters of k, the last ones, are done tile by tile; 0: two */
} dvt_plan_choice;

/* ---- the plan ---- */

/* Dimensions of the matrices as stored, by the letters of the shape; and for each dimension the one whose cut it shares
 * (itself, or an earlier one). */
typedef struct dvt_layout {
  uint8_t rows[DVT_MATRICES], cols[DVT_MATRICES], same[DVT_DIMS];
} dvt_layout;

/* A dimension cut into tiles: tile i is [start[i], start[i + 1]). */
typedef struct dvt_cut {
  int32_t tiles;
  int64_t *start;
} dvt_cut;

static inline int64_t dvt_cut_length(const dvt_cut *cut, int64_t i) {
  return cut->start[i + 1] - cut->start[i];
}

/* A term's kernel is a routine on tiles:
 *   gemm          out += left right
 *   symm, hemm    one operand is of A, a stored triangle; k is unused
 *   syrk, herk    the output is a triangle: out += left left'; right is the same tile
 *   syr2k, her2k  the same of left and right, both as left's trans shows them
 *   trmm          one operand is of A, a triangle
 *   trsm          left is of A, a triangle; the output is solved in place; no right operand
 * Side, uplo and diag are those of the call. DVT_ROUTINES: no product, for a term that an output does
 * without. */

/* Which factor stands before a product, and before the output tile that it is added to. */
typedef enum dvt_factor { DVT_ZERO, DVT_ONE, DVT_MINUS_ONE, DVT_ALPHA, DVT_CONJ_ALPHA, DVT_BETA } dvt_factor;

/* A tile of a matrix by its position as stored, and how it is used: 'N', 'T', 'C'. */
typedef struct dvt_operand {
  int8_t matrix; /* -1: none */
  char trans;
  int32_t row, col;
} dvt_operand;

typedef struct dvt_term {
  uint8_t kernel, alpha, beta;
  dvt_operand left, right;
} dvt_term;

/* A device with streams has one for each role, so that link, copy engines and arithmetic work at the same
 * time. All work on one tile of C is on one product stream. */
typedef enum dvt_role {
  DVT_ROLE_LOAD,
  DVT_ROLE_PEER,
  DVT_ROLE_STORE,
  DVT_ROLE_PRODUCT,
  DVT_ROLE_PRODUCT_2,
  DVT_ROLES
} dvt_role;

typedef enum dvt_step_kind {
  DVT_STEP_LOAD,    /* caller's tile `out` into out_slot */
  DVT_STEP_PEER,    /* tile `out` of from_device's from_slot into out_slot */
  DVT_STEP_PRODUCT, /* the term into tile `out` of C */
  DVT_STEP_ADD,     /* tile `out` of C += the partial sum in left_slot */
  DVT_STEP_STORE    /* tile `out` of C home */
} dvt_step_kind;

/* Tile buffers are numbered in their pool; -1 is the caller's matrix. */
typedef struct dvt_step {
  uint8_t kind, device, role, from_device;
  bool marked; /* a step on another stream waits for this one */
  dvt_term term;
  dvt_operand out;
  int32_t out_buffer, left_buffer, right_buffer, from_buffer;
  int32_t first_wait, waits; /* in the plan's `wait`: numbers of earlier steps on other streams */
} dvt_step;

typedef struct dvt_plan {
  dvt_cut cut[DVT_DIMS];
  dvt_layout layout;
  int devices; /* used: the first of the shape's */
  int64_t buffers[DVT_PLAN_DEVICES][DVT_POOLS];
  size_t buffer_bytes[DVT_POOLS];
  int64_t evictions; /* tiles given up for others, that were not finished tiles of C */
  int64_t products;
  int64_t steps, capacity;
  dvt_step *step;
  int64_t waits, wait_capacity;
  int32_t *wait;
} dvt_plan;

/* Builds the plan; DAVIT_OUT_OF_DEVICE_MEMORY if a device has too few bytes for the choice. Free with
 * dvt_plan_free(). m, n > 0; k = 0 makes one product of length 0 a tile. */
davit_status dvt_plan_build(const dvt_plan_shape *shape, const dvt_plan_choice *choice, dvt_plan *plan);
void dvt_plan_free(dvt_plan *plan);

/* The longest block of a dimension that is divided between so many devices of the same rate. */
int64_t dvt_longest_block(int64_t length, int parts);

/* Rows and columns of a tile, as stored. */
int64_t dvt_tile_rows(const dvt_plan *plan, const dvt_operand *tile);
int64_t dvt_tile_cols(const dvt_plan *plan, const dvt_operand *tile);

#endif
