/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/cells.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/cpu.h"
#include "src/runtime/place.h"

void bench_cells_open(const bench_settings *settings, int device, bench_site *site, bench_cells *cells) {
  davit_device_info info;
  bench_check(davit_device_describe(device, &info), "device");
  const bool gpu = info.kind != DAVIT_DEVICE_CPU && info.kind != DAVIT_DEVICE_HOST_OFFLOAD;
  *site = (bench_site){.device = device,
                       .gpu = gpu,
                       .peers = settings->peers,
                       .repeats = settings->repeats > 0 ? settings->repeats : 5};
  *cells = (bench_cells){.site = site, .threads = gpu ? 0 : dvt_device_threads(device)};
  cells->clock =
      gpu ? 1e9 * atof(bench_option(settings->argc, settings->argv, "clock", "1.98")) : bench_core_clock();
  cells->units = info.compute_units;
}

/* Cells of one core in a cycle. */
static double core_cells(bench_words words) {
  const dvt_cpu cpu = dvt_cpu_best();
  const double bytes = cpu == DVT_CPU_AVX512 ? 64 : cpu == DVT_CPU_AVX2 ? 32 : 16;
  if (words == BENCH_FLOATS)
    return bytes / 4 / 5;
  return bytes / (words == BENCH_BYTES ? 1 : 2) / (cpu == DVT_CPU_AVX512 ? 6 : 3);
}

/* Those of one multiprocessor: it has no words of 8 bits. */
static double multiprocessor_cells(bench_words words) {
  return words == BENCH_FLOATS ? 128 / 7.5 : 2 * 64 / 4.5;
}

static void report_core(const bench_cells *cells, double count, double least, const bench_time *times,
                        const char *const *peers) {
  char key[64];
  bench_number("cores", cells->threads);
  bench_number("cpu_us", 1e6 * times->processor);
  bench_number("gcups_core", 1e-9 * count / times->processor);
  bench_number("of_floor", least * cells->threads / times->processor);
  fprintf(stderr, "   %.2f GCUPS a core, floor/time %.3f", 1e-9 * count / times->processor,
          least * cells->threads / times->processor);
  for (int k = 0; peers && peers[k]; k++)
    if (times[k + 1].processor > 0) {
      snprintf(key, sizeof key, "%s_gcups_core", peers[k]);
      bench_number(key, 1e-9 * count / times[k + 1].processor);
      snprintf(key, sizeof key, "%s_ratio_core", peers[k]);
      bench_number(key, times[k + 1].processor / times->processor);
      fprintf(stderr, "; a core by %s: %.3f", peers[k], times[k + 1].processor / times->processor);
    }
  fputc('\n', stderr);
}

void bench_cells_report(bench_cells *cells, double count, bench_words words, int devices,
                        const bench_time *times, const char *const *peers) {
  if (!cells->site->gpu) {
    const double clock = bench_core_clock();
    cells->clock = clock > cells->clock ? clock : cells->clock;
  }
  const double each = cells->site->gpu ? multiprocessor_cells(words) * cells->units * devices
                                       : core_cells(words) * cells->threads,
               least = count / (each * cells->clock);
  bench_number("cells", count);
  bench_number("clock_ghz", 1e-9 * cells->clock);
  bench_number("floor_us", 1e6 * least);
  if (times->median <= 0)
    return;
  bench_number("gcups", 1e-9 * count / times->median);
  if (!cells->site->gpu) {
    report_core(cells, count, least, times, peers);
    return;
  }
  bench_number("of_floor", least / times->median);
  fprintf(stderr, "   %.1f GCUPS, floor/time %.3f\n", 1e-9 * count / times->median, least / times->median);
}

int bench_cells_run(const char *name, const char *usage, int argc, char **argv, bool peer_there,
                    bench_cells_program *measure) {
  bench_settings settings;
  bench_settings_read(&settings, usage, argc, argv);
  if (atoi(bench_option(argc, argv, "avx2", "0")))
    dvt_cpu_allow(DVT_CPU_AVX2);
  bench_begin(name, argc, argv);
  if (settings.peers && !peer_there)
    bench_failure("peer", "parasail was not installed when this was built");
  for (int i = 0; i < settings.device_count; i++) {
    bench_site site;
    bench_cells cells;
    bench_cells_open(&settings, settings.devices[i], &site, &cells);
    measure(&settings, &cells, i == 0 && site.gpu);
  }
  bench_end();
  bench_check(davit_finalize(), "finalize");
  return 0;
}

uint64_t bench_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
