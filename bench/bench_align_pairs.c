/* SPDX-License-Identifier: Apache-2.0 */
/* Many pairs at once: davit_align_pairs() on the CPU or on GPUs (of which --pairs 1000000 is a fair measure), where
 * that is sooner, beside parasail on all threads of the CPU. Clocks and the options of all programs: bench/measure.h;
 * floors: bench/cells.h. Rows of GPUs say how long the symbols and results travel at least, too (--link, 10^9 bytes a
 * second).
 *
 * --pairs pairs of --queries symbols with --targets symbols (two lists of one length): a target is random, its query a
 * stretch of it of which one place in ten has another symbol, one in thirty is left out and one comes twice. Bases
 * (+2, -3, gaps 7 and 2) and residues (BLOSUM62, gaps 11 and 1). --unrelated 1: random queries as well. --band: that
 * of more rows, without a peer; 0: none. --host-part 1: rows "host scores" and "host stretches" alone, calls for a
 * device whose kernels and copies are left out: what the host does for it. --x-drop: that of extensions, beside those
 * without one; their queries begin where the targets do; 0: no such rows.
 *
 * Rows: "scores" are scores alone, "columns" with the strings, of local alignments; "global" of global ones, with the
 * strings; "extension" and "extension scores" of extensions. Cells count once. The peers are parasail's functions for
 * one pair, with words of 16 bits; "sat": with words of 8 bits, and 16 where these overflow. Scores are compared. */
#include <stdio.h>
#include <string.h>

#include "bench/cells.h"
#include "bench/peers/parasail.h"
#include "offload/align_pairs_stream.h"
#include "src/align_pairs.h"
#include "src/base/arithmetic.h"
#include "src/base/team.h"

typedef struct problem {
  bench_cells *cells;
  const char *variant, *form;
  davit_align_scoring scoring;
  davit_align_sequences queries, targets;
  davit_align_pairs_options options;
  const int *list; /* of devices */
  int devices;
  peer_parasail_targets *peer_queries, *peer_targets;
  peer_parasail_way way; /* of the first peer; the second's is the next one */
  bool related, begins;
  int32_t *scores, *peer_scores;
  davit_align_result *results; /* NULL: scores alone */
} problem;

/* ---- sequences ---- */

static int below(uint64_t *state, int bound) {
  return (int)((bench_random(state) >> 33) % (uint64_t)bound);
}

/* A relative of a stretch of the target, which begins anywhere, or where the target does; or a random one. */
static void make_query(bool related, bool begins, const uint8_t *target, int64_t n, int symbols,
                       uint64_t *state, int64_t m, uint8_t *query) {
  if (!related) {
    for (int64_t i = 0; i < m; i++)
      query[i] = (uint8_t)below(state, symbols);
    return;
  }
  int64_t from = n > m && !begins ? below(state, (int)(n - m)) : 0;
  for (int64_t i = 0; i < m; i++) {
    const int chance = below(state, 30);
    from += chance == 0;
    from -= chance == 1 && from > 0;
    query[i] = chance > 1 && chance < 5 ? (uint8_t)below(state, symbols) : target[from++ % n];
  }
}

static davit_align_sequences sequences_of(int64_t count, int64_t length) {
  int64_t *offsets = bench_memory(DAVIT_PAGEABLE, ((size_t)count + 1) * sizeof *offsets);
  for (int64_t k = 0; offsets && k <= count; k++)
    offsets[k] = k * length;
  return (davit_align_sequences){count, offsets, bench_memory(DAVIT_PAGEABLE, (size_t)(count * length) + 1)};
}

/* The library is handed symbols as constant. */
static void *own(const void *memory) {
  return (void *)(uintptr_t)memory;
}

static bool make_pairs(problem *p, int64_t count, int64_t m, int64_t n, int symbols) {
  uint64_t state = 1000003 * (uint64_t)(m + n);
  p->queries = sequences_of(count, m);
  p->targets = sequences_of(count, n);
  p->scores = bench_memory(DAVIT_PAGEABLE, (size_t)count * sizeof *p->scores);
  p->peer_scores = bench_memory(DAVIT_PAGEABLE, (size_t)count * sizeof *p->peer_scores);
  if (!p->queries.offsets || !p->queries.symbols || !p->targets.offsets || !p->targets.symbols ||
      !p->scores || !p->peer_scores)
    return false;
  uint8_t *target = own(p->targets.symbols), *query = own(p->queries.symbols);
  for (int64_t k = 0; k < count; k++) {
    for (int64_t j = 0; j < n; j++)
      target[k * n + j] = (uint8_t)below(&state, symbols);
    make_query(p->related, p->begins, target + k * n, n, symbols, &state, m, query + k * m);
  }
  return true;
}

