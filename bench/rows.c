/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/rows.h"

#include <stdio.h>

#include "src/runtime/lane.h"

void bench_failure(const char *operation, const char *error) {
  bench_row();
  bench_text("backend", davit_backend_string());
  bench_text("operation", operation);
  bench_text("error", error);
  fprintf(stderr, "%s: %s\n", operation, error);
}

static double floor_of(const bench_site *site, const bench_case *what) {
  int devices = what->devices > 1 && site->gpu ? what->devices : 1; /* host devices share one memory */
  double floor = site->copy > 0 ? what->bytes / site->copy : 0;
  if (what->link_bytes > 0 && site->gpu)
    floor = site->link > 0 ? what->link_bytes / site->link : 0;
  double arithmetic = what->peak > 0 ? what->flops / what->peak : 0;
  return (arithmetic > floor ? arithmetic : floor) / devices;
}

static void describe(const bench_site *site, const bench_case *what) {
  bench_text("backend", davit_backend_string());
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
  const double floor = floor_of(site, what);
  bench_row();
  describe(site, what);
  if (time->error[0]) {
    bench_text("error", time->error);
    fprintf(stderr, ": %s", time->error);
  } else {
    rates(what, time);
  }
  if (floor > 0)
    bench_number("floor_us", 1e6 * floor);
  if (floor > 0 && time->median > 0) {
    bench_number("of_floor", floor / time->median);
    fprintf(stderr, "  floor/time %.3f", floor / time->median);
  }
  against(peer, peer_time, time);
  fputc('\n', stderr);
}
