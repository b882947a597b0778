/* SPDX-License-Identifier: Apache-2.0 */
/* The state of planning, shared by distribution.c (who computes what), tile_cache.c (where tiles lie, who waits for
 * whom) and planner.c (in which order). */
#ifndef DAVIT_SRC_LEVEL3_PLANNING_H
#define DAVIT_SRC_LEVEL3_PLANNING_H

#include "src/level3/rule.h"

/* The newest read of a tile buffer by one stream. */
typedef struct dvt_tile_buffer_reader {
  int32_t stream, step;
} dvt_tile_buffer_reader;

/* A tile in a tile buffer. Tile buffers of a pool form a list from the least to the most recently used. */
typedef struct dvt_tile_buffer {
  int64_t tile;   /* DVT_MATRICES * index + matrix, -1: empty */
  int64_t used;   /* the product that used it last: tile buffers of the product at hand are not given away */
  bool held;      /* not to be given away */
  int32_t writer; /* step that wrote it last, -1: none */
  int32_t older, newer;
  int32_t readers;
  int64_t room;
  dvt_tile_buffer_reader *reader; /* since then */
} dvt_tile_buffer;

typedef struct dvt_pool {
  dvt_tile_buffer *buffer;
  int64_t buffers, capacity;
  int32_t oldest, newest;
} dvt_pool;

/* The state of planning one device. */
typedef struct dvt_planner {
  const dvt_plan_device *limits;
  int64_t row0, row1, col0, col1; /* its block of C, in tiles */
  int64_t k0, k1;                 /* its part of k, in tiles; everything for a rule in place */
  int64_t panel_m, panel_n;       /* the panel that it works on at a time */
  int64_t panel_i, panel_j;       /* where the panel starts */
  int64_t split;                  /* k-outer below this term, tile by tile from here */
  int64_t cursor, number;         /* position in the panel, and the term of that tile */
  bool by_tile, done;
  bool evicts;
  dvt_pool pool[DVT_POOLS];
  int32_t *place[DVT_MATRICES]; /* tile -> tile buffer, -1 if none */
  uint8_t *need[DVT_MATRICES];  /* tiles that its terms read */
  int64_t imports, exports;     /* elements over the host's link, and to other devices */
  int64_t products;
} dvt_planner;

typedef struct dvt_planning {
  const dvt_plan_shape *shape;
  const dvt_plan_choice *choice;
  const dvt_rule *rule;
  dvt_distribution_kind distribution;
  dvt_plan *plan;
  int parts; /* of k */
  int blocks;
  int64_t terms_per_k;
  uint8_t *finished; /* of each tile of C, parts of k that are done; where there are several */
  dvt_planner device[DVT_PLAN_DEVICES];
  int32_t known[DVT_PLAN_DEVICES * DVT_ROLES][DVT_PLAN_DEVICES * DVT_ROLES]; /* newest step waited for */
} dvt_planning;

/* ---- distribution.c ---- */

/* Cuts the dimensions and gives each device its block. */
davit_status dvt_distribute(dvt_planning *p);

/* Whether tile (i, j) of C is an output. */
bool dvt_is_output(const dvt_planning *p, int64_t i, int64_t j);

/* ---- tile_cache.c ---- */

int64_t dvt_tile_count(const dvt_plan *plan, int matrix);
int64_t dvt_tile_index(const dvt_plan *plan, const dvt_operand *tile);
davit_status dvt_pool_open(dvt_pool *pool, int64_t capacity);
void dvt_pool_close(dvt_pool *pool);

/* The tile buffer that holds a tile on a device, -1 if none; and a tile buffer for a new tile, -1 if the pool is too
 * small: a fresh one, or the one used longest ago. */
int32_t dvt_tile_buffer_find(const dvt_planning *p, int device, const dvt_operand *tile);
int32_t dvt_tile_buffer_take(dvt_planning *p, int device, const dvt_operand *tile);
bool dvt_tile_buffer_has_room(const dvt_planning *p, int device, int matrix);
dvt_tile_buffer *dvt_tile_buffer_at(dvt_planning *p, int device, int matrix, int32_t buffer); /* -1: NULL */
void dvt_tile_buffer_touch(dvt_planning *p, int device, int matrix, int32_t buffer);

/* The tile buffer's content is not wanted any more. */
void dvt_tile_buffer_release(dvt_planning *p, int device, int matrix, int32_t buffer);

/* Appends a step behind those that it has to wait for: it reads two tile buffers and writes one, each of which may be
 * NULL. */
davit_status dvt_emit(dvt_planning *p, dvt_step *step, dvt_tile_buffer *left, dvt_tile_buffer *right,
                      dvt_tile_buffer *written);

#endif
