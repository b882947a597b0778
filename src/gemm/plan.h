/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a tiled multi-device product: which device computes which tile of C, in which order, what is
 * fetched from where into which slot. A pure function of shapes and sizes: no device, no pointer, no queue;
 * src/gemm/gemm.c carries it out.
 *
 * Tiles of C are dealt to the devices in one rectangular block each, so that a device needs the fewest rows
 * of A and columns of B. A device keeps tiles in slots of equal size. If its block does not fit, it works
 * through the block in panels. Within a panel the order is k-outer for the first part of k (after r + c tile
 * fetches there are r c products to do: the devices are busy from the start) and tile by tile for the rest
 * (the tiles of C finish one after another and travel home beside the arithmetic instead of all at the end).
 *
 * Each tile of A and B crosses the host link once for all devices that need it, if they are peers and
 * everything fits: the importer is the one that has imported least so far, the others copy from it.
 *
 * The steps of all devices form one sequence in an order that respects every dependence: the executor submits
 * them as they come. */
#ifndef DAVIT_SRC_GEMM_PLAN_H
#define DAVIT_SRC_GEMM_PLAN_H

#include <davit/status.h>
#include <stdbool.h>
#include <stdint.h>

enum { DVT_PLAN_DEVICES = 16 };

typedef enum dvt_matrix { DVT_A, DVT_B, DVT_C, DVT_MATRICES } dvt_matrix;

typedef struct dvt_plan_device {
  bool resident[DVT_MATRICES]; /* the device works on the caller's matrix in place */
  int64_t slots;               /* most slots it may use */
} dvt_plan_device;

typedef struct dvt_plan_shape {
  int64_t m, n, k;
  int64_t tile;
  bool load_c; /* beta != 0 */
  bool peers;  /* devices can copy from each other */
  int devices;
  dvt_plan_device device[DVT_PLAN_DEVICES];
} dvt_plan_shape;

typedef enum dvt_step_kind { DVT_STEP_LOAD, DVT_STEP_PEER, DVT_STEP_PRODUCT, DVT_STEP_STORE } dvt_step_kind;

/* A tile is named by its position in its matrix as op() sees it: A (i, k), B (k, j), C (i, j). */
typedef struct dvt_step {
  uint8_t kind;
  uint8_t device;
  uint8_t matrix;      /* LOAD, PEER */
  uint8_t from_device; /* PEER */
  bool first, last;    /* PRODUCT: the first and last in k of its tile of C */
  int32_t i, j, k;
  int32_t slot[DVT_MATRICES]; /* -1: resident. LOAD, PEER: slot[matrix]; STORE: slot[DVT_C] */
  int32_t from_slot;          /* PEER */
} dvt_step;

typedef struct dvt_plan {
  int64_t tile_m, tile_n, tile_k; /* of all tiles but the last ones */
  int64_t tiles_m, tiles_n, tiles_k;
  int devices;                     /* used: the first of the shape's */
  int64_t slots[DVT_PLAN_DEVICES]; /* used */
  bool evicts[DVT_PLAN_DEVICES];   /* slots are given to other tiles while the plan runs */
  int64_t evictions;
  int64_t steps, capacity;
  dvt_step *step;
} dvt_plan;

/* Builds the plan; DAVIT_OUT_OF_DEVICE_MEMORY if a device has fewer slots than a product needs (3 less the
 * resident matrices). Free with dvt_plan_free(). m, n > 0; k = 0 makes one product of length 0 a tile. */
davit_status dvt_plan_build(const dvt_plan_shape *shape, dvt_plan *plan);
void dvt_plan_free(dvt_plan *plan);

/* Elements of the largest block of C that a device gets when an m × n matrix is cut in tiles of at most
 * `tile`: what the slowest device computes. */
int64_t dvt_plan_largest_block(int64_t m, int64_t n, int64_t tile, int devices);

/* Length of tile `index` of a dimension of `length` cut in pieces of `piece`. */
int64_t dvt_tile_length(int64_t length, int64_t piece, int64_t index);

#endif
