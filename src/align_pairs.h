/* SPDX-License-Identifier: Apache-2.0 */
/* Many pairs inside the library: what the call (align_pairs_dispatch.c), the form for the host (align_pairs.c) and
 * that for devices (align_pairs_device.c) share; strings are those of align_pairs_text.c. Pairs go in blocks, each
 * the work of one thread, or of one lane of a device. */
#ifndef DAVIT_SRC_ALIGN_PAIRS_H
#define DAVIT_SRC_ALIGN_PAIRS_H

#include "offload/align_pairs_single.h"
#include "src/align_columns.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"

/* The strings of a block, in its order. */
typedef struct dvt_pairs_text {
  char *at;
  int64_t used, room;
} dvt_pairs_text;

typedef struct dvt_pairs {
  davit_align_scoring scoring; /* gap_extend is not more than gap_open */
  const davit_align_sequences *queries, *targets;
  davit_align_mode mode;
  int64_t x_drop;                  /* 0: none, or nothing drops so far */
  int64_t band, largest, smallest; /* entries of the matrix, at least 0, and the other way round */
  int8_t likes[DAVIT_ALIGN_SYMBOLS_MAXIMUM];
  dvt_pair_costs costs;
  bool full, strings;          /* are wanted: stretches, columns */
  int64_t block;               /* pairs of each block but the last */
  davit_align_result *results; /* NULL: the scores alone, */
  int32_t *scores;             /* which only devices store here */
  dvt_pairs_text *texts;       /* of each block */
} dvt_pairs;

/* A pair of a block, in the order in which they are aligned. */
typedef struct dvt_pairs_place {
  int64_t which;
  dvt_pair_part part;
  int64_t class;  /* of lengths */
  int64_t string; /* where its string begins among those of the block, */
  int64_t count;  /* and its characters with the final 0 */
} dvt_pairs_place;

typedef struct dvt_pairs_worker {
  const dvt_pairs *pairs;
  dvt_pair_memory memory;
  dvt_pair_trail trail;    /* of extensions with an X-drop */
  dvt_pairs_place *places; /* of the block */
  char *columns;           /* of one alignment */
  int64_t room;            /* for so many */
  bool related;            /* the last scores did not fit bytes */
  dvt_pairs_text strings;  /* of the block, as they are found */
} dvt_pairs_worker;

davit_status dvt_pairs_open_worker(dvt_pairs_worker *w, const dvt_pairs *p);
void dvt_pairs_close_worker(dvt_pairs_worker *w);

/* All of pair k, and whether its band leaves cells out. */
dvt_pair_part dvt_pairs_whole(const dvt_pairs *p, int64_t k);
static inline bool dvt_pairs_is_cut(const dvt_pair_part *p) {
  return p->low > -p->m || p->high < p->n;
}

/* No extension drops further. `shorter`, `both`: symbols of the shorter sequence of a pair, of both, at most. */
static inline int64_t dvt_pairs_largest_drop(const dvt_pairs *p, int64_t shorter, int64_t both) {
  return shorter * (p->largest + p->smallest) + 3 * (int64_t)p->scoring.gap_open +
         both * p->scoring.gap_extend;
}

/* What a pass may lose: without a band no cell scores less than gaps alone do; with one, it may have to go down a
 * diagonal. */
static inline int64_t dvt_pairs_loss(const dvt_pairs *p, const dvt_pair_part *a) {
  const davit_align_scoring *s = &p->scoring;
  const int64_t extends = dvt_at_most(s->gap_extend, DVT_PAIR_SINGLE_RANGE),
                gaps = 3 * (int64_t)s->gap_open + (a->m + a->n) * extends;
  return gaps + (dvt_pairs_is_cut(a) ? dvt_at_most(a->m, a->n) * p->smallest : 0);
}

/* Whether 32 bits do not hold all scores of all passes. */
static inline bool dvt_pairs_is_wide(const dvt_pairs *p, const dvt_pair_part *a) {
  const int64_t shorter = dvt_at_most(a->m, a->n);
  return shorter * p->largest > DVT_PAIR_SINGLE_RANGE ||
         dvt_pairs_loss(p, a) + shorter * p->smallest > DVT_PAIR_SINGLE_RANGE;
}

/* Maximum number of rows that the band has in a column. */
static inline int64_t dvt_pairs_height(const dvt_pair_part *p) {
  const int64_t band = p->high - p->low + 1;
  return band < p->m ? band : p->m;
}

/* Classes of query lengths, each a fifth longer than the one before. */
int64_t dvt_pairs_length_class(int64_t m);

/* Aligns the first `count` places, whose pairs and parts are set, in an order of its own. */
davit_status dvt_pairs_align_places(dvt_pairs_worker *w, int64_t count);

/* Room for so many characters more. false: there is no memory. */
bool dvt_pairs_reserve_text(dvt_pairs_text *t, int64_t more);

/* Keeps the columns of an alignment of the part, back along its steps. */
davit_status dvt_pairs_walk(dvt_pairs_worker *w, dvt_pairs_place *at, const dvt_pair_part *p,
                            dvt_step_at *step_at, const void *steps);

/* The strings of a block of `count` pairs from `first` on in the order of its pairs. */
davit_status dvt_pairs_order_strings(dvt_pairs_worker *w, int64_t first, int64_t count, dvt_pairs_text *to);

/* Pairs of a block for the host's threads, and all blocks. */
int64_t dvt_pairs_host_block(int64_t count);
davit_status dvt_pairs_on_host(const dvt_pairs *p);

/* ---- extensions with an X-drop ---- (align_pairs_extend.c)
 *
 * Rows of an anti-diagonal that may count, and cells, unless a sequence repeats itself; whether a pair goes side by side
 * with others; some that do; one that does not. */
int64_t dvt_pairs_drop_rows(const dvt_pairs *p, const dvt_pair_part *a);
int64_t dvt_pairs_drop_cells(const dvt_pairs *p, const dvt_pair_part *a);
bool dvt_pairs_extends_in_lanes(const dvt_pairs *p, const dvt_pair_part *a);
davit_status dvt_pairs_extend(dvt_pairs_worker *w, int count, dvt_pairs_place *at);
davit_status dvt_pairs_extend_alone(dvt_pairs_worker *w, dvt_pairs_place *at);

/* ---- devices ---- */

/* Whether the device may have pairs. */
bool dvt_pairs_has_device_form(int device);

/* Seconds on so many devices that are started, by a simple model; `cells`: of all bands. */
double dvt_pairs_device_seconds(const dvt_pairs *p, double cells, int devices);

/* Pairs of a block for so many devices. */
int64_t dvt_pairs_device_block(int64_t count, int devices);

/* All blocks. What the devices do not take threads of the host do. DAVIT_INVALID_ARGUMENT: a symbol is none of the
 * alphabet. */
davit_status dvt_pairs_on_devices(const dvt_pairs *p, int count, const int *devices);

/* davit_align_pairs(), on devices wherever there are some that may have pairs if `devices`, else where it is sooner. */
davit_status dvt_align_pairs(const davit_align_scoring *scoring, const davit_align_sequences *queries,
                             const davit_align_sequences *targets, bool devices, int32_t *scores,
                             davit_align_result *results, char **cigars,
                             const davit_align_pairs_options *options);

#endif
