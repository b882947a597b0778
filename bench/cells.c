/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/cells.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/cpu.h"
#include "src/runtime/place.h"

void bench_cells_open(int device, bench_site *site, bench_cells *cells) {
  davit_device_info info;
  bench_check(davit_device_describe(device, &info), "device");
  const bool gpu = bench_is_gpu(device);
  *site = (bench_site){.device = device,
                       .gpu = gpu,
                       .peers = bench_whole("peers", 1) != 0,
                       .repeats = bench_count("repeats", 5)};
  *cells = (bench_cells){.site = site, .threads = gpu ? 0 : dvt_device_threads(device)};
  cells->clock = gpu ? 1e9 * atof(bench_option("clock", "1.98")) : bench_core_clock();
  cells->units = info.compute_units;
}

/* Cells of one core in a cycle. */
static double core_cells(bench_words words) {
  const dvt_cpu cpu = dvt_cpu_best();
  const double bytes = cpu == DVT_CPU_AVX512 ? 64
                       : cpu == DVT_CPU_AVX2 ? 32
                                             : 16,
               word = words == BENCH_BYTES    ? 1
                      : words == BENCH_SHORTS ? 2
                                              : 4;
  return bytes / word / (words == BENCH_FLOATS ? 5 : cpu == DVT_CPU_AVX512 ? 6 : 3);
}

/* Those of one multiprocessor: it has no words of 8 bits. */
static double multiprocessor_cells(bench_words words) {
  return words == BENCH_FLOATS ? 128 / 7.5 : words == BENCH_WORDS ? 64 / 5.5 : 2 * 64 / 4.5;
}

static void report_core(const bench_cells *cells, double count, double floor, const bench_time *times,
                        const char *const *peers) {
  char key[64];
  bench_number("cores", cells->threads);
  bench_number("cpu_us", 1e6 * times->processor);
  bench_number("gcups_core", 1e-9 * count / times->processor);
  bench_number("of_floor", floor * cells->threads / times->processor);
  fprintf(stderr, "   %.2f GCUPS a core, floor/time %.3f", 1e-9 * count / times->processor,
          floor * cells->threads / times->processor);
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
               floor = count / (each * cells->clock);
  bench_number("cells", count);
  bench_number("clock_ghz", 1e-9 * cells->clock);
  bench_number("floor_us", 1e6 * floor);
  if (times->median <= 0)
    return;
  bench_number("gcups", 1e-9 * count / times->median);
  if (!cells->site->gpu) {
    report_core(cells, count, floor, times, peers);
    return;
  }
  bench_number("of_floor", floor / times->median);
  fprintf(stderr, "   %.1f GCUPS, floor/time %.3f\n", 1e-9 * count / times->median, floor / times->median);
}

int bench_cells_run(const char *name, const char *usage, int argc, char **argv, bool peer_there,
                    bench_cells_program *measure) {
  const bench_values devices = bench_open(usage, argc, argv);
  if (bench_whole("avx2", 0))
    dvt_cpu_allow(DVT_CPU_AVX2);
  bench_begin(name);
  if (bench_whole("peers", 1) && !peer_there)
    bench_failure("peer", "parasail was not installed when this was built");
  for (int i = 0; i < devices.count; i++) {
    bench_site site;
    bench_cells cells;
    bench_cells_open((int)devices.at[i], &site, &cells);
    measure(&cells, i == 0 && site.gpu);
  }
  return bench_finish();
}

uint64_t bench_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
