/* SPDX-License-Identifier: Apache-2.0 */
/* A search for the fastest values of a few parameters by few measurements, which are noisy.
 *
 * Each parameter is an axis of values. The first trial is the library's own choice. From there the search
 * goes along one axis after the other: a coarse pass, then closer and closer neighbours of the best. The
 * fastest trial replaces the current best only if it is faster by more than the noise of both medians, and
 * by MINIMUM_GAIN. At the end the best and the library's own choice are measured again, run by run in turn,
 * and the best must win again. So neither luck among many trials nor a machine that became slower decides.
 *
 * The search knows neither the library nor what is measured. */
#ifndef DAVIT_SRC_CLI_TUNE_SEARCH_H
#define DAVIT_SRC_CLI_TUNE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum { TUNE_MOST_AXES = 3, TUNE_MOST_VALUES = 40, TUNE_MOST_TRIALS = 256, TUNE_MOST_REPEATS = 101 };

typedef struct tune_axis {
  int count;
  int64_t value[TUNE_MOST_VALUES]; /* ascending, greater than 0 */
} tune_axis;

typedef struct tune_trial {
  int64_t value[TUNE_MOST_AXES]; /* 0: the library's own choice */
  double seconds;                /* median */
  double noise;                  /* standard error of the median */
} tune_trial;

typedef struct tune_search {
  int axes;
  tune_axis axis[TUNE_MOST_AXES];
  int repeat;    /* runs of a trial, at most TUNE_MOST_REPEATS; one more goes before, unmeasured */
  double budget; /* seconds after which no trial is begun */
  /* Runs once with `values` and stores the seconds it took; a result that is not 0 ends the search with that
   * code. */
  int (*measure)(void *state, const int64_t *values, double *seconds);
  double (*now)(void *state); /* seconds */
  void *state;
  /* Results. */
  int trials;
  tune_trial
      trial[TUNE_MOST_TRIALS]; /* in the order in which they were made; the first is the library's choice */
  tune_trial own, winner;      /* the library's choice and the winner, as the last comparison found them */
  bool tuned;                  /* the winner is not the library's choice */
  bool complete;               /* the budget was enough */
} tune_search;

/* 0, or what `measure` returned. */
int tune_search_run(tune_search *search);

#endif
