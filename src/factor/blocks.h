/* SPDX-License-Identifier: Apache-2.0 */
/* Factorisations by blocks: a call, its blocks, the state of its run, and the rules; factor.h says how they work. */
#ifndef DAVIT_SRC_FACTOR_BLOCKS_H
#define DAVIT_SRC_FACTOR_BLOCKS_H

#include <davit/solve.h>

#include "offload/factored.h"
#include "offload/solve.h"
#include "src/runtime/graph.h"
#include "src/runtime/operation.h"

/* ---- a call ---- */

typedef struct dvt_dense {
  void *a;
  int64_t rows, cols, ld;
  int place;
} dvt_dense;

typedef struct dvt_factor_rule dvt_factor_rule;

typedef enum dvt_factor_work {
  DVT_FACTOR,   /* A, and where `b` is given and there is room for it: the systems with right-hand sides b */
  DVT_MULTIPLY, /* b by Q of the reflectors in A, */
  DVT_GENERATE  /* or the unit matrix, which takes the place of A and is b */
} dvt_factor_work;

typedef struct dvt_factor_call {
  const dvt_factor_rule *rule;
  dvt_factor_work work;
  davit_type type;
  char uplo; /* of Cholesky's half */
  char side,
      trans;      /* of Q and of the systems; 'T' of a real matrix, 'C' of a complex one count as the same */
  dvt_dense a, b; /* nothing is empty but b.a, NULL: there is none */
  int *ipiv;      /* LU: on the host */
  void *tau;      /* QR: at tau_place */
  int tau_place;
  const davit_solve_options *options;
  int devices[DVT_MAX_DEVICES], count;
  davit_solve_report *report;
  bool solved; /* the systems are */
} dvt_factor_call;

/* ---- blocks ---- */

typedef struct dvt_blocks {
  dvt_dense matrix;
  bool by_rows; /* blocks are rows of the matrix, else columns */
  bool lower;   /* a block begins on the diagonal, */
  bool upper;   /* or ends there */
  int64_t width, count;
  char **at;       /* where each block is on its device, */
  char **beside;   /* and what its rule keeps beside it */
  int32_t *last;   /* task that has written it, */
  int32_t *stored; /* and task that has stored it */
} dvt_blocks;

/* Columns, or rows, of the matrix; and elements of each. */
static inline int64_t dvt_blocks_end(const dvt_blocks *b) {
  return b->by_rows ? b->matrix.rows : b->matrix.cols;
}
static inline int64_t dvt_blocks_length(const dvt_blocks *b) {
  return b->by_rows ? b->matrix.cols : b->matrix.rows;
}

static inline int64_t dvt_block_start(const dvt_blocks *b, int64_t k) {
  return k < b->count ? k * b->width : dvt_blocks_end(b);
}
static inline int64_t dvt_block_width(const dvt_blocks *b, int64_t k) {
  return dvt_block_start(b, k + 1) - dvt_block_start(b, k);
}

/* The first element of each column (row) that belongs to the block, and the end of those that do. */
static inline int64_t dvt_block_top(const dvt_blocks *b, int64_t k) {
  return b->lower ? dvt_block_start(b, k) : 0;
}
static inline int64_t dvt_block_bottom(const dvt_blocks *b, int64_t k) {
  return b->upper ? dvt_block_start(b, k + 1) : dvt_blocks_length(b);
}

/* How many elements of each have room on the device: to the end. */
static inline int64_t dvt_block_length(const dvt_blocks *b, int64_t k) {
  return dvt_blocks_length(b) - dvt_block_top(b, k);
}

/* On the device a block is dense. */
static inline int64_t dvt_block_ld(const dvt_blocks *b, int64_t k) {
  return b->by_rows ? dvt_block_width(b, k) : dvt_block_length(b, k);
}

/* Blocks of device w: `first` and those of its own below `end`. More than one have columns of the same length, and lie
 * behind each other on the device, so that they are one matrix of `width` columns. */
typedef struct dvt_group {
  dvt_blocks *blocks;
  int w;
  int64_t first, end, width;
} dvt_group;

/* ---- the state of a run ---- */

/* Lanes of a device. Loads of pageable memory alternate between two, and so do stores: one block is on its way while
 * the host is busy with the end of another. Other copies have one lane, for a GPU may begin what waits on another when
 * the first is empty, so that block 1 would be the last but half. */
enum { DVT_LOAD, DVT_LOAD_2, DVT_STORE, DVT_STORE_2, DVT_PEER, DVT_NEXT, DVT_UPDATE, DVT_FACTOR_ROLES };
enum { DVT_SLOTS = 3, DVT_NOTHING = -1 };

/* A block that others are updated with, as a device has it: `origin` is its first row, `extra` what the rule keeps beside
 * it. */
typedef struct dvt_panel {
  char *pointer, *extra;
  int64_t ld, origin;
  int32_t ready;     /* task */
  int64_t exchanged; /* LU: rows that it exchanges in what it updates */
} dvt_panel;

typedef struct dvt_worker {
  int device;
  bool streams;
  size_t bytes;       /* that it may use, */
  size_t block_bytes; /* those for blocks, */
  size_t side_bytes;  /* and those beside them: a list of rows, right-hand sides */
  char *memory, *slot[DVT_SLOTS];
  int32_t newest[DVT_FACTOR_ROLES];
  /* Newest tasks that read a slot: copies of other devices, NEXT, UPDATE. */
  int32_t readers[DVT_SLOTS][DVT_MAX_DEVICES + 2];
  dvt_panel panel;
  const dvt_operation *prepared[DVT_FACTOR_ROLES];
} dvt_worker;