static void free_pairs(const problem *p) {
  davit_free(own(p->queries.offsets));
  davit_free(own(p->queries.symbols));
  davit_free(own(p->targets.offsets));
  davit_free(own(p->targets.symbols));
  davit_free(p->scores);
  davit_free(p->peer_scores);
}

/* ---- the host's part ---- */

static bool host_part;

/* The linker puts these in the places of the functions without __wrap_ (bench/CMakeLists.txt). */
bool __real_dvt_pairs_has_device_form(int device);
bool __wrap_dvt_pairs_has_device_form(int device);
davit_status __real_dvt_pairs_stream(const dvt_site *site, const void *work);
davit_status __wrap_dvt_pairs_stream(const dvt_site *site, const void *work);

bool __wrap_dvt_pairs_has_device_form(int device) {
  return host_part || __real_dvt_pairs_has_device_form(device);
}

davit_status __wrap_dvt_pairs_stream(const dvt_site *site, const void *work) {
  const dvt_pairs_work *w = work;
  if (!host_part)
    return __real_dvt_pairs_stream(site, work);
  memset(w->found, 0, (size_t)w->count * sizeof *w->found);
  return DAVIT_SUCCESS;
}

static davit_status host_call(void *argument) {
  const problem *p = argument;
  return dvt_align_pairs(&p->scoring, &p->queries, &p->targets, true, p->scores, p->results, NULL,
                         &p->options);
}

/* ---- rows ---- */

static davit_status pairs_call(void *argument) {
  const problem *p = argument;
  char *cigars = NULL;
  const davit_status status = davit_align_pairs(&p->scoring, &p->queries, &p->targets, p->scores, p->results,
                                                p->results ? &cigars : NULL, &p->options);
  davit_free(cigars);
  return status;
}

static davit_status peer_call(const problem *p, int which) {
  return peer_parasail_pairs(p->peer_queries, p->peer_targets, &p->scoring, p->way + (unsigned)which,
                             dvt_threads(), p->peer_scores);
}

static davit_status first_call(void *argument) {
  return peer_call(argument, 0);
}

static davit_status second_call(void *argument) {
  return peer_call(argument, 1);
}

/* Of all symbols, and of the results without strings. */
static double link_bytes(const problem *p) {
  const int64_t count = p->targets.count;
  return (double)(p->queries.offsets[count] + p->targets.offsets[count] + count * (p->results ? 24 : 4));
}

static void measure(problem *p) {
  const bench_work works[] = {host_part ? host_call : pairs_call, first_call, second_call};
  const bool extends = p->options.mode == DAVIT_ALIGN_EXTENSION,
             peer = p->peer_queries && p->peer_targets && p->options.band == 0 && !extends && !host_part,
             alone = !p->results;
  const char *const peers[] = {alone ? "parasail_16" : "parasail_striped",
                               alone ? "parasail_sat" : "parasail_scan", NULL};
  const int64_t m = p->queries.offsets[1], n = p->targets.offsets[1], count = p->targets.count;
  bench_time times[3];
  bench_case what = {.operation = "align pairs",
                     .variant = p->variant,
                     .form = p->form,
                     .rows = m,
                     .cols = n,
                     .devices = p->devices};
  bench_wall_turns(p->cells->site, peer ? 3 : 1, works, p, times);
  const bench_time *best = peer && times[2].processor < times[1].processor ? &times[2] : &times[1];
  bench_report(p->cells->site, &what, &times[0], peer ? "parasail's best" : NULL, peer ? best : NULL);
  bench_number("pairs", (double)count);
  bench_number("band", (double)p->options.band);
  bench_number("x_drop", (double)p->options.x_drop);
  bench_number("processor_ns", 1e9 * times->processor / (double)count);
  bench_number("pair_us", 1e6 * (p->cells->site->gpu ? times->median : times->processor) / (double)count);
  if (p->cells->site->gpu)
    bench_number("copies_us", 1e-3 * link_bytes(p) / (double)bench_whole("link", 55) / p->devices);
  bench_cells_report(p->cells, (double)m * (double)n * (double)count, BENCH_SHORTS, p->devices, times,
                     peer ? peers : NULL);
  if (peer && memcmp(p->scores, p->peer_scores, (size_t)count * sizeof *p->scores) != 0)
    bench_failure("align pairs", "parasail has other scores");
}

/* `results`: NULL for scores alone. */
static void measure_form(problem *p, const char *form, davit_align_result *results) {
  p->form = form;
  p->results = results;
  measure(p);
}

static void measure_host(problem *p, davit_align_result *results) {
  static const int first = 0;
  host_part = true;
  p->options = (davit_align_pairs_options){.devices = &first, .device_count = 1};
  measure_form(p, "host scores", NULL);
  measure_form(p, "host stretches", results);
  host_part = false;
}

