/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/series.h"

#include <stdio.h>

bench_time bench_queue_row(const bench_site *site, const bench_case *what, bench_work work,
                           const bench_peers *peers, void *argument) {
  const bench_time time = bench_queue_time(site, work, argument);
  if (peers->stream && site->gpu) {
    const bench_time peer = bench_stream_time(site, peers->stream, argument);
    bench_report(site, what, &time, peers->stream_name, &peer);
  } else if (peers->host && !site->gpu && site->peers) {
    const bench_time peer = bench_wall_time(site, peers->host, argument);
    bench_report(site, what, &time, peers->host_name, &peer);
  } else {
    bench_report(site, what, &time, NULL, NULL);
  }
  return time;
}

void bench_plain_row(const bench_site *site, const bench_case *what, bench_work work,
                     const bench_peers *peers, void *argument) {
  bench_case plain = *what;
  plain.form = "plain";
  if (site->gpu)
    return;
  const bench_time time = bench_wall_time(site, work, argument);
  const bench_time peer =
      site->peers ? bench_wall_time(site, peers->host, argument) : (bench_time){.median = 0};
  bench_report(site, &plain, &time, site->peers ? peers->host_name : NULL, site->peers ? &peer : NULL);
}

bool bench_vectors_open(int place, davit_type type, const int64_t lengths[BENCH_OPERANDS],
                        void *operand[BENCH_OPERANDS]) {
  bool complete = true;
  for (int k = 0; k < BENCH_OPERANDS; k++) {
    operand[k] = complete && lengths[k] > 0 ? bench_vector(place, type, lengths[k]) : NULL;
    complete = complete && (operand[k] || lengths[k] <= 0);
  }
  return complete;
}

void bench_vectors_close(void *operand[BENCH_OPERANDS]) {
  for (int k = 0; k < BENCH_OPERANDS; k++) {
    davit_free(operand[k]);
    operand[k] = NULL;
  }
}

/* ---- several devices ---- */

bench_spread bench_spread_read(void) {
  bench_spread spread = {.count = 0};
  const bench_values counts = bench_sizes("devices", "1,2,4");
  int present = 0;
  if (davit_device_defaults(BENCH_MOST, spread.devices, &present) != DAVIT_SUCCESS)
    bench_failure("devices", davit_last_error());
  for (int i = 0; i < counts.count; i++)
    if (counts.at[i] <= present && counts.at[i] <= BENCH_MOST)
      spread.counts.at[spread.counts.count++] = counts.at[i];
  spread.most = spread.counts.count > 0 ? (int)bench_largest(&spread.counts) : 0;
  return spread;
}

/* What the later rows of a series are compared with: the first. */
typedef struct first_row {
  bench_time time;
  double bytes;
  char name[24];
} first_row;

static void series_row(const bench_spread *spread, const bench_site *site, int batch, bench_case what,
                       bench_work work, void *argument, first_row *first) {
  bench_time time = bench_wall_time(site, work, argument);
  what.devices = spread->count;
  time.median /= batch;
  time.best /= batch;
  if (first->time.median <= 0 || first->bytes <= 0) {
    bench_report(site, &what, &time, NULL, NULL);
    *first = (first_row){.time = time, .bytes = what.bytes};
    snprintf(first->name, sizeof first->name, "%d device%s", what.devices, what.devices > 1 ? "s" : "");
    return;
  }
  bench_time scaled = first->time;
  scaled.median *= what.bytes / first->bytes;
  bench_report(site, &what, &time, first->name, &scaled);
}

void bench_series(bench_spread *spread, const bench_site *site, bench_case what, bench_work work,
                  void *argument) {
  first_row first = {.bytes = 0};
  for (int i = 0; i < spread->counts.count; i++) {
    spread->count = (int)spread->counts.at[i];
    series_row(spread, site, 1, what, work, argument, &first);
  }
}

void bench_both_series(bench_spread *spread, const bench_site *site, int batch, bench_divide *divide,
                       bench_work work, void *argument) {
  for (int weak = 0; weak < 2; weak++) {
    first_row first = {.bytes = 0};
    for (int i = 0; i < spread->counts.count; i++) {
      spread->count = (int)spread->counts.at[i];
      series_row(spread, site, batch, divide(argument, weak), work, argument, &first);
    }
  }
}

static bool open_slab(int device, davit_type type, const int64_t *lengths, bench_slab *slab) {
  if (davit_queue_create(device, &slab->queue, NULL) == DAVIT_SUCCESS)
    return bench_vectors_open(device, type, lengths, slab->operand);
  bench_failure("queue", davit_last_error());
  return false;
}

bool bench_slabs_open(const bench_spread *spread, davit_type type, const int64_t lengths[BENCH_OPERANDS],
                      bench_slab *slabs) {
  bool complete = spread->most > 0;
  for (int d = 0; d < spread->most; d++) {
    slabs[d] = (bench_slab){.cols = 0};
    complete = complete && open_slab(spread->devices[d], type, lengths, &slabs[d]);
  }
  if (!complete)
    bench_slabs_close(spread, slabs);
  return complete;
}

void bench_slabs_close(const bench_spread *spread, bench_slab *slabs) {
  for (int d = 0; d < spread->most; d++) {
    davit_queue_destroy(slabs[d].queue);
    bench_vectors_close(slabs[d].operand);
  }
}

davit_status bench_slabs_call(const bench_spread *spread, int batch, const bench_slab *slabs,
                              davit_status (*enqueue)(const bench_slab *slab, const void *argument),
                              const void *argument) {
  davit_status status = DAVIT_SUCCESS;
  for (int i = 0; i < batch && status == DAVIT_SUCCESS; i++)
    for (int d = 0; d < spread->count && status == DAVIT_SUCCESS; d++)
      status = enqueue(&slabs[d], argument);
  for (int d = 0; d < spread->count; d++) {
    davit_status end = davit_queue_synchronize(slabs[d].queue);
    status = status == DAVIT_SUCCESS ? end : status;
  }
  return status;
}
/* ---- programs ---- */

int bench_run(const char *name, const char *usage, int argc, char **argv, bench_program *measure) {
  const bench_values devices = bench_open(usage, argc, argv);
  bench_begin(name);
  const bench_spread spread = bench_spread_read();
  for (int i = 0; i < devices.count; i++) {
    bench_site site;
    if (!bench_site_open((int)devices.at[i], &site))
      continue;
    measure(&site, i == 0 ? &spread : NULL);
    bench_site_close(&site);
  }
  return bench_finish();
}
