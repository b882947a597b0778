/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the benchmarks of single operations. */
#include <stdio.h>

#include "bench/measure.h"
#include "src/runtime/lane.h"

void bench_failure(const char *operation, const char *error) {
  bench_row();
  bench_text("backend", dvt_backend_name());
  bench_text("operation", operation);
  bench_text("error", error);
  fprintf(stderr, "%s: %s\n", operation, error);
}

static double floor_of(const bench_site *site, const bench_case *what) {
  int devices = what->devices > 1 && site->gpu ? what->devices : 1; /* host devices share one memory */
  double least = site->copy > 0 ? what->bytes / site->copy : 0;
  if (what->link_bytes > 0 && site->gpu)
    least = site->link > 0 ? what->link_bytes / site->link : 0;
  double arithmetic = what->peak > 0 ? what->flops / what->peak : 0;
  return (arithmetic > least ? arithmetic : least) / devices;
}

static void describe(const bench_site *site, const bench_case *what) {
  bench_text("backend", dvt_backend_name());
  bench_number("device", site->device);
  bench_text("operation", what->operation);
  if (what->type)
    bench_text("type", what->type);
  if (what->variant)
    bench_text("variant", what->variant);
  bench_text("form", what->form);
  bench_number(what->cols > 0 ? "rows" : "n", (double)what->rows);
  if (what->cols > 0)
    bench_number("cols", (double)what->cols);
  bench_number("devices", what->devices < 1 ? 1 : what->devices);
  fprintf(stderr, "%2d %-10s %-3s %-13s %-7s %10lld", site->device, what->operation,
          what->type ? what->type : "", what->variant ? what->variant : "", what->form,
          (long long)what->rows);
  if (what->cols > 0)
    fprintf(stderr, " x %-8lld", (long long)what->cols);
  if (what->devices > 0)
    fprintf(stderr, " devices %d", what->devices);
}

static void rates(const bench_case *what, const bench_time *time) {
  bench_number("median_us", 1e6 * time->median);
  bench_number("best_us", 1e6 * time->best);
  fprintf(stderr, ": %12.2f us", 1e6 * time->median);
  if (what->bytes > 0) {
    bench_number("bytes", what->bytes);
    bench_number("gbs", 1e-9 * what->bytes / time->median);
    fprintf(stderr, " %8.1f GB/s", 1e-9 * what->bytes / time->median);
  }
  if (what->flops > 0) {
    bench_number("gflops", 1e-9 * what->flops / time->median);
    fprintf(stderr, " %8.1f GFLOP/s", 1e-9 * what->flops / time->median);
  }
}

static void against(const char *peer, const bench_time *peer_time, const bench_time *time) {
  if (!peer_time)
    return;
  bench_text("peer", peer);
  if (peer_time->error[0]) {
    bench_text("peer_error", peer_time->error);
    fprintf(stderr, "  %s: %s", peer, peer_time->error);
    return;
  }
  bench_number("peer_us", 1e6 * peer_time->median);
  if (time->median <= 0)
    return;
  bench_number("ratio", peer_time->median / time->median);
  fprintf(stderr, "  %s %.2f us, ratio %.3f", peer, 1e6 * peer_time->median,
          peer_time->median / time->median);
}

void bench_report(const bench_site *site, const bench_case *what, const bench_time *time, const char *peer,
                  const bench_time *peer_time) {
  double least = floor_of(site, what);
  bench_row();
  describe(site, what);
  if (time->error[0]) {
    bench_text("error", time->error);
    fprintf(stderr, ": %s", time->error);
  } else {
    rates(what, time);
  }
  if (least > 0)
    bench_number("floor_us", 1e6 * least);
  if (least > 0 && time->median > 0) {
    bench_number("of_floor", least / time->median);
    fprintf(stderr, "  floor/time %.3f", least / time->median);
  }
  against(peer, peer_time, time);
  fputc('\n', stderr);
}

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

/* ---- several devices ---- */

bench_spread bench_spread_read(const bench_settings *settings) {
  bench_spread spread = {.count = 0};
  int present = 0;
  if (davit_device_defaults(BENCH_MOST, spread.devices, &present) != DAVIT_SUCCESS)
    bench_failure("devices", davit_last_error());
  for (int i = 0; i < settings->count_count; i++) {
    const int64_t count = settings->counts[i];
    if (count < 1 || count > present || count > BENCH_MOST)
      continue;
    spread.counts[spread.count_count++] = (int)count;
    spread.most = (int)count > spread.most ? (int)count : spread.most;
  }
  return spread;
}

bool bench_series_next(bench_series *series) {
  if (series->next == series->spread->count_count)
    return false;
  series->spread->count = series->spread->counts[series->next++];
  return true;
}

void bench_series_row(bench_series *series, const bench_site *site, bench_case what, bench_work work,
                      void *argument) {
  bench_time time = bench_wall_time(site, work, argument);
  what.devices = series->spread->count;
  if (series->batch > 1) {
    time.median /= series->batch;
    time.best /= series->batch;
  }
  if (series->first.median <= 0 || series->bytes <= 0) {
    bench_report(site, &what, &time, NULL, NULL);
    series->first = time;
    series->bytes = what.bytes;
    snprintf(series->name, sizeof series->name, "%d device%s", what.devices, what.devices > 1 ? "s" : "");
    return;
  }
  bench_time scaled = series->first;
  scaled.median *= what.bytes / series->bytes;
  bench_report(site, &what, &time, series->name, &scaled);
}

static bool open_slab(int device, davit_type type, const int64_t *lengths, bench_slab *slab) {
  bool complete = davit_queue_create(device, &slab->queue, NULL) == DAVIT_SUCCESS;
  if (!complete)
    bench_failure("queue", davit_last_error());
  for (int k = 0; k < BENCH_OPERANDS && complete; k++)
    if (lengths[k] > 0)
      complete = (slab->operand[k] = bench_vector(device, type, lengths[k])) != NULL;
  return complete;
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
    for (int k = 0; k < BENCH_OPERANDS; k++)
      davit_free(slabs[d].operand[k]);
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
