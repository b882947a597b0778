/* SPDX-License-Identifier: Apache-2.0 */
/* Alignment: a query against a database of proteins and of reads, and one long pair, on one device and on
 * several. Clocks and the options of all programs: bench/measure.h; floors: bench/cells.h.
 *
 * Databases are synthetic: --count proteins of one length ("even"), or of lengths as Swiss-Prot has them
 * ("mixed": log-normal, median 295, sigma 0.63, 20 to 35000), residues by the frequencies of A. B. Robinson
 * and L. R. Robinson (1991); BLOSUM62, gaps 11 and 1. On the CPU --count is 20000. --profile 1: queries as profiles
 * with the matrix's entries as well. --parts 2: also with half of the memory that the targets take, so that most of
 * them are brought to the device by every query. Both are to give the same scores. --reads: that many reads
 * of 150 bases, and one of them as the query; +2, -3, gaps 5 and 2. --genome: a target of that many bases, and a
 * changed read of --read bases from its middle as the query. --pair: a sequence of bases and, as the
 * query, a part of it (--share 10: a tenth; on a GPU all of it as well) with a change in every tenth place;
 * --unrelated 1: random bases and residues of these lengths as well. 0 leaves a figure out.
 *
 * Rows: "search" is a call of davit_align_scores with the wait for its scores; on a CPU in turns with
 * parasail's striped functions on as many threads, with words of 16 bits, and with words of 8 bits and 16
 * where these overflow ("sat"). Scores are compared. parasail_16_ratio_core and the like are the peer's
 * processor time by davit's; of a pair words of 8 bits alone as well, where they hold its score. "trace" is
 * davit_align_trace with the columns. --avx2 1 leaves vectors of 512 bits out, which parasail does not have. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cells.h"
#include "bench/peers/parasail.h"
#include "src/base/arithmetic.h"

enum { READ_LENGTH = 150, DEALT = 4096 /* entries of a table of residues, 2^12 */ };

typedef struct problem {
  bench_cells *cells;
  const char *variant, *form;
  size_t cache_bytes;
  davit_align_scoring scoring;
  davit_align_sequences targets;
  int64_t m;
  uint8_t *query;
  davit_align_database *database;
  peer_parasail_targets *peer;
  int32_t *scores, *peer_scores;
  int devices;
  bool related; /* the pair */
} problem;

/* ---- sequences ---- */

/* A symbol for each of DEALT equal chances. */
typedef uint8_t chances[DEALT];

/* In a thousand, in the order of the matrix: ARNDCQEGHILKMFPSTWYV. */
static void protein_chances(chances table) {
  static const double frequencies[] = {78.05, 51.29, 44.87, 53.64, 19.25, 42.64, 62.95, 73.77, 21.99, 51.42,
                                       90.19, 57.44, 22.43, 38.56, 52.03, 71.20, 58.41, 13.30, 32.16, 64.41};
  double sum = 0;
  int at = 0;
  for (int k = 0; k < 20; k++) {
    sum += frequencies[k] / 1000;
    while (at < DEALT && (at + 0.5 < sum * (double)DEALT || k == 19))
      table[at++] = (uint8_t)k;
  }
}

static void base_chances(chances table) {
  for (int k = 0; k < DEALT; k++)
    table[k] = (uint8_t)(k % 4);
}

static void fill(const chances table, uint64_t seed, int64_t length, uint8_t *symbols) {
  uint64_t state = seed;
  for (int64_t i = 0; i < length; i++)
    symbols[i] = table[bench_random(&state) >> 52];
}

static double fraction(uint64_t *state) {
  return ((double)(bench_random(state) >> 11) + 0.5) * 0x1p-53;
}

static int64_t mixed_length(uint64_t *state) {
  const double normal = sqrt(-2 * log(fraction(state))) * cos(6.283185307179586 * fraction(state));
  const double length = 295 * exp(0.63 * normal);
  return length < 20 ? 20 : length > 35000 ? 35000 : (int64_t)length;
}

/* length 0: mixed. */
static bool make_targets(problem *p, const chances table, int64_t count, int64_t length) {
  int64_t *offsets = bench_memory(DAVIT_PAGEABLE, ((size_t)count + 1) * sizeof *offsets);
  uint64_t state = 17;
  p->targets = (davit_align_sequences){.offsets = offsets};
  if (!offsets)
    return false;
  offsets[0] = 0;
  for (int64_t k = 0; k < count; k++)
    offsets[k + 1] = offsets[k] + (length > 0 ? length : mixed_length(&state));
  uint8_t *symbols = bench_memory(DAVIT_PAGEABLE, (size_t)offsets[count] + 1);
  p->targets = (davit_align_sequences){count, offsets, symbols};
  if (!symbols)
    return false;
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < count; k++)
    fill(table, 1000003 * (uint64_t)(k + 1), offsets[k + 1] - offsets[k], symbols + offsets[k]);
  return true;
}