static void measure_forms(problem *p, davit_align_result *results, int64_t band) {
  p->options = (davit_align_pairs_options){.devices = p->list, .device_count = p->devices, .band = band};
  p->way = PEER_PARASAIL_PAIRS_16;
  measure_form(p, "scores", NULL);
  p->way = PEER_PARASAIL_TRACE_STRIPED;
  measure_form(p, "columns", results);
  p->way = PEER_PARASAIL_GLOBAL_STRIPED;
  p->options.mode = DAVIT_ALIGN_GLOBAL;
  measure_form(p, "global", results);
}

static void measure_extensions(problem *p, davit_align_result *results, int64_t x_drop) {
  p->options = (davit_align_pairs_options){
      .devices = p->list, .device_count = p->devices, .mode = DAVIT_ALIGN_EXTENSION, .x_drop = x_drop};
  measure_form(p, "extension scores", NULL);
  measure_form(p, "extension", results);
}

static void measure_beside_peers(problem *p, davit_align_result *results) {
  const int64_t band = bench_whole("band", 16);
  const bool peer = p->cells->site->peers && PEER_PARASAIL && p->devices == 1;
  p->peer_queries = peer ? peer_parasail_targets_create(&p->queries, &p->scoring) : NULL;
  p->peer_targets = peer ? peer_parasail_targets_create(&p->targets, &p->scoring) : NULL;
  measure_forms(p, results, 0);
  if (band > 0 && p->related)
    measure_forms(p, results, band);
  if (p->peer_queries)
    peer_parasail_targets_destroy(p->peer_queries);
  if (p->peer_targets)
    peer_parasail_targets_destroy(p->peer_targets);
}

static void measure_lengths(problem *p, int symbols, int64_t m, int64_t n) {
  const int64_t count = bench_whole("pairs", 1000), x_drop = bench_whole("x-drop", 0);
  const bool host = bench_whole("host-part", 0);
  davit_align_result *results = bench_memory(DAVIT_PAGEABLE, (size_t)count * sizeof *results);
  if (make_pairs(p, count, m, n, symbols) && results)
    (host ? measure_host : measure_beside_peers)(p, results);
  free_pairs(p);
  if (x_drop > 0 && !host) {
    p->begins = true;
    if (make_pairs(p, count, m, n, symbols) && results) {
      measure_extensions(p, results, 0);
      measure_extensions(p, results, x_drop);
    }
    free_pairs(p);
    p->begins = false;
  }
  davit_free(results);
}

static void measure_alphabet(problem *p, int symbols) {
  const bench_values queries = bench_sizes("queries", "150,300,1000"),
                     targets = bench_sizes("targets", "300,300,1000");
  for (int i = 0; i < queries.count && i < targets.count; i++)
    if (queries.at[i] > 0 && targets.at[i] > 0)
      measure_lengths(p, symbols, queries.at[i], targets.at[i]);
}

static void measure_both(problem *p, int symbols, const char *related, const char *unrelated) {
  p->variant = related;
  p->related = true;
  measure_alphabet(p, symbols);
  p->variant = unrelated;
  p->related = false;
  if (bench_whole("unrelated", 0))
    measure_alphabet(p, symbols);
}

static void measure_devices(bench_cells *cells, const int *list, int devices) {
  problem p = {.cells = cells, .list = list, .devices = devices};
  int8_t matrix[16];
  davit_align_matrix blosum;
  for (int k = 0; k < 16; k++)
    matrix[k] = k % 4 == k / 4 ? 2 : -3;
  p.scoring = (davit_align_scoring){.symbols = 4, .matrix = matrix, .gap_open = 7, .gap_extend = 2};
  measure_both(&p, 4, "bases", "unrelated bases");
  bench_check(davit_align_matrix_find("BLOSUM62", &blosum), "matrix");
  p.scoring = (davit_align_scoring){
      .symbols = blosum.symbols, .matrix = blosum.scores, .gap_open = 11, .gap_extend = 1};
  measure_both(&p, 20, "residues", "unrelated residues");
}

static void measure_site(bench_cells *cells, bool several) {
  measure_devices(cells, &cells->site->device, 1);
  if (!several)
    return;
  const bench_spread over = bench_spread_read();
  for (int i = 0; i < over.counts.count; i++)
    if (over.counts.at[i] > 1)
      measure_devices(cells, over.devices, (int)over.counts.at[i]);
}

static const char usage[] =
    "bench_align_pairs [--pairs 1000] [--queries 150,300,1000] [--targets 300,300,1000] [--band 16]\n"
    "                  [--x-drop 0] [--host-part 0] [--unrelated 0] [--avx2 0] [--clock "
    "1.98]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  return bench_cells_run("align_pairs", usage, argc, argv, PEER_PARASAIL, measure_site);
}
