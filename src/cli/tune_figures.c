/* SPDX-License-Identifier: Apache-2.0 */
/* `davit tune gemm`: the figures of the model from which davit chooses tiles, devices and grids. */
#include <string.h>

#include "src/base/error.h"
#include "src/cli/tune.h"

static bool is_figure(const davit_tuning_entry *e) {
  return strcmp(e->capability, "gemm") == 0;
}

/* Whether the entry belongs to one of the devices that are tuned, or to the host. */
static bool is_ours(const tuning *t, const davit_tuning_entry *e, int *device) {
  for (int i = -1; i < t->job.devices.count; i++) {
    davit_device_info info;
    char key[sizeof e->device];
    *device = i < 0 ? DAVIT_HOST : t->job.devices.ids[i];
    if (davit_device_describe(*device, &info) != DAVIT_SUCCESS)
      continue;
    snprintf(key, sizeof key, "%s %s", davit_device_kind_string(info.kind), info.name);
    if (strcmp(key, e->device) == 0)
      return true;
  }
  return false;
}

/* The table's figures of these devices. */
static int collect(tuning *t) {
  int all = 0;
  CLI_TRY(cli_status(davit_tuning_list(0, NULL, &all)));
  davit_tuning_entry *list;
  CLI_ROOM(&t->job, list, all + 1);
  CLI_TRY(cli_status(davit_tuning_list(all, list, &all)));
  t->figures.entries = list;
  t->figures.count = 0;
  for (int i = 0, device; i < all; i++)
    if (is_figure(&list[i]) && is_ours(t, &list[i], &device))
      list[t->figures.count++] = list[i];
  return CLI_OK;
}

static davit_status set_figures(const tuning *t, bool measured) {
  for (int i = 0, device; i < t->figures.count; i++) {
    const davit_tuning_entry *e = &t->figures.entries[i];
    if (is_ours(t, e, &device))
      DVT_TRY(davit_tuning_set(device, e->capability, e->parameter, measured ? e->value : 0, 0));
  }
  return DAVIT_SUCCESS;
}

/* value 0: with the figures that are built in. */
static int measure(void *state, int workload, const int64_t *values, double *seconds) {
  tuning *t = state;
  cli_progress_at(&t->job.progress, t->now->search.runs, 0, "runs");
  CLI_TRY(cli_status(set_figures(t, values[0] != 0)));
  return cli_status(tune_measure(t, workload, seconds));
}

static int compare(tuning *t) {
  static const int64_t measured = 1;
  tune_search *s = &t->figures.run.search;
  bool loses = false;
  *s = (tune_search){.axes = 1,
                     .workloads = t->figures.run.other ? 2 : 1,
                     .repeat = (int)t->repeat,
                     .measure = measure,
                     .state = t};
  t->figures.run.axis_name[0] = "figures";
  t->now = &t->figures.run;
  CLI_TRY(cli_status(tune_open(t)));
  CLI_TRY(tune_search_compare(s, &measured, &loses));
  tune_close(t);
  t->figures.kept = s->tuned = !loses;
  s->complete = true;
  return CLI_OK;
}

int tune_measure_figures(tuning *t) {
  CLI_TRY(collect(t));
  CLI_TRY(cli_status(set_figures(t, false))); /* those of earlier runs: products are what davit chooses */
  CLI_TRY(cli_status(davit_level3_measure(&(davit_level3_measure_options){CLI_DEVICES(t)})));
  CLI_TRY(collect(t));
  t->figures.kept = true;
  if (t->figures.run.size > 0)
    CLI_TRY(compare(t));
  return cli_status(set_figures(t, t->figures.kept));
}