/* Symbols that are handed to the library as constant, and freed. */
static void free_targets(problem *p) {
  davit_free((void *)(uintptr_t)p->targets.offsets);
  davit_free((void *)(uintptr_t)p->targets.symbols);
}

/* ---- a query against a database ---- */

static davit_status search_call(void *argument) {
  const problem *p = argument;
  return davit_align_scores(p->database, &p->scoring, p->m, p->query, p->scores);
}

static davit_status narrow_call(void *argument) {
  const problem *p = argument;
  return peer_parasail_scores(p->peer, &p->scoring, p->m, p->query, PEER_PARASAIL_SATURATING,
                              p->cells->threads, p->peer_scores);
}

static davit_status wide_call(void *argument) {
  const problem *p = argument;
  return peer_parasail_scores(p->peer, &p->scoring, p->m, p->query, PEER_PARASAIL_16, p->cells->threads,
                              p->peer_scores);
}

static davit_status byte_call(void *argument) {
  const problem *p = argument;
  return peer_parasail_scores(p->peer, &p->scoring, p->m, p->query, PEER_PARASAIL_8, p->cells->threads,
                              p->peer_scores);
}

/* Whether bytes alone hold all scores. */
static bool fits_bytes(problem *p) {
  bench_check(search_call(p), "search");
  bench_check(byte_call(p), "parasail");
  return memcmp(p->scores, p->peer_scores, (size_t)p->targets.count * sizeof *p->scores) == 0;
}

static double cells_of(const problem *p) {
  return (double)p->m * (double)p->targets.offsets[p->targets.count];
}

static bench_time search(problem *p, bench_words words) {
  static const bench_work works[] = {search_call, wide_call, narrow_call, byte_call};
  const bool peer = p->peer != NULL, bytes = peer && p->targets.count == 1 && fits_bytes(p);
  const char *const peers[] = {"parasail_16", "parasail_sat", bytes ? "parasail_8" : NULL, NULL};
  bench_time times[4];
  bench_case what = {.operation = "align",
                     .variant = p->variant,
                     .form = p->form,
                     .rows = p->m,
                     .cols = p->targets.offsets[p->targets.count],
                     .devices = p->devices};
  bench_wall_turns(p->cells->site, bytes ? 4 : peer ? 3 : 1, works, p, times);
  bench_report(p->cells->site, &what, &times[0], peer ? "parasail sat" : NULL, peer ? &times[2] : NULL);
  bench_number("targets", (double)p->targets.count);
  bench_cells_report(p->cells, cells_of(p), words, p->devices, times, peer ? peers : NULL);
  if (peer && memcmp(p->scores, p->peer_scores, (size_t)p->targets.count * sizeof *p->scores) != 0)
    bench_failure("align", "parasail has other scores");
  return times[0];
}

/* A database for the targets and memory for their scores, on the devices; members that could not be made are
 * NULL. */
static bool open_database(problem *p, const int *devices, int count) {
  const size_t bytes = (size_t)p->targets.count * sizeof *p->scores;
  const bool peer = p->cells->threads > 0 && p->cells->site->peers && PEER_PARASAIL;
  p->devices = count;
  p->database = NULL;
  p->peer = peer ? peer_parasail_targets_create(&p->targets, &p->scoring) : NULL;
  p->scores = bench_memory(DAVIT_PAGEABLE, bytes);
  p->peer_scores = bench_memory(DAVIT_PAGEABLE, bytes);
  const davit_align_database_options options = {
      .devices = devices, .device_count = count, .cache_bytes = p->cache_bytes};
  if (davit_align_database_create(&p->targets, p->scoring.symbols, &p->database, &options) != DAVIT_SUCCESS)
    bench_failure("database", davit_last_error());
  return p->database && p->scores && p->peer_scores;
}

static void close_database(problem *p) {
  bench_check(davit_align_database_destroy(p->database), "database");
  if (p->peer)
    peer_parasail_targets_destroy(p->peer);
  davit_free(p->scores);
  davit_free(p->peer_scores);
}

/* Of the scores; *before is that of an earlier search, or 0. */
static void compare_scores(const problem *p, uint64_t *before) {
  uint64_t sum = 1;
  for (int64_t k = 0; k < p->targets.count; k++)
    sum = (sum ^ (uint32_t)p->scores[k]) * UINT64_C(0x100000001b3);
  if (*before && sum != *before)
    bench_failure(p->form, "it has other scores");
  *before = sum;
}

