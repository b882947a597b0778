/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `davit tune`: a table of trials for each search, and what won by how much. */
#include <inttypes.h>

#include "src/cli/formats/names.h"
#include "src/cli/tune.h"

static double gain_of(const tune_search *s) {
  return s->own.seconds / s->winner.seconds;
}

/* ---- text ---- */

static void print_value(int64_t value) {
  if (value)
    printf("  %14" PRId64, value);
  else
    printf("  %14s", "-");
}

static void print_trial(const tune_search *s, const tune_trial *trial) {
  for (int axis = 0; axis < s->axes; axis++)
    print_value(trial->value[axis]);
  printf("  %6d  %11.6g  %9.2g\n", trial->rounds, trial->seconds, trial->noise);
}

static void print_shape(const char *whose, const davit_tuning_shape *s) {
  printf("%s kernel: %d threads of %d registers, %zu bytes of team memory, %d team%s on a multiprocessor, "
         "occupancy %.0f %%\n",
         whose, s->threads, s->registers, s->team_bytes, s->teams, CLI_PLURAL(s->teams), 100 * s->occupancy);
}

static void print_outcome(const tune_run *r) {
  const tune_search *s = &r->search;
  if (!s->complete)
    printf("the budget of %g s is spent; there may be better values\n", s->budget);
  if (s->tuned) {
    printf("fastest, %.6g s against %.6g s of davit's own choice (%.3f times as fast), run in turn:",
           s->winner.seconds, s->own.seconds, gain_of(s));
    for (int axis = 0; axis < s->axes; axis++)
      printf(" %s = %" PRId64, r->axis_name[axis], s->winner.value[axis]);
    printf("\n");
  } else if (s->duels > 1) {
    printf("what is faster here is slower for n = %" PRId64 ", so davit's own choice stays\n", r->other);
  } else {
    printf("nothing is faster than davit's own choice by more than the noise\n");
  }
}

static void print_run(const tuning *t, const tune_run *r) {
  const tune_search *s = &r->search;
  printf("%s: %s, n = %" PRId64 ", on", r->capability->name, r->capability->what, r->size);
  for (int i = 0; i < t->job.devices.count; i++)
    printf(" %d", t->job.devices.ids[i]);
  printf("; %d trial%s, %d run%s, %d combination%s not fit\n", s->trials, CLI_PLURAL(s->trials), s->runs,
         CLI_PLURAL(s->runs), s->pruned, s->pruned == 1 ? " does" : "s do");
  for (int axis = 0; axis < s->axes; axis++)
    printf("  %14s", r->axis_name[axis]);
  printf("  %6s  %11s  %9s\n", "rounds", "seconds", "noise");
  for (int i = 0; i < s->trials; i++)
    print_trial(s, &s->trial[i]);
  if (r->has_shapes)
    print_shape("own", &r->own_shape);
  if (r->has_shapes && s->tuned)
    print_shape("fastest", &r->shape);
  print_outcome(r);
}

static void print_figures(const tune_figures *f) {
  for (const davit_tuning_entry *e = f->entries; e < f->entries + f->count; e++)
    printf("%s = %" PRId64 " on %s\n", e->parameter, e->value, e->device);
  for (int i = 0; i < f->run.search.duels; i++)
    printf("n = %" PRId64 ": %.6g s with these figures, %.6g s with the built-in ones, run in turn\n",
           i ? f->run.other : f->run.size, f->run.search.duel[i].winner.seconds,
           f->run.search.duel[i].own.seconds);
  printf("%s\n", f->kept ? "the measured figures are used"
                         : "products are slower with them, so the built-in ones stay");
}

void tune_print(const tuning *t) {
  if (t->figures.wanted)
    print_figures(&t->figures);
  for (int i = 0; i < t->runs; i++)
    print_run(t, &t->run[i]);
  cli_write_plain(stdout, t->path);
  puts(t->written ? "" : ": nothing is written");
}

/* ---- JSON ---- */

