/* SPDX-License-Identifier: Apache-2.0 */
/* The search of `davit tune`, on made-up machines. */
#include "src/cli/tune_search.h"

#include "tests/support.h"

/* A machine whose time for a value is known, with noise, drift and a clock of its own. */
typedef struct machine {
  double (*seconds)(const int64_t *values);
  double (*elsewhere)(const int64_t *values); /* in the second workload */
  bool (*holds)(const int64_t *values);       /* what fits it; NULL: all */
  double noise;                               /* relative */
  double drift;                               /* of the time, for each run */
  uint64_t random;
  double clock;
  int runs, fails_at;
  int wrong; /* runs of values that do not fit */
} machine;

static int run_machine(void *state, int workload, const int64_t *values, double *seconds) {
  machine *m = state;
  if (++m->runs == m->fails_at)
    return 4;
  m->wrong += m->holds && values[0] && !m->holds(values);
  double uniform = (double)(next_random(&m->random) >> 11) * 0x1p-53;
  double slow = random_below(&m->random, 20) == 0 ? 3 : 1; /* now and then something else runs */
  *seconds = (workload ? m->elsewhere : m->seconds)(values) * (1 + m->noise * (2 * uniform - 1)) *
             (m->noise > 0 ? slow : 1) * (1 + m->drift * m->runs);
  m->clock += *seconds;
  return 0;
}

static int ask_machine(void *state, const int64_t *values, bool *fits) {
  const machine *m = state;
  *fits = m->holds(values);
  return 0;
}

static double machine_clock(void *state) {
  return ((machine *)state)->clock;
}

static tune_search search_of(machine *m, int axes, int values, double budget) {
  tune_search s = {.axes = axes,
                   .workloads = m->elsewhere ? 2 : 1,
                   .repeat = 7,
                   .budget = budget,
                   .fits = m->holds ? ask_machine : NULL,
                   .measure = run_machine,
                   .now = machine_clock,
                   .state = m};
  for (int axis = 0; axis < axes; axis++)
    for (int i = 0; i < values; i++)
      s.axis[axis].value[s.axis[axis].count++] = (int64_t)1 << i;
  return s;
}

/* Best at 2^9, where it takes half of the library's own choice. */
static double valley(const int64_t *values) {
  return values[0] == 0 ? 1 : 0.5 + 0.05 * fabs(log2((double)values[0]) - 9);
}

static double bowl(const int64_t *values) {
  double x = values[0] ? log2((double)values[0]) : 3, y = values[1] ? log2((double)values[1]) : 3;
  return 1 + 0.02 * ((x - 7) * (x - 7) + (y - 2) * (y - 2));
}

static double flat(const int64_t *values) {
  (void)values;
  return 1;
}

static double worse(const int64_t *values) {
  return values[0] ? 1.3 : 1;
}

/* A multiprocessor with room for 2^9 threads, of which the fastest shapes would take more. */
static bool has_room(const int64_t *values) {
  return values[0] * values[1] <= 1 << 9;
}

static double greedy(const int64_t *values) {
  return values[0] ? 1 / log2(2 + (double)(values[0] * values[1])) : 1;
}

CASE(test_search_finds) {
  for (uint64_t seed = 0; seed < 50; seed++) {
    machine m = {.seconds = valley, .noise = 0.02, .random = seed};
    tune_search s = search_of(&m, 1, 20, 1e9);
    assert_int_equal(tune_search_run(&s), 0);
    assert_true(s.tuned && s.complete);
    if (s.winner.value[0] < 1 << 8 || s.winner.value[0] > 1 << 10)
      fail_msg("seed %d: the winner is %d", (int)seed, (int)s.winner.value[0]);
  }
  machine exact = {.seconds = bowl};
  tune_search s = search_of(&exact, 2, 9, 1e9);
  assert_int_equal(tune_search_run(&s), 0);
  assert_true(s.tuned);
  assert_int_equal(s.winner.value[0], 1 << 7);
  assert_int_equal(s.winner.value[1], 1 << 2);
  /* The winner is the fastest trial, and no combination stands twice. */
  for (int i = 0; i < s.trials; i++) {
    assert_true(s.trial[i].seconds >= s.winner.seconds);
    for (int j = 0; j < i; j++)
      assert_true(memcmp(s.trial[i].value, s.trial[j].value, 2 * sizeof(int64_t)) != 0);
  }
}

