/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the fastest values. */
#include "src/cli/tune_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double MINIMUM_GAIN = 0.01; /* of the incumbent's time */
static const double SIGMAS = 3;          /* of noise that a gain must exceed */
enum { ROUNDS = 3, COARSE = 5 };         /* trials of a coarse pass */

/* ---- statistics ---- */

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Median, and its standard error from the median absolute deviation, which single slow runs hardly change. */
static void summarise(double *seconds, int count, tune_trial *trial) {
  const double mad_to_sigma = 1.4826, median_to_mean = 1.2533; /* of a normal distribution */
  trial->seconds = median(seconds, count);
  for (int i = 0; i < count; i++)
    seconds[i] = fabs(seconds[i] - trial->seconds);
  trial->noise = mad_to_sigma * median_to_mean * median(seconds, count) / sqrt(count);
}

static bool beats(const tune_trial *challenger, const tune_trial *incumbent) {
  const double gain = incumbent->seconds - challenger->seconds;
  return gain > MINIMUM_GAIN * incumbent->seconds &&
         gain > SIGMAS * hypot(challenger->noise, incumbent->noise);
}

/* ---- trials ---- */

static bool same_values(const tune_search *s, const int64_t *a, const int64_t *b) {
  return memcmp(a, b, (size_t)s->axes * sizeof *a) == 0;
}

static int run_trial(tune_search *s, tune_trial *trial) {
  double seconds[TUNE_MOST_REPEATS], unmeasured;
  int code = s->measure(s->state, trial->value, &unmeasured);
  for (int i = 0; i < s->repeat && code == 0; i++)
    code = s->measure(s->state, trial->value, &seconds[i]);
  if (code == 0)
    summarise(seconds, s->repeat, trial);
  return code;
}

typedef struct descent {
  tune_search *search;
  double end;
  bool over; /* no more trials: the budget is spent, or there is no memory for more */
  int code;
} descent;

/* The trial of these values, which is run if it is new; NULL if no more trials are run. */
static const tune_trial *try_values(descent *p, const int64_t *values) {
  tune_search *s = p->search;
  for (int i = 0; i < s->trials; i++)
    if (same_values(s, s->trial[i].value, values))
      return &s->trial[i];
  if (s->trials > 0 && (s->trials == TUNE_MOST_TRIALS || s->now(s->state) >= p->end))
    p->over = true;
  if (p->over || p->code)
    return NULL;
  tune_trial *trial = &s->trial[s->trials];
  *trial = (tune_trial){.seconds = 0};
  memcpy(trial->value, values, (size_t)s->axes * sizeof *values);
  p->code = run_trial(s, trial);
  s->trials += p->code == 0;
  return p->code ? NULL : trial;
}

/* ---- along an axis ---- */

/* Tries position `at` of the axis, all else as in `base`, and sets *best and *best_at if it was faster. */
static void try_position(descent *p, int axis, int at, const tune_trial *base, const tune_trial **best,
                         int *best_at) {
  int64_t values[TUNE_MOST_AXES];
  const tune_axis *a = &p->search->axis[axis];
  if (at < 0 || at >= a->count)
    return;
  memcpy(values, base->value, sizeof values);
  values[axis] = a->value[at];
  const tune_trial *trial = try_values(p, values);
  if (trial && (*best_at < 0 || trial->seconds < (*best)->seconds)) {
    *best = trial;
    *best_at = at;
  }
}

/* The fastest trial of a coarse pass over the axis and of the neighbours of the fastest; NULL if no trial
 * was run. */
static const tune_trial *search_axis(descent *p, int axis, const tune_trial *base) {
  const int last = p->search->axis[axis].count - 1;
  const int stride = last / (COARSE - 1) > 1 ? last / (COARSE - 1) : 1;
  const tune_trial *best = NULL;
  int best_at = -1;
  for (int at = 0; at <= last; at += stride)
    try_position(p, axis, at, base, &best, &best_at);
  for (int step = (stride + 1) / 2; step > 0 && best_at >= 0 && !p->over && !p->code;) {
    const int centre = best_at;
    try_position(p, axis, centre - step, base, &best, &best_at);
    try_position(p, axis, centre + step, base, &best, &best_at);
    if (best_at == centre)
      step /= 2;
  }
  return best;
}

static const tune_trial *descend(descent *p, const tune_trial *incumbent) {
  for (int round = 0; round < ROUNDS; round++) {
    bool moved = false;
    for (int axis = 0; axis < p->search->axes; axis++) {
      const tune_trial *best = search_axis(p, axis, incumbent);
      if (best && beats(best, incumbent)) {
        incumbent = best;
        moved = true;
      }
    }
    if (!moved || p->search->axes == 1)
      break;
  }
  return incumbent;
}

/* ---- the last comparison ---- */

static int compare_again(tune_search *s) {
  double own[TUNE_MOST_REPEATS], winner[TUNE_MOST_REPEATS], unmeasured;
  const int runs = 2 * s->repeat < TUNE_MOST_REPEATS ? 2 * s->repeat : TUNE_MOST_REPEATS;
  int code = 0;
  for (int i = 0; i < runs && code == 0; i++) {
    code = s->measure(s->state, s->own.value, &unmeasured); /* unmeasured: the values have changed */
    if (code == 0)
      code = s->measure(s->state, s->own.value, &own[i]);
    if (code == 0)
      code = s->measure(s->state, s->winner.value, &unmeasured);
    if (code == 0)
      code = s->measure(s->state, s->winner.value, &winner[i]);
  }
  if (code == 0) {
    summarise(own, runs, &s->own);
    summarise(winner, runs, &s->winner);
  }
  return code;
}

int tune_search_run(tune_search *s) {
  const int64_t own[TUNE_MOST_AXES] = {0};
  descent p = {.search = s, .end = s->now(s->state) + s->budget};
  s->trials = 0;
  s->tuned = false;
  const tune_trial *first = try_values(&p, own);
  if (!first)
    return p.code;
  s->own = *first;
  s->winner = *descend(&p, first);
  s->complete = !p.over;
  if (p.code == 0 && !same_values(s, s->winner.value, own)) {
    p.code = compare_again(s);
    s->tuned = beats(&s->winner, &s->own);
    if (!s->tuned)
      s->winner = s->own;
  }
  return p.code;
}