/* The same by a profile with the matrix's entries. */
static void search_profile(problem *p, uint64_t *scores) {
  const davit_align_scoring by_matrix = p->scoring;
  const char *form = p->form;
  int8_t *profile = bench_memory(DAVIT_PAGEABLE, (size_t)(p->m * by_matrix.symbols));
  for (int t = 0; profile && t < by_matrix.symbols; t++)
    for (int64_t j = 0; j < p->m; j++)
      profile[j + t * p->m] = by_matrix.matrix[p->query[j] + t * by_matrix.symbols];
  if (profile) {
    p->scoring.matrix = NULL;
    p->scoring.profile = profile;
    p->form = "search profile";
    search(p, BENCH_BYTES);
    compare_scores(p, scores);
  }
  p->scoring = by_matrix;
  p->form = form;
  davit_free(profile);
}

static void search_queries(problem *p, const chances table, const bench_values *queries, bool profile,
                           uint64_t *scores) {
  if (open_database(p, &p->cells->site->device, 1))
    for (int i = 0; i < queries->count; i++) {
      p->m = queries->at[i];
      p->query = bench_memory(DAVIT_PAGEABLE, (size_t)p->m);
      if (p->query) {
        fill(table, 4242 + (uint64_t)p->m, p->m, p->query);
        search(p, BENCH_BYTES);
        compare_scores(p, &scores[i]);
        if (profile)
          search_profile(p, &scores[i]);
      }
      davit_free(p->query);
    }
  close_database(p);
}

static void search_proteins(problem *p, const chances table) {
  const bench_values queries = bench_sizes("queries", "144,375,1000,5000");
  const size_t parts = (size_t)bench_whole("parts", 0),
               bytes = (size_t)p->targets.offsets[p->targets.count] + 12 * (size_t)p->targets.count;
  uint64_t scores[sizeof queries.at / sizeof *queries.at] = {0};
  search_queries(p, table, &queries, bench_whole("profile", 0), scores);
  if (parts < 1)
    return;
  p->form = "search parts";
  p->cache_bytes = bytes / parts;
  search_queries(p, table, &queries, false, scores);
  p->form = "search";
  p->cache_bytes = 0;
}

/* The same search by more and more devices. */
static void spread(problem *p, const chances table) {
  const bench_spread over = bench_spread_read();
  uint8_t query[1000];
  double first = 0;
  p->m = sizeof query;
  p->query = query;
  fill(table, 4242, p->m, query);
  for (int i = 0; i < over.counts.count; i++) {
    if (open_database(p, over.devices, (int)over.counts.at[i])) {
      const bench_time time = search(p, BENCH_BYTES);
      first = i == 0 ? time.median : first;
      if (time.median > 0)
        bench_number("speedup", first / time.median);
    }
    close_database(p);
  }
}

static void pairs(problem *p, const chances table);

static void proteins(problem *p, bool several) {
  static chances table;
  const bool gpu = p->cells->site->gpu;
  const int64_t count = bench_whole("count", gpu ? 1000000 : 20000), length = bench_whole("length", 360),
                mixed = bench_whole("mixed", 1);
  davit_align_matrix matrix;
  bench_check(davit_align_matrix_find("BLOSUM62", &matrix), "matrix");
  protein_chances(table);
  p->scoring = (davit_align_scoring){
      .symbols = matrix.symbols, .matrix = matrix.scores, .gap_open = 11, .gap_extend = 1};
  for (int kind = 0; kind < (mixed ? 2 : 1) && count > 0; kind++) {
    p->variant = kind == 0 ? "even" : "mixed";
    if (make_targets(p, table, count, kind == 0 ? length : 0)) {
      search_proteins(p, table);
      if (several)
        spread(p, table);
    }
    free_targets(p);
  }
  p->variant = "pair proteins";
  p->related = false;
  if (bench_whole("unrelated", 0))
    pairs(p, table);
}

/* ---- bases ---- */

static void reads(problem *p, const chances table) {
  const int64_t count = bench_whole("reads", p->cells->site->gpu ? 1000000 : 100000);
  uint8_t query[READ_LENGTH];
  p->variant = "reads";
  if (count < 1)
    return;
  if (make_targets(p, table, count, READ_LENGTH)) {
    p->m = READ_LENGTH;
    p->query = query;
    memcpy(query, p->targets.symbols, sizeof query);
    if (open_database(p, &p->cells->site->device, 1))
      search(p, BENCH_BYTES);
    close_database(p);
  }
  free_targets(p);
}

/* A stretch of the target, changed: of 30 places one has another base, one is left out and one comes twice. */
static int64_t changed(const uint8_t *from, int64_t length, uint8_t *query) {
  int64_t m = 0;
  for (int64_t i = 0; i < length; i++) {
    if (i % 30 == 0)
      continue;
    if (i % 30 == 20)
      query[m++] = from[i];
    query[m++] = i % 30 == 10 ? (uint8_t)((from[i] + 1) % 4) : from[i];
  }
  return m;
}