/* 21 candidates, then 11, 6, 3, 2 and one: 3, 6, 7, 7 and 7 runs of each, and 14 of each at the end. */
CASE(test_search_halves) {
  static const int left[] = {21, 11, 6, 3, 2};
  machine m = {.seconds = valley};
  tune_search s = search_of(&m, 1, 20, 1e9);
  assert_int_equal(tune_search_run(&s), 0);
  assert_int_equal(s.trials, 21);
  for (int round = 1; round <= COUNT(left); round++) {
    int measured = 0;
    for (int i = 0; i < s.trials; i++)
      measured += s.trial[i].rounds >= round;
    assert_int_equal(measured, left[round - 1]);
  }
  assert_int_equal(s.runs, 21 * 3 + 11 * 6 + (6 + 3 + 2) * 7 + 2 * 14);
  assert_int_equal(m.runs, s.runs + 21 + 11 + 6 + 3 + 2 + 2 * 14); /* and those that are not measured */
  /* 40 x 40 combinations are thinned out: at most 96, with the largest values. */
  machine wide = {.seconds = bowl};
  s = search_of(&wide, 2, 40, 1e9);
  assert_int_equal(tune_search_run(&s), 0);
  assert_true(s.trials <= TUNE_MOST_TRIALS && s.trials > TUNE_MOST_TRIALS / 3);
  assert_true(s.trial[s.trials - 1].value[0] == INT64_C(1) << 39);
  assert_true(s.trial[s.trials - 1].value[1] == INT64_C(1) << 39);
}

/* What does not fit is not run, and the best of what fits wins. */
CASE(test_search_prunes) {
  machine m = {.seconds = greedy, .holds = has_room, .noise = 0.001};
  tune_search s = search_of(&m, 2, 8, 1e9);
  assert_int_equal(tune_search_run(&s), 0);
  assert_int_equal(m.wrong, 0);
  assert_int_equal(s.pruned, 15); /* 2^i 2^j > 2^9 with i, j < 8 */
  assert_int_equal(s.trials, 1 + 64 - 15);
  assert_true(s.tuned);
  assert_int_equal(s.winner.value[0] * s.winner.value[1], 1 << 9);
}

/* Luck and drift make no winner. */
CASE(test_search_keeps) {
  int tuned = 0;
  for (uint64_t seed = 0; seed < 300; seed++) {
    machine noisy = {.seconds = flat, .noise = 0.1, .random = seed};
    tune_search s = search_of(&noisy, 1, 20, 1e9);
    assert_int_equal(tune_search_run(&s), 0);
    tuned += s.tuned;
    assert_true(s.tuned || s.winner.value[0] == 0);
    machine warming = {.seconds = flat, .noise = 0.005, .drift = -0.002, .random = seed};
    s = search_of(&warming, 1, 20, 1e9);
    assert_int_equal(tune_search_run(&s), 0);
    tuned += s.tuned;
  }
  if (tuned > 6)
    fail_msg("%d of 600 searches took noise for a gain", tuned);
  machine m = {.seconds = worse, .noise = 0.01};
  tune_search s = search_of(&m, 1, 20, 1e9);
  assert_int_equal(tune_search_run(&s), 0);
  assert_false(s.tuned);
}

/* A gain in one workload is none if it is paid for in the other. */
CASE(test_search_workloads) {
  machine m = {.seconds = valley, .elsewhere = worse, .noise = 0.01};
  tune_search s = search_of(&m, 1, 20, 1e9);
  assert_int_equal(tune_search_run(&s), 0);
  assert_false(s.tuned);
  assert_int_equal(s.duels, 2);
  assert_true(s.duel[0].winner.seconds < s.duel[0].own.seconds);
  assert_true(s.duel[1].winner.seconds > s.duel[1].own.seconds);
  m = (machine){.seconds = valley, .elsewhere = flat, .noise = 0.01};
  s = search_of(&m, 1, 20, 1e9);
  assert_int_equal(tune_search_run(&s), 0);
  assert_true(s.tuned);
}

CASE(test_search_ends) {
  machine m = {.seconds = valley};
  tune_search s = search_of(&m, 1, 20, 0);
  assert_int_equal(tune_search_run(&s), 0); /* no time: the library's own choice alone */
  assert_int_equal(s.trials, 1);
  assert_false(s.complete || s.tuned);
  m = (machine){.seconds = valley};
  s = search_of(&m, 1, 20, 12);
  assert_int_equal(tune_search_run(&s), 0);
  assert_true(s.trials > 1 && s.trials < 6 && !s.complete);
  /* The budget ends in the second round, which begins with the slower ones: the fastest counts all the same. */
  m = (machine){.seconds = valley};
  s = search_of(&m, 1, 20, 65);
  assert_int_equal(tune_search_run(&s), 0);
  assert_true(s.trials == 21 && !s.complete && s.tuned);
  assert_int_equal(s.winner.value[0], 1 << 9);
  for (int at = 1; at < 200; at += 13) {
    m = (machine){.seconds = valley, .fails_at = at};
    s = search_of(&m, 1, 20, 1e9);
    assert_int_equal(tune_search_run(&s), m.runs == at ? 4 : 0);
    assert_true(m.runs == at);
  }
}

CASE(test_search_repeats) {
  machine m = {.seconds = valley, .noise = 0.05, .random = 3}, same = m;
  tune_search first = search_of(&m, 1, 20, 1e9), second = search_of(&same, 1, 20, 1e9);
  assert_int_equal(tune_search_run(&first), 0);
  assert_int_equal(tune_search_run(&second), 0);
  assert_int_equal(first.trials, second.trials);
  assert_memory_equal(first.trial, second.trial, (size_t)first.trials * sizeof *first.trial);
  assert_memory_equal(&first.winner, &second.winner, sizeof first.winner);
}
