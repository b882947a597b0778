/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/tune_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double MINIMUM_GAIN = 0.01; /* of the incumbent's time */
static const double SIGMAS = 3;          /* of noise that a gain must exceed */
enum { FIRST_RUNS = 3 };                 /* of a trial in the first round; then twice as many each time */

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

/* ---- candidates ---- */

typedef struct halving {
  tune_search *search;
  double end;
  bool over; /* no more trials: the budget is spent */
  int code;
  int count, left[TUNE_MOST_TRIALS]; /* candidates, the faster ones of the last round first */
} halving;

/* The next combination; false after the last. */
static bool step(const tune_search *s, int at[TUNE_MOST_AXES]) {
  for (int axis = 0; axis < s->axes; axis++) {
    if (++at[axis] < s->axis[axis].count)
      return true;
    at[axis] = 0;
  }
  return false;
}

/* With too many combinations the axes with most values lose every other one, but not the last. */
static void thin_out(tune_search *s) {
  for (;;) {
    int all = 1, longest = 0;
    for (int axis = 0; axis < s->axes; axis++) {
      all *= s->axis[axis].count;
      longest = s->axis[axis].count > s->axis[longest].count ? axis : longest;
    }
    tune_axis *a = &s->axis[longest];
    if (all < TUNE_MOST_TRIALS)
      return;
    int kept = 0;
    for (int i = (a->count - 1) % 2; i < a->count; i += 2)
      a->value[kept++] = a->value[i];
    a->count = kept;
  }
}

static void list_candidates(halving *h) {
  tune_search *s = h->search;
  int at[TUNE_MOST_AXES] = {0};
  thin_out(s);
  s->trial[0] = (tune_trial){.rounds = 0};
  s->trials = 1;
  s->pruned = 0;
  do {
    tune_trial trial = {.rounds = 0};
    bool fits = true;
    for (int axis = 0; axis < s->axes; axis++)
      trial.value[axis] = s->axis[axis].value[at[axis]];
    if (s->fits)
      h->code = s->fits(s->state, trial.value, &fits);
    if (fits)
      s->trial[s->trials++] = trial;
    else
      s->pruned++;
  } while (h->code == 0 && step(s, at));
  h->count = s->trials;
  for (int i = 0; i < h->count; i++)
    h->left[i] = i;
}

/* ---- rounds ---- */

/* One unmeasured run, as the values have changed, then `runs` others. */
static void run_trial(halving *h, tune_trial *trial, int runs) {
  tune_search *s = h->search;
  double seconds[TUNE_MOST_REPEATS], unmeasured;
  h->code = s->measure(s->state, 0, trial->value, &unmeasured);
  for (int i = 0; i < runs && h->code == 0; i++)
    h->code = s->measure(s->state, 0, trial->value, &seconds[i]);
  if (h->code)
    return;
  summarise(seconds, runs, trial);
  trial->rounds++;
  s->runs += runs;
}

/* Sorts the candidates by their times. All of a round have new ones, unless the budget ended it; then some
 * may have none. */
static void rank(halving *h) {
  const tune_trial *trial = h->search->trial;
  for (int i = 1; i < h->count; i++) {
    const int one = h->left[i];
    int at = i;
    for (; at > 0; at--) {
      const tune_trial *a = &trial[h->left[at - 1]], *b = &trial[one];
      if (b->rounds == 0 || (a->rounds > 0 && a->seconds <= b->seconds))
        break;
      h->left[at] = h->left[at - 1];
    }
    h->left[at] = one;
  }
}

static void run_round(halving *h, int round, int runs) {
  tune_search *s = h->search;
  for (int i = 0; i < h->count && h->code == 0 && !h->over; i++) {
    h->over = (round > 0 || i > 0) && s->now(s->state) >= h->end;
    if (!h->over)
      run_trial(h, &s->trial[h->left[round % 2 ? h->count - 1 - i : i]], runs);
  }
  rank(h);
}

static int at_most(int a, int b) {
  return a < b ? a : b;
}

/* The number of the fastest. */
static int halve(halving *h) {
  int runs = at_most(FIRST_RUNS, h->search->repeat);
  for (int round = 0; h->count > 1 && h->code == 0 && !h->over; round++) {
    run_round(h, round, runs);
    h->count = (h->count + 1) / 2;
    runs = at_most(2 * runs, h->search->repeat);
  }
  return h->left[0];
}

/* Trials that the budget left no time for go. */
static void drop_unmeasured(tune_search *s) {
  int kept = 0;
  for (int i = 0; i < s->trials; i++)
    if (s->trial[i].rounds > 0)
      s->trial[kept++] = s->trial[i];
  s->trials = kept;
}

/* ---- the last comparison ---- */

static int compare_again(tune_search *s, int workload, const tune_trial *candidate) {
  double own[TUNE_MOST_REPEATS], winner[TUNE_MOST_REPEATS], unmeasured;
  const int runs = at_most(2 * s->repeat, TUNE_MOST_REPEATS);
  tune_duel *duel = &s->duel[workload];
  *duel = (tune_duel){.own = {.rounds = 1}, .winner = *candidate};
  int code = 0;
  for (int i = 0; i < runs && code == 0; i++) {
    code = s->measure(s->state, workload, duel->own.value, &unmeasured); /* the values have changed */
    if (code == 0)
      code = s->measure(s->state, workload, duel->own.value, &own[i]);
    if (code == 0)
      code = s->measure(s->state, workload, duel->winner.value, &unmeasured);
    if (code == 0)
      code = s->measure(s->state, workload, duel->winner.value, &winner[i]);
  }
  if (code == 0) {
    summarise(own, runs, &duel->own);
    summarise(winner, runs, &duel->winner);
    s->runs += 2 * runs;
    s->duels++;
  }
  return code;
}

static int decide(tune_search *s, const tune_trial *candidate) {
  int code = compare_again(s, 0, candidate);
  s->tuned = code == 0 && beats(&s->duel[0].winner, &s->duel[0].own);
  for (int workload = 1; workload < s->workloads && code == 0 && s->tuned; workload++) {
    code = compare_again(s, workload, candidate);
    s->tuned = code == 0 && !beats(&s->duel[workload].own, &s->duel[workload].winner);
  }
  s->own = s->duel[0].own;
  s->winner = s->tuned ? s->duel[0].winner : s->own;
  return code;
}

int tune_search_compare(tune_search *s, const int64_t *values, bool *loses) {
  tune_trial candidate = {.rounds = 0};
  int code = 0;
  memcpy(candidate.value, values, (size_t)s->axes * sizeof *values);
  s->runs = s->duels = 0;
  *loses = false;
  for (int workload = 0; workload < s->workloads && code == 0; workload++) {
    code = compare_again(s, workload, &candidate);
    *loses = *loses || (code == 0 && beats(&s->duel[workload].own, &s->duel[workload].winner));
  }
  s->own = s->duel[0].own;
  s->winner = s->duel[0].winner;
  return code;
}

int tune_search_run(tune_search *s) {
  halving h = {.search = s, .end = s->now(s->state) + s->budget};
  s->runs = s->duels = 0;
  s->tuned = false;
  list_candidates(&h);
  const int fastest = h.code ? 0 : halve(&h);
  if (h.code)
    return h.code;
  s->complete = !h.over;
  s->own = s->winner = s->trial[0];
  if (fastest > 0)
    h.code = decide(s, &s->trial[fastest]);
  drop_unmeasured(s);
  return h.code;
}