typedef struct dvt_factoring {
  dvt_factor_call *call;
  const dvt_factor_rule *rule;
  size_t element;
  char adjoint; /* 'T' of real types, 'C' */
  dvt_blocks a, b;
  dvt_blocks *resident; /* the one of them that is done in slabs */
  int64_t panels;       /* blocks of A that are factored */
  dvt_worker worker[DVT_MAX_DEVICES];
  int workers;
  dvt_graph graph;
  int32_t tasks, most_tasks;
  int16_t *lane;      /* of each task */
  int32_t *factored;  /* task after which the host may look at what block k has given */
  int *info;          /* of each block, in pinned memory */
  int *pivots, *rows; /* LU: in pinned memory; its exchanges as lists of rows, as long as row_count says */
  int64_t *row_count;
  int *scratch;
  bool whole; /* all blocks are in place at once, and there is room for lists of rows */
  int *lists; /* LU: of the rows that several panels exchange, in pinned memory */
  int failed;
} dvt_factoring;

/* How blocks are factored. Where a function is NULL there is nothing to be done. */
struct dvt_factor_rule {
  const char *name;
  bool lower, upper; /* of A this half is stored */
  bool ends;         /* where a block cannot be factored */
  /* The host looks at a block when the next one is on its way to the devices (1), or at once, before others are updated
   * with it (0). */
  int settles_behind;
  int64_t longest;   /* columns of a block, */
  int64_t count;     /* and blocks of a device, where they are not longer */
  double flops_each; /* that a further device is worth */
  /* From so many on blocks are faster than the device's own routine, where the matrix lies. */
  double flops_at_home;
  bool urgent; /* its panels are many short kernels, which go before those of the updates */
  bool merges; /* the blocks that a panel updates on a device are one matrix, not one after the other */
  /* Blocks that come in the time that a panel takes; 0: a panel updates all blocks at once. */
  int64_t arrivals;
  bool waits; /* on several devices all panels but the first wait for all blocks */
  /* Bytes beside block k. */
  size_t (*extra)(const dvt_factoring *f, int64_t k);
  /* Bytes beside the blocks of a device where all stay on the devices. */
  size_t (*whole_bytes)(const dvt_factoring *f);
  davit_status (*factor)(dvt_factoring *f, int64_t k);
  /* Looks at what block k has given: f->failed. */
  davit_status (*settle)(dvt_factoring *f, int64_t k);
  /* Behind the store of block k, by the tasks of the same lane. */
  davit_status (*store)(dvt_factoring *f, int64_t k, int role);
  /* Makes of a block that is loaded into a slot of its owner the panel that it was. */
  davit_status (*prepare)(dvt_factoring *f, int64_t k);
  /* Brings to device w what is beside panel k; the panel itself is there. */
  davit_status (*bring)(dvt_factoring *f, int64_t k, int w);
  /* A group, by the panel k that its device has. */
  davit_status (*update)(dvt_factoring *f, int64_t k, const dvt_group *g, int role);
  /* The rows of a group in the order that panels `from` to k give them: on the devices, where all blocks stay there. */
  davit_status (*exchange)(dvt_factoring *f, int64_t from, int64_t k, const dvt_group *g);
  /* The systems with the factors, whose panels are in place. */
  davit_status (*solve)(dvt_factoring *f);
  /* Behind everything. */
  davit_status (*finish)(dvt_factoring *f);
};

static inline bool dvt_takes_turns(const dvt_blocks *b) {
  return b->matrix.a && b->matrix.place == DAVIT_PAGEABLE;
}

static inline int dvt_owner(const dvt_factoring *f, int64_t k) {
  return (int)(k % f->workers);
}

/* Those of device w from `first` to `end`: none where its own `first` is not below `end`. */
static inline dvt_group dvt_group_of(const dvt_factoring *f, dvt_blocks *blocks, int w, int64_t first,
                                     int64_t end) {
  dvt_group g = {blocks, w, first + (w - dvt_owner(f, first) + f->workers) % f->workers, end, 0};
  for (int64_t k = g.first; k < end; k += f->workers)
    g.width += dvt_block_width(blocks, k);
  return g;
}

/* Rows that panels 0 to k may exchange: two for each of their pivots, and no more than there are. */
static inline int64_t dvt_first_rows(const dvt_factoring *f, int64_t k) {
  const int64_t pivots = dvt_block_start(&f->a, k + 1), rows = dvt_blocks_length(&f->a);
  return 2 * pivots < rows ? 2 * pivots : rows;
}

/* Rows of block k that the panels behind it may exchange. */
static inline int64_t dvt_last_rows(const dvt_factoring *f, int64_t k) {
  const int64_t rest = dvt_blocks_length(&f->a) - dvt_block_start(&f->a, k + 1),
                pivots = dvt_blocks_end(&f->a) - dvt_block_start(&f->a, k + 1), rows = rest > 0 ? rest : 0;
  return 2 * pivots < rows ? 2 * pivots : rows;
}

/* Columns of panel k that are factored: fewer than the block has where the matrix ends. */
static inline int64_t dvt_panel_rank(const dvt_factoring *f, int64_t k) {
  const int64_t width = dvt_block_width(&f->a, k),
                rest = dvt_blocks_length(&f->a) - dvt_block_start(&f->a, k);
  return width < rest ? width : rest;
}

/* What a device has beside its blocks, by rule->whole_bytes. */
static inline char *dvt_beside_blocks(const dvt_factoring *f, int w) {
  return f->worker[w].memory + f->worker[w].block_bytes;
}

/* Where a block or panel of leading dimension ld has its element `at` of each column (row). */
static inline char *dvt_behind(const dvt_factoring *f, const dvt_blocks *b, char *block, int64_t ld,
                               int64_t at) {
  return block + (size_t)(b->by_rows ? at * ld : at) * f->element;
}

#endif