static void json_trial(cli_json *json, const tune_run *r, const char *key, const tune_trial *trial) {
  cli_json_open_object(json, key);
  cli_json_open_object(json, "values");
  for (int axis = 0; axis < r->search.axes; axis++)
    cli_json_integer(json, r->axis_name[axis], trial->value[axis]);
  cli_json_close_object(json);
  cli_json_integer(json, "rounds", trial->rounds);
  cli_json_real(json, "seconds", trial->seconds);
  cli_json_real(json, "noise", trial->noise);
  cli_json_close_object(json);
}

static void json_shape(cli_json *json, const char *key, const davit_tuning_shape *shape) {
  cli_json_open_object(json, key);
  cli_json_integer(json, "threads", shape->threads);
  cli_json_integer(json, "registers", shape->registers);
  cli_json_integer(json, "team_bytes", (int64_t)shape->team_bytes);
  cli_json_integer(json, "teams", shape->teams);
  cli_json_real(json, "occupancy", shape->occupancy);
  cli_json_close_object(json);
}

static void json_comparisons(cli_json *json, const tune_run *r) {
  const tune_search *s = &r->search;
  cli_json_open_array(json, "comparisons");
  for (int i = 0; i < s->duels; i++) {
    cli_json_open_object(json, NULL);
    cli_json_integer(json, "n", i ? r->other : r->size);
    json_trial(json, r, "own", &s->duel[i].own);
    json_trial(json, r, "candidate", &s->duel[i].winner);
    cli_json_close_object(json);
  }
  cli_json_close_array(json);
}

static void json_run(cli_json *json, const tune_run *r) {
  const tune_search *s = &r->search;
  cli_json_open_object(json, NULL);
  cli_json_string(json, "what", r->capability->what);
  cli_json_integer(json, "n", r->size);
  cli_json_bool(json, "complete", s->complete);
  cli_json_bool(json, "tuned", s->tuned);
  cli_json_real(json, "gain", gain_of(s));
  json_trial(json, r, "own", &s->own);
  json_trial(json, r, "winner", &s->winner);
  if (r->has_shapes) {
    json_shape(json, "own_shape", &r->own_shape);
    json_shape(json, "winner_shape", &r->shape);
  }
  json_comparisons(json, r);
  cli_json_integer(json, "pruned", s->pruned);
  cli_json_integer(json, "runs", s->runs);
  cli_json_open_array(json, "trials");
  for (int i = 0; i < s->trials; i++)
    json_trial(json, r, NULL, &s->trial[i]);
  cli_json_close_array(json);
  cli_json_close_object(json);
}

void tune_json_entries(cli_json *json, const char *key, const davit_tuning_entry *entries, int count,
                       bool all) {
  cli_json_open_array(json, key);
  for (const davit_tuning_entry *e = entries; e < entries + count; e++) {
    cli_json_open_object(json, NULL);
    cli_json_string(json, "device", e->device);
    if (all)
      cli_json_string(json, "capability", tune_name_of(e->capability));
    cli_json_string(json, "parameter", e->parameter);
    cli_json_integer(json, "value", e->value);
    if (all)
      cli_json_real(json, "seconds", e->seconds);
    cli_json_close_object(json);
  }
  cli_json_close_array(json);
}

static void json_figures(cli_json *json, const tune_figures *f) {
  cli_json_open_object(json, "figures");
  cli_json_bool(json, "kept", f->kept);
  tune_json_entries(json, "measured", f->entries, f->count, false);
  json_comparisons(json, &f->run);
  cli_json_close_object(json);
}

void tune_json(cli_json *json, const tuning *t) {
  davit_device_info info;
  bool complete = true, tuned = false;
  for (int i = 0; i < t->runs; i++) {
    complete = complete && t->run[i].search.complete;
    tuned = tuned || t->run[i].search.tuned;
  }
  cli_json_string(json, "capability", t->name);
  if (davit_device_describe(t->job.devices.ids[0], &info) == DAVIT_SUCCESS)
    cli_json_string(json, "device_name", info.name);
  cli_json_integer(json, "repeat", t->repeat);
  cli_json_bool(json, "complete", complete);
  cli_json_bool(json, "tuned", tuned);
  cli_json_bool(json, "written", t->written);
  if (t->figures.wanted)
    json_figures(json, &t->figures);
  cli_json_open_array(json, "searches");
  for (int i = 0; i < t->runs; i++)
    json_run(json, &t->run[i]);
  cli_json_close_array(json);
}
