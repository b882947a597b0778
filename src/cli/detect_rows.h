/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of davit detect: one for each window and effect. They wait in a temporary file until all are
 * known, because a false discovery rate depends on all of them, and are then written as a table, labels or
 * a picture. In memory are the hits, the number of rows for each p-value, and a picture's envelope.
 *
 * Functions that return an exit code print what is wrong first. */
#ifndef DAVIT_SRC_CLI_DETECT_ROWS_H
#define DAVIT_SRC_CLI_DETECT_ROWS_H

#include <davit/detect.h>
#include <stdio.h>

#include "src/cli/frame/json.h"

typedef enum detect_note {
  DETECT_SHORT = 1,  /* the effect has too few frames */
  DETECT_ALPHA = 2,  /* no p-value is as low as alpha, or as --fdr needs */
  DETECT_STREAM = 4, /* the stream is too short to compare with */
  DETECT_BRIEF = 8   /* the effect is so short that chance alone gives many hits */
} detect_note;

typedef struct detect_label {
  char *name;
  int sound;      /* effects that are one sound at several speeds have the same number */
  double frame_s; /* seconds of a frame */
  unsigned notes; /* bits of detect_note */
} detect_label;

typedef enum detect_decision { DETECT_NOTHING, DETECT_FOUND, DETECT_REPEATED } detect_decision;

typedef struct detect_found {
  davit_detect_hit hit;
  int64_t row;
  detect_decision decision;
} detect_found;

enum { DETECT_BINS = 2048 };

typedef struct detect_rows {
  const detect_label *effects;
  int effect_count;
  double alpha;
  double fdr; /* 0: alpha decides */
  bool any_dependence;
  bool all; /* rows of all windows are written, not only hits */
  int64_t permutations;
  int speeds; /* of a sound */

  FILE *file; /* davit_detect_hit, one after the other */
  int64_t count;
  int64_t *ranks;      /* rows with p-value k / (permutations + 1) */
  double p_value;      /* up to which an effect is detected */
  detect_found *found; /* in the order of rows */
  int64_t found_count, capacity;
  int64_t hits;             /* of them, that are detected; of a live stream, so far */
  float level[DETECT_BINS]; /* maxima */
  double bin_s, length_s;
} detect_rows;

/* `rows` has the members before `file`. */
int detect_rows_open(detect_rows *rows);
void detect_rows_close(detect_rows *rows);

/* hit.effect is the label; times count from the beginning of the stream. hit.detected says whether the
 * effect may be detected, by all but its p-value. */
int detect_rows_add(detect_rows *rows, const davit_detect_hit *hit);

/* Leaves room for rows of other ranks. Later, rank 0 puts them there, and the others read theirs; `row` counts
 * from 0. */
int detect_rows_skip(detect_rows *rows, int64_t count);
int detect_rows_put(detect_rows *rows, int64_t row, int64_t count, const davit_detect_hit *hits);
int detect_rows_get(const detect_rows *rows, int64_t row, int64_t count, davit_detect_hit *hits);

/* The level at a time of the stream; times do not fall. */
void detect_rows_level(detect_rows *rows, double at_s, float level);

/* Decides about all rows. Of hits of one effect that overlap, the one with the highest score stays. */
int detect_rows_decide(detect_rows *rows);

/* After the decision: whether --fdr detects nothing, and would not detect a single row of the lowest p-value
 * that there can be, 1 / (permutations + 1). *needed: how many such rows it takes. */
bool detect_rows_are_too_coarse(const detect_rows *rows, int64_t *needed);

/* The probability that an effect which is not there has a p-value of at most alpha: p-values are multiples of
 * 1 / (permutations + 1). */
double detect_rows_chance(const detect_rows *rows);

/* After the decision: how many hits are to be expected by chance, at most. */
double detect_rows_by_chance(const detect_rows *rows);

/* The table's first line, and a row of it if that is a hit or all are written: false on a write error. */
bool detect_rows_head(FILE *file);
bool detect_rows_row(FILE *file, const detect_rows *rows, const davit_detect_hit *hit,
                     detect_decision decision);

/* The table, labels as Audacity reads them, and an SVG picture; `state` is a detect_rows. */
bool detect_rows_table(FILE *file, const detect_rows *rows);
bool detect_rows_labels(FILE *file, const detect_rows *rows);
bool detect_rows_picture(FILE *file, const detect_rows *rows);

/* "hits", without repetitions. */
void detect_rows_json(cli_json *json, const detect_rows *rows);

/* "short alpha stream brief", as the bits are, or "-"; until the next call. */
const char *detect_notes(unsigned notes);

#endif
