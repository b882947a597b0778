/* SPDX-License-Identifier: Apache-2.0 */
/* An exact product on its way: whose vectors each device has, and where they lie in its memory. */
#ifndef DAVIT_SRC_EXACT_PRODUCT_H
#define DAVIT_SRC_EXACT_PRODUCT_H

#include <davit/level3.h>

#include "ref/blas.h"
#include "src/exact/rows.h"
#include "src/runtime/graph.h"
#include "src/runtime/operation.h"

enum {
  DVT_EXACT_PANEL =
      2048, /* vectors that are brought at once, twice as many where their elements lie apart, */
  DVT_EXACT_FIRST = 1024, /* and at first */
  DVT_EXACT_TILE = 4096,  /* the longest side of a tile that is stored */
  DVT_EXACT_PANELS = 3,   /* on their way to a device */
  DVT_EXACT_TILES = 2,

  DVT_EXACT_NOTHING = -1
};

/* A or B: vectors along m or n. */
typedef struct dvt_exact_side {
  const void *x;
  int place;
  int64_t count, step, stride;
  bool conjugate;
} dvt_exact_side;

typedef struct dvt_exact_range {
  int64_t begin, end;
} dvt_exact_range;

/* A panel that is measured, and where it was brought to. */
typedef struct dvt_exact_panel {
  dvt_exact_vectors vectors;
  int slot;
} dvt_exact_panel;

typedef struct dvt_exact_worker {
  int device;
  bool streams, brings[2], stores, brings_square; /* what it does not reach */
  dvt_exact_range all[2], slab[2];                /* its vectors, and those that are worked at */
  int64_t most[2];                                /* of a slab */
  int64_t panel[2];                               /* vectors of one */
  size_t bytes, held, sum_bytes;                  /* that it may use, and uses; of sums */
  int planes_held[2];                             /* there is memory for */
  char *memory;
  dvt_exact_need *need;
  dvt_exact_vector *vector[2];
  void *coarse[2], *planes[2], *sums;
  char *panels[DVT_EXACT_PANELS], *tiles[DVT_EXACT_TILES];
  void *square;                                                       /* the whole of a symmetric operand */
  int32_t panel_read[DVT_EXACT_PANELS], tile_stored[DVT_EXACT_TILES]; /* the newest task that uses it */
  int panel_turn, tile_turn;
  int64_t arrived[2];        /* vectors of the slab */
  int32_t cleared, computed; /* the task before which `need` has nothing; the newest one of kernels */
  bool has_decided;          /* its first tile has, and has been looked at */
  bool is_ahead;             /* the first panels of both sides are measured, and not cut: */
  dvt_exact_panel ahead[2];
} dvt_exact_worker;

typedef struct dvt_exact_call {
  const dvt_level3 *g;
  const davit_level3_options *options;
  davit_level3_report *report;
  size_t element;
  int64_t length, pitch;
  dvt_exact_side side[2];
  int mirrored; /* the side that is a symmetric matrix, of which each device makes a whole one; or DVT_EXACT_NOTHING */
  int c_place, workers;
  dvt_exact_worker worker[DVT_MAX_DEVICES];
  dvt_exact_need *need; /* of each device, in pinned memory, and what nothing needs */
  dvt_exact_choice choice;
  bool looks, computes; /* at what is needed; the product */
  bool holds;           /* there is memory for the planes of the choice */
  bool infinite;        /* a number is not finite */
  bool follows;         /* another process has to multiply natively */
  int windows;
  dvt_graph graph;
  int32_t tasks;
} dvt_exact_call;

/* How long the sums are. */
static inline int64_t dvt_exact_length(const dvt_level3 *g) {
  return g->routine == DVT_SYMM || g->routine == DVT_HEMM ? g->side == 'R' ? g->n : g->m : g->k;
}

/* The triangle of C that is stored, or 0. */
static inline char dvt_exact_triangle(const dvt_exact_call *p) {
  return dvt_level3_is_update(p->g) ? p->g->uplo : 0;
}

/* Elements of a plane of one side of a device, and where vector `index` of its slab begins in planes. */
static inline int64_t dvt_exact_plane(const dvt_exact_call *p, const dvt_exact_worker *e, int s) {
  return dvt_exact_padded(e->most[s]) * p->pitch;
}

static inline size_t dvt_exact_number_bytes(const dvt_exact_worker *e) {
  return e->streams ? 1 : sizeof(double);
}

static inline void *dvt_exact_in_plane(const dvt_exact_call *p, const dvt_exact_worker *e, void *planes,
                                       int64_t index) {
  return (char *)planes + (size_t)(index * p->pitch) * dvt_exact_number_bytes(e);
}

/* An element of each vector, then the next. */
static inline bool dvt_exact_lies_apart(const dvt_exact_side *from) {
  return from->step == 1 && from->stride != 1;
}

static inline int dvt_exact_planes_of(const dvt_exact_call *p, const dvt_exact_worker *e, int s,
                                      const dvt_exact_choice *choice) {
  return dvt_exact_planes(p->g->type, choice, s, e->streams);
}

/* Finds the vectors of both sides, and gives each device its share of C. */
void dvt_exact_describe(dvt_exact_call *p);
davit_status dvt_exact_share_out(dvt_exact_call *p);

/* Memory of each device that has none yet, in slabs that fit, for planes of the choice or of a likely one. Where a
 * device refuses what it says that it has, half of that. */
davit_status dvt_exact_find_memory(dvt_exact_call *p, bool *fits);
void dvt_exact_free_memory(dvt_exact_call *p);

#endif
