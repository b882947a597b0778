/* SPDX-License-Identifier: Apache-2.0 */
/* A search for the fastest values of a few parameters by few measurements, which are noisy: successive
 * halving.
 *
 * Each parameter is an axis of values. The candidates are the library's own choice and all combinations of
 * values that fit the device; those that do not are never run. In each round every candidate that is left is
 * measured, a few runs each, and the faster half stays; the fewer there are, the more runs each gets. Rounds
 * go through the candidates in alternating order, so that a machine which slows down steadily prefers none.
 * The last one and the library's own choice are then measured again, run by run in turn: it must win by more
 * than the noise of both medians and by MINIMUM_GAIN. It must also not lose, by the same margin, in the other
 * workloads. So neither luck among many trials nor a machine that became slower decides, and what is best for
 * one size is not taken if it is worse for another.
 *
 * The search knows neither the library nor what is measured. The same times give the same result. */
#ifndef DAVIT_SRC_CLI_TUNE_SEARCH_H
#define DAVIT_SRC_CLI_TUNE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum {
  TUNE_MOST_AXES = 3,
  TUNE_MOST_VALUES = 40,
  TUNE_MOST_TRIALS = 97, /* the library's own choice, and 96 combinations */
  TUNE_MOST_REPEATS = 101,
  TUNE_MOST_WORKLOADS = 2
};

typedef struct tune_axis {
  int count;
  int64_t value
      [TUNE_MOST_VALUES]; /* ascending; 0 beside values of other axes: the library's own choice of this one */
} tune_axis;

typedef struct tune_trial {
  int64_t value[TUNE_MOST_AXES]; /* 0: the library's own choice */
  int rounds;                    /* in which it was measured */
  double seconds;                /* median of the last of them */
  double noise;                  /* standard error of the median */
} tune_trial;

/* A comparison of the library's choice with the last candidate, in one workload. */
typedef struct tune_duel {
  tune_trial own, winner;
} tune_duel;

typedef struct tune_search {
  int axes;
  tune_axis axis[TUNE_MOST_AXES];
  int workloads; /* the first one decides; in no other may the winner lose */
  int repeat;    /* runs of a trial, at most TUNE_MOST_REPEATS; one more goes before, unmeasured */
  double budget; /* seconds after which no trial is begun */
  /* Stores whether the device can run these values, and whether they are another choice than smaller ones; a
   * result that is not 0 ends the search with that code. NULL: it can run all. */
  int (*fits)(void *state, const int64_t *values, bool *fits);
  /* Runs once with `values` and stores the seconds it took; a result that is not 0 ends the search with that
   * code. */
  int (*measure)(void *state, int workload, const int64_t *values, double *seconds);
  double (*now)(void *state); /* seconds */
  void *state;
  /* Results. */
  int pruned;                          /* combinations that do not fit */
  int trials;                          /* measured */
  tune_trial trial[TUNE_MOST_TRIALS];  /* the first is the library's choice */
  int runs;                            /* all that were measured */
  int duels;                           /* 0: no candidate was faster than the library's choice */
  tune_duel duel[TUNE_MOST_WORKLOADS]; /* of the last candidate */
  tune_trial own, winner;              /* in the first workload; the same if nothing was won */
  bool tuned;                          /* the winner is not the library's choice */
  bool complete;                       /* the budget was enough */
} tune_search;

/* 0, or what `measure` or `fits` returned. */
int tune_search_run(tune_search *search);

/* The last comparison alone, of the library's choice and these values, in all workloads. Stores whether
 * the values lose in one of them by more than the noise. */
int tune_search_compare(tune_search *search, const int64_t *values, bool *loses);

#endif