/* A read against a genome: a query that is far shorter than the target. */
static void genome(problem *p, const chances table, int64_t length, int64_t part) {
  p->query = bench_memory(DAVIT_PAGEABLE, (size_t)part + 2);
  if (make_targets(p, table, 1, length) && p->query) {
    p->m = changed(p->targets.symbols + length / 2, part, p->query);
    if (open_database(p, &p->cells->site->device, 1))
      search(p, BENCH_BYTES);
    close_database(p);
  }
  davit_free(p->query);
  free_targets(p);
}

static void genomes(problem *p, const chances table) {
  const int64_t length = bench_whole("genome", p->cells->site->gpu ? 0 : 1000000);
  const bench_values reads = bench_sizes("read", "100");
  p->variant = "read genome";
  for (int i = 0; i < reads.count; i++)
    if (length >= 2 * reads.at[i])
      genome(p, table, length, reads.at[i]);
}

static davit_status trace_call(void *argument) {
  const problem *p = argument;
  const davit_align_trace_options options = {.devices = &p->cells->site->device, .device_count = 1};
  davit_align_result result;
  char *cigar;
  davit_status status = davit_align_trace(&p->scoring, p->m, p->query, p->targets.offsets[1],
                                          p->targets.symbols, &result, &cigar, &options);
  if (status == DAVIT_SUCCESS)
    davit_free(cigar);
  return status;
}

/* Its passes count once. */
static void trace(problem *p) {
  bench_time time;
  static const bench_work works[] = {trace_call};
  const bool gpu = p->cells->site->gpu;
  bench_wall_turns(p->cells->site, 1, works, p, &time);
  bench_case what = {.operation = "align",
                     .variant = p->variant,
                     .form = "trace",
                     .rows = p->m,
                     .cols = p->targets.offsets[1]};
  bench_report(p->cells->site, &what, &time, NULL, NULL);
  bench_cells_report(p->cells, cells_of(p), gpu ? BENCH_WORDS : BENCH_SHORTS, 1, &time, NULL);
}

static void pair(problem *p, const chances table, int64_t length, int64_t share) {
  p->query = bench_memory(DAVIT_PAGEABLE, (size_t)length + 2);
  if (make_targets(p, table, 1, length) && p->query) {
    const int64_t part = length / share;
    if (p->related)
      p->m = changed(p->targets.symbols + dvt_at_most(length / 2, length - part), part, p->query);
    else
      fill(table, 4242 + (uint64_t)part, p->m = part, p->query);
    if (open_database(p, &p->cells->site->device, 1))
      search(p, p->cells->site->gpu ? BENCH_WORDS : BENCH_SHORTS);
    close_database(p);
    trace(p);
  }
  davit_free(p->query);
  free_targets(p);
}

static void pairs(problem *p, const chances table) {
  const bool gpu = p->cells->site->gpu;
  const bench_values lengths = bench_sizes("pair", gpu ? "100000,1000000" : "100000"),
                     shares = bench_sizes("share", gpu ? "10,1" : "10");
  bench_cells *all = p->cells;
  bench_cells one = *all; /* the search of a pair is the work of one core */
  one.threads = all->threads > 0;
  p->cells = &one;
  for (int i = 0; i < lengths.count; i++)
    for (int k = 0; k < shares.count; k++)
      if (lengths.at[i] >= 100)
        pair(p, table, lengths.at[i], shares.at[k]);
  p->cells = all;
}

static void bases(problem *p) {
  static chances table;
  int8_t matrix[16];
  for (int k = 0; k < 16; k++)
    matrix[k] = k % 4 == k / 4 ? 2 : -3;
  base_chances(table);
  p->scoring = (davit_align_scoring){.symbols = 4, .matrix = matrix, .gap_open = 5, .gap_extend = 2};
  reads(p, table);
  genomes(p, table);
  p->variant = "pair";
  p->related = true;
  pairs(p, table);
  p->variant = "pair unrelated";
  p->related = false;
  if (bench_whole("unrelated", 0))
    pairs(p, table);
}

static void measure_site(bench_cells *cells, bool several) {
  problem p = {.cells = cells, .form = "search"};
  proteins(&p, several);
  bases(&p);
}

static const char usage[] =
    "bench_align [--count 1000000] [--length 360] [--queries 144,375,1000,5000] "
    "[--mixed 1] [--profile 0] [--parts 0] [--reads 100000] [--pair 100000] [--share 10]\n"
    "            [--genome 1000000] [--read 100] [--unrelated 0] [--avx2 0] [--clock 1.98]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  return bench_cells_run("align", usage, argc, argv, PEER_PARASAIL, measure_site);
}
