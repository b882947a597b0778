/* SPDX-License-Identifier: Apache-2.0 */
/* davit align: every sequence of one file against all of another, best alignments first, or each with its partner. The
 * scores of local ones are those of a search on the devices, of pairs those of davit_align_pairs(), all others those of
 * traces. */
#include <ctype.h>
#include <davit/align.h>
#include <inttypes.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "ref/ref.h"
#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/cli/align.h"
#include "src/cli/formats/fasta.h"
#include "src/cli/formats/part.h"
#include "src/cli/frame/job.h"
#include "src/cli/ranks.h"

static const uint8_t *symbols_of(const cli_sequences *s, int64_t index) {
  return s->symbols + s->offsets[index];
}

static const uint8_t *query_symbols(const align_comparison *c, int64_t query, align_strand strand) {
  return (strand == ALIGN_MINUS ? c->reverse : c->query.symbols) + c->query.offsets[query];
}

static bool has_strand(const align_comparison *c, align_strand strand) {
  return c->strands == ALIGN_SEARCH_BOTH || (c->strands == ALIGN_SEARCH_MINUS) == (strand == ALIGN_MINUS);
}

static int64_t longest(const cli_sequences *s) {
  int64_t most = 0;
  for (int64_t k = 0; k < s->count; k++)
    if (cli_sequences_length(s, k) > most)
      most = cli_sequences_length(s, k);
  return most;
}

/* ---- the reference ---- */

static size_t scratch_words(const align_comparison *c) {
  return ALIGN_SCRATCH_WORDS((size_t)longest(&c->query));
}

static int32_t reference_score(const align_comparison *c, int64_t query, align_strand strand, int64_t k) {
  const davit_align_scoring *scoring = &c->scheme.scoring;
  const uint8_t *symbols = query_symbols(c, query, strand), *target = symbols_of(&c->target, k);
  const int64_t m = cli_sequences_length(&c->query, query), n = cli_sequences_length(&c->target, k);
  int64_t *scratch = c->scratch + (size_t)omp_get_thread_num() * scratch_words(c);
  return c->mode == DAVIT_ALIGN_LOCAL
             ? dvt_ref_align_score(scoring, m, symbols, n, target, (int32_t *)scratch)
             : (int32_t)dvt_ref_align_ends(c->mode, scoring, m, symbols, n, target, scratch);
}

static void score_by_reference(const align_comparison *c, int64_t query, align_strand strand,
                               int32_t *scores) {
#pragma omp parallel for num_threads(dvt_threads()) schedule(dynamic, 1)
  for (int64_t k = 0; k < c->count; k++)
    scores[k] = reference_score(c, query, strand, c->first + k);
}

/* ---- pairs ---- */

static void score_pairs_by_reference(const align_comparison *c, int32_t *scores) {
#pragma omp parallel for num_threads(dvt_threads()) schedule(dynamic, 1)
  for (int64_t k = 0; k < c->count; k++)
    scores[k] =
        align_pairs_reference(c, c->first + k, c->scratch + (size_t)omp_get_thread_num() * scratch_words(c));
}

/* Whether alignments that score 0 are none. */
static bool may_be_empty(const align_comparison *c) {
  return c->mode == DAVIT_ALIGN_LOCAL || c->mode == DAVIT_ALIGN_EXTENSION;
}

/* A row for each pair of this rank that is wanted. */
static davit_status add_pairs(const align_comparison *c, align_list *rows, const int32_t *scores) {
  const align_strand strand = c->strands == ALIGN_SEARCH_MINUS ? ALIGN_MINUS : ALIGN_PLUS;
  for (int64_t k = 0; k < c->count; k++) {
    const align_hit hit = {{c->first + k, scores[k]}, strand};
    if (scores[k] >= c->minimum_score && (scores[k] > 0 || !may_be_empty(c)))
      DVT_TRY(align_list_add(rows, c->first + k, 1, &hit));
  }
  return DAVIT_SUCCESS;
}

static davit_status find_pairs(const align_comparison *c, align_list *rows, bool reference) {
  if (reference)
    score_pairs_by_reference(c, c->scores);
  else
    DVT_TRY(align_pairs_score(c, c->scores));
  return add_pairs(c, rows, c->scores);
}

/* Counts the scores that differ; the reference's rows are the right ones. */
static davit_status check_pairs(align_comparison *c, bool reference) {
  score_pairs_by_reference(c, c->expected);
  if (!reference)
    DVT_TRY(align_pairs_score(c, c->scores));
  for (int64_t k = 0; k < c->count && !reference; k++)
    c->wrong += c->scores[k] != c->expected[k];
  return add_pairs(c, &c->right, c->expected);
}

/* ---- the search ---- */

/* The hits of a query's strands come together in c->found: begin, add for each strand, choose. */
static void add_hit(align_comparison *c, align_strand strand, int64_t target, int32_t score) {
  c->found[c->found_count++] = (align_hit){{c->first + target, score}, strand};
}

static void add_scores(align_comparison *c, align_strand strand, const int32_t *scores) {
  for (int64_t k = 0; k < c->count; k++)
    if (scores[k] > 0 || c->mode != DAVIT_ALIGN_LOCAL)
      add_hit(c, strand, k, scores[k]);
}

static bool is_wanted(const align_comparison *c, int64_t query, int32_t score) {
  return score >= c->minimum_score &&
         (c->maximum_expect <= 0 ||
          align_expect(&c->statistics, score, cli_sequences_length(&c->query, query),
                       c->target.offsets[c->target.count]) <= c->maximum_expect);
}

static void choose_hits(align_comparison *c, int64_t query) {
  int64_t count = 0;
  qsort(c->found, (size_t)c->found_count, sizeof *c->found, align_compare_hits);
  while (count < c->found_count && count < c->top && is_wanted(c, query, c->found[count].hit.score))
    count++;
  c->found_count = count;
}

static davit_status align_pair(const align_comparison *c, int64_t query, align_strand strand, int64_t target,
                               davit_align_result *result, char **cigar) {
  return davit_align_trace(&c->scheme.scoring, cli_sequences_length(&c->query, query),
                           query_symbols(c, query, strand), cli_sequences_length(&c->target, target),
                           symbols_of(&c->target, target), result, cigar,
                           &(davit_align_trace_options){CLI_DEVICES(c), .mode = c->mode});
}

/* Many targets: each on one thread, all threads at a time. Few: one after the other, on all threads. The
 * first failure is met again after the loop. */
static davit_status score_pairs(const align_comparison *c, int64_t query, align_strand strand,
                                int32_t *scores) {
  const int64_t count = c->count;
  int64_t failed = count;
#pragma omp parallel for num_threads(dvt_threads()) schedule(dynamic, 1)                                     \
    reduction(min : failed) if (count > dvt_threads())
  for (int64_t k = 0; k < count; k++) {
    davit_align_result result = {0};
    if (align_pair(c, query, strand, c->first + k, &result, NULL) != DAVIT_SUCCESS && k < failed)
      failed = k;
    scores[k] = result.score;
  }
  davit_align_result again;
  return failed < count ? align_pair(c, query, strand, c->first + failed, &again, NULL) : DAVIT_SUCCESS;
}

static davit_status search_database(align_comparison *c, int64_t query, align_strand strand) {
  int64_t found = 0;
  if (c->count > 0)
    DVT_TRY(davit_align_search(c->database, &c->scheme.scoring, cli_sequences_length(&c->query, query),
                               query_symbols(c, query, strand), c->top < c->count ? c->top : c->count,
                               c->hits, &found));
  for (int64_t k = 0; k < found; k++)
    add_hit(c, strand, c->hits[k].target, c->hits[k].score);
  return DAVIT_SUCCESS;
}

static davit_status search(align_comparison *c, int64_t query, align_strand strand, bool reference) {
  cli_progress_at(&c->job.progress, (double)query, (double)c->query.count, "sequences");
  if (!reference && c->mode == DAVIT_ALIGN_LOCAL)
    return search_database(c, query, strand);
  if (reference)
    score_by_reference(c, query, strand, c->scores);
  else
    DVT_TRY(score_pairs(c, query, strand, c->scores));
  add_scores(c, strand, c->scores);
  return DAVIT_SUCCESS;
}

/* The rows of all queries; `find` adds the hits of one and a strand. */
static davit_status find_rows(align_comparison *c, align_list *rows, bool reference,
                              davit_status (*find)(align_comparison *, int64_t, align_strand, bool)) {
  for (int64_t query = 0; query < c->query.count; query++) {
    c->found_count = 0;
    for (align_strand strand = 0; strand < ALIGN_STRANDS; strand++)
      if (has_strand(c, strand))
        DVT_TRY(find(c, query, strand, reference));
    choose_hits(c, query);
    DVT_TRY(align_list_add(rows, query, c->found_count, c->found));
  }
  return DAVIT_SUCCESS;
}

static davit_status work(void *state, cli_array *unused, bool reference) {
  align_comparison *c = state;
  (void)unused;
  c->rows.count = 0;
  return c->pairs ? find_pairs(c, &c->rows, reference) : find_rows(c, &c->rows, reference, search);
}

static int make_database(align_comparison *c) {
  if (c->job.devices.reference || c->mode != DAVIT_ALIGN_LOCAL || c->pairs || c->count == 0)
    return CLI_OK;
  int64_t *offsets;
  CLI_ROOM(&c->job, offsets, c->count + 1);
  const int64_t begin = c->target.offsets[c->first];
  for (int64_t k = 0; k <= c->count; k++)
    offsets[k] = c->target.offsets[c->first + k] - begin;
  const davit_align_sequences targets = {c->count, offsets, c->target.symbols + begin};
  const davit_align_database_options options = {CLI_DEVICES(c)};
  const double start = dvt_now();
  const davit_status status =
      davit_align_database_create(&targets, c->scheme.matrix.symbols, &c->database, &options);
  c->create_seconds = dvt_now() - start;
  return cli_status(status);
}

/* ---- several ranks ---- */

/* The targets of a rank: neighbours, as many symbols as the others have. */
static void choose_targets(align_comparison *c) {
  const int64_t all = c->target.offsets[c->target.count];
  int64_t *const begins[] = {&c->first, &c->count};
  for (int end = 0; end < 2; end++) {
    const int64_t symbol = cli_part_begin(all, 0, cli_ranks_rank() + end, cli_ranks_count());
    while (*begins[end] < c->target.count && c->target.offsets[*begins[end]] < symbol)
      ++*begins[end];
  }
  c->count -= c->first;
}

/* What the letters and a file with a matrix decide. */
static void note_scheme(const align_scheme *s) {
  const size_t scores = (size_t)s->matrix.symbols * (size_t)s->matrix.symbols;
  cli_ranks_note(s->bases);
  cli_ranks_note(s->matrix.symbols);
  cli_ranks_note((int64_t)cli_ranks_digest(CLI_RANKS_DIGEST, scores, s->matrix.scores));
  cli_ranks_note((int64_t)cli_ranks_digest(
      CLI_RANKS_DIGEST, (size_t)s->profile.length * (size_t)s->matrix.symbols, s->profile.scores));
}

/* ---- the alignments ---- */

static bool wants_columns(const align_comparison *c) {
  return c->cigar || c->format != ALIGN_TSV || c->job.common.check;
}

static davit_status trace(const align_comparison *c, align_row *r) {
  return align_pair(c, r->query, r->found.strand, r->found.hit.target, &r->alignment,
                    wants_columns(c) ? &r->cigar : NULL);
}

/* Those of this rank. Many: each on one thread, all threads at a time. Few: one after the other, on all
 * threads. Those for which memory was short are tried again alone. */
static davit_status trace_rows(const align_comparison *c) {
  align_row *const rows = c->rows.at;
  const int64_t first = cli_ranks_rank(), step = cli_ranks_count(), count = c->rows.count;
#pragma omp parallel for num_threads(dvt_threads()) schedule(dynamic, 1) if (count / step > dvt_threads())
  for (int64_t k = first; k < count; k += step)
    rows[k].status = trace(c, &rows[k]);
  davit_status status = DAVIT_SUCCESS;
  for (int64_t k = first; k < count && status == DAVIT_SUCCESS; k += step)
    if (rows[k].status != DAVIT_SUCCESS)
      status = trace(c, &rows[k]);
  return status;
}

static int trace_all(align_comparison *c) {
  const double start = dvt_now();
  const davit_status status = c->pairs ? align_pairs_trace(c, wants_columns(c)) : trace_rows(c);
  c->trace_seconds = dvt_now() - start;
  return cli_status(status);
}

static int run(void *state) {
  align_comparison *c = state;
  const int code = make_database(c);
  CLI_TRY(align_list_share(code == CLI_OK ? cli_job_measure(&c->job) : code, &c->rows, c->top));
  return trace_all(c);
}

static int gather(void *state) {
  return align_list_gather(&((align_comparison *)state)->rows);
}

/* ---- the check ---- */

/* The score of the columns of an alignment; -1 if they do not fit its begin and end. */
static int64_t score_of_columns(const align_comparison *c, const align_row *r) {
  const davit_align_scoring *scoring = &c->scheme.scoring;
  const uint8_t *query = query_symbols(c, r->query, r->found.strand),
                *target = symbols_of(&c->target, r->found.hit.target);
  const int64_t open = scoring->gap_open, extend = scoring->gap_extend < open ? scoring->gap_extend : open;
  int64_t i = r->alignment.query_begin, j = r->alignment.target_begin, score = 0;
  for (const char *at = r->cigar; *at; at++) {
    const int64_t count = strtoll(at, (char **)&at, 10);
    const bool both = *at == '=' || *at == 'X';
    const int64_t in_query = *at == 'D' ? 0 : count, in_target = *at == 'I' ? 0 : count;
    if (i + in_query > r->alignment.query_end || j + in_target > r->alignment.target_end)
      return -1;
    for (int64_t k = 0; both && k < count; k++) {
      if ((query[i + k] == target[j + k]) != (*at == '='))
        return -1;
      score += scoring->profile ? scoring->profile[i + k + target[j + k] * c->scheme.profile.length]
                                : scoring->matrix[query[i + k] + target[j + k] * scoring->symbols];
    }
    score -= both ? 0 : open + (count - 1) * extend;
    i += in_query;
    j += in_target;
  }
  return i == r->alignment.query_end && j == r->alignment.target_end ? score : -1;
}

/* Of a strand: counts the scores that differ, and adds the reference's hits to c->found. */
static davit_status check_scores(align_comparison *c, int64_t query, align_strand strand, bool reference) {
  score_by_reference(c, query, strand, c->expected);
  if (!reference && c->count > 0) {
    DVT_TRY(c->mode != DAVIT_ALIGN_LOCAL
                ? score_pairs(c, query, strand, c->scores)
                : davit_align_scores(c->database, &c->scheme.scoring, cli_sequences_length(&c->query, query),
                                     query_symbols(c, query, strand), c->scores));
    for (int64_t k = 0; k < c->count; k++)
      c->wrong += c->scores[k] != c->expected[k];
  }
  add_scores(c, strand, c->expected);
  return DAVIT_SUCCESS;
}

static int64_t count_wrong_rows(const align_comparison *c) {
  int64_t wrong = c->right.count > c->rows.count ? c->right.count - c->rows.count : 0;
  for (int64_t k = 0; k < c->rows.count; k++) {
    const align_row *r = &c->rows.at[k];
    wrong += k >= c->right.count || align_compare_rows(r, &c->right.at[k]) != 0;
    wrong += r->alignment.score != r->found.hit.score || score_of_columns(c, r) != r->found.hit.score;
  }
  return wrong;
}

static int check(void *state, cli_check *check) {
  align_comparison *c = state;
  const bool reference = c->job.devices.reference;
  const davit_status status =
      c->pairs ? check_pairs(c, reference) : find_rows(c, &c->right, reference, check_scores);
  CLI_TRY(align_list_share(cli_status(status), &c->right, c->top));
  const double own = c->wrong;
  if (cli_ranks_several())
    CLI_TRY(cli_status(cli_ranks->reduce(DAVIT_SUM, DAVIT_DOUBLE, 1, &own, &c->wrong)));
  if (cli_ranks_lead())
    *check = (cli_check){.measure = "scores, hits and columns that differ",
                         .error = c->wrong + (double)count_wrong_rows(c)};
  return CLI_OK;
}

/* ---- report ---- */

static bool write_rows(FILE *file, const void *state) {
  return align_write(file, state);
}

static const cli_choice mode_names[] = {
    {"local", DAVIT_ALIGN_LOCAL, "the parts of both sequences that score best"},
    {"global", DAVIT_ALIGN_GLOBAL,
     "both sequences from end to end; long pairs on a GPU if that is faster, others on the host"},
    {"semi", DAVIT_ALIGN_SEMIGLOBAL,
     "as global, but gaps before and after cost nothing; the host finds the ends"},
    {"extend", DAVIT_ALIGN_EXTENSION,
     "from the start of both sequences to where the score is best, as after a seed; only with --pairs"},
    {0}};

static const char *name_of_matrix(const align_comparison *c) {
  const align_scheme *s = &c->scheme;
  return s->pssm ? "pssm" : s->matrix_name && !s->match ? s->matrix_name : s->bases ? "dna" : "blosum62";
}

static int64_t count_dropped(const align_comparison *c) {
  int64_t dropped = 0;
  for (int64_t k = 0; k < c->rows.count; k++)
    dropped += c->rows.at[k].alignment.dropped;
  return dropped;
}

static void report(cli_json *json, const void *state) {
  const align_comparison *c = state;
  cli_json_real(json, "seconds_transfer_included", c->job.seconds.median + c->create_seconds);
  cli_json_real(json, "seconds_alignments", c->trace_seconds);
  cli_json_string(json, "mode", cli_choice_name(mode_names, (int)c->mode));
  cli_json_string(json, "matrix", name_of_matrix(c));
  cli_json_integer(json, "gap_open", c->scheme.scoring.gap_open);
  cli_json_integer(json, "gap_extend", c->scheme.scoring.gap_extend);
  if (c->pairs)
    cli_json_integer(json, "band", c->band);
  if (c->x_drop > 0) {
    cli_json_integer(json, "x_drop", c->x_drop);
    cli_json_integer(json, "dropped", count_dropped(c));
  }
  cli_json_integer(json, "queries", c->query.count);
  cli_json_integer(json, "targets", c->target.count);
  cli_json_real(json, "cells", c->job.rate.amount);
  cli_json_integer(json, "alignments", c->rows.count);
}

/* ---- command ---- */

static int make_room(align_comparison *c) {
  const size_t targets = (size_t)c->target.count;
  const bool reference = c->job.devices.reference || c->job.common.check;
  const size_t words = reference ? (size_t)dvt_threads() * scratch_words(c) : 0;
  CLI_ROOM(&c->job, c->hits, targets);
  CLI_ROOM(&c->job, c->found, targets * ALIGN_STRANDS);
  CLI_ROOM(&c->job, c->scores, targets);
  CLI_ROOM(&c->job, c->expected, targets);
  CLI_ROOM(&c->job, c->scratch, words);
  return CLI_OK;
}

static int make_reverse(align_comparison *c) {
  if (!has_strand(c, ALIGN_MINUS))
    return CLI_OK;
  if (!c->scheme.bases)
    return align_scheme_needs_bases(&c->scheme, "only DNA and RNA have a minus strand");
  c->reverse = cli_job_memory(&c->job, (size_t)c->query.offsets[c->query.count], 1);
  if (!c->reverse)
    return CLI_DEVICE;
  for (int64_t query = 0; query < c->query.count; query++) {
    const int64_t begin = c->query.offsets[query], end = c->query.offsets[query + 1];
    for (int64_t i = begin; i < end; i++)
      c->reverse[begin + end - 1 - i] = align_complement(&c->scheme, c->query.symbols[i]);
  }
  return CLI_OK;
}

/* SAM holds letters, '=' and '.'; an alphabet from a file may have other signs. */
static int check_sam_letters(const align_comparison *c) {
  for (int symbol = 0; symbol < c->scheme.matrix.symbols && !c->scheme.by_letters; symbol++) {
    const cli_symbol_use *use = &c->query.uses[symbol];
    const char letter = c->scheme.matrix.letters[symbol];
    if (use->count && !isalpha((unsigned char)letter) && letter != '=' && letter != '.')
      return cli_fail(CLI_INPUT, "%s: line %" PRId64 ": expected letters that SAM allows, found '%c'",
                      c->query.file, use->line, letter);
  }
  return CLI_OK;
}

/* What cannot be asked of this scheme. */
static int check_options(const align_comparison *c) {
  if (c->format == ALIGN_SAM && !c->scheme.bases)
    return align_scheme_needs_bases(&c->scheme, "SAM is only for DNA and RNA");
  if (c->mode == DAVIT_ALIGN_EXTENSION && !c->pairs)
    return cli_fail(CLI_USAGE, "--mode extend needs --pairs");
  if (c->x_drop > 0 && c->mode != DAVIT_ALIGN_EXTENSION)
    return cli_fail(CLI_USAGE, "--x-drop needs --mode extend");
  if (c->pairs && c->strands == ALIGN_SEARCH_BOTH)
    return cli_fail(CLI_USAGE, "--strand both and --pairs exclude each other");
  if (c->pairs && c->maximum_expect > 0)
    return cli_fail(CLI_USAGE, "--evalue and --pairs exclude each other; --min-score works instead");
  if (c->maximum_expect > 0 && c->mode != DAVIT_ALIGN_LOCAL)
    return cli_fail(CLI_USAGE,
                    "--evalue: there are statistics only for local alignments; --min-score works instead");
  if (c->maximum_expect > 0 && c->statistics.k <= 0) {
    align_sentence why;
    align_statistics_missing(&c->scheme, &why);
    return cli_fail(CLI_USAGE, "--evalue: %s; --min-score works instead", why.text);
  }
  return c->format == ALIGN_SAM ? check_sam_letters(c) : CLI_OK;
}

/* SAM and PAF have no statistics, nor have pairs. */
static void say_what_is_unknown(const align_comparison *c) {
  const bool shown = c->format != ALIGN_SAM && c->format != ALIGN_PAF && !c->pairs;
  align_sentence why;
  if (c->mode != DAVIT_ALIGN_LOCAL || c->statistics.k > 0 || !shown)
    return;
  align_statistics_missing(&c->scheme, &why);
  cli_remark("evalue and bits are unknown: %s", why.text);
}

static int check_names(const align_comparison *c) {
  const bool sam = c->format == ALIGN_SAM;
  const cli_name_format other = c->format == ALIGN_JSON ? CLI_NAME_JSON : CLI_NAME_COLUMN;
  if (sam || !c->pairs)
    CLI_TRY(cli_sequences_check_distinct(&c->target));
  CLI_TRY(cli_sequences_check_names(&c->query, sam ? CLI_NAME_SAM_QUERY : other));
  return cli_sequences_check_names(&c->target, sam ? CLI_NAME_SAM_TARGET : other);
}

static int check_partners(const align_comparison *c) {
  if (!c->pairs || c->query.count == c->target.count)
    return CLI_OK;
  return cli_fail(CLI_INPUT,
                  "--pairs: expected as many records in %s as in %s, found %" PRId64 " and %" PRId64,
                  c->target.file, c->query.file, c->target.count, c->query.count);
}

static cli_rate rate_of(const align_comparison *c) {
  double cells = (has_strand(c, ALIGN_PLUS) + has_strand(c, ALIGN_MINUS)) *
                 (double)c->query.offsets[c->query.count] * (double)c->target.offsets[c->target.count];
  if (c->pairs)
    cells = 0;
  for (int64_t k = 0; k < c->query.count && c->pairs; k++)
    cells += (double)cli_sequences_length(&c->query, k) * (double)cli_sequences_length(&c->target, k);
  return (cli_rate){CLI_GCUPS, cells};
}

static int load(void *state) {
  align_comparison *c = state;
  const davit_align_matrix *alphabet;
  CLI_TRY(align_scheme_begin(&c->scheme, &alphabet));
  CLI_TRY(c->scheme.pssm ? cli_pssm_read(c->query_path, alphabet, &c->scheme.profile, &c->query)
                         : cli_sequences_read(c->query_path, alphabet, c->format == ALIGN_SAM, &c->query));
  CLI_TRY(cli_sequences_read(c->target_path, alphabet, false, &c->target));
  CLI_TRY(check_names(c));
  CLI_TRY(check_partners(c));
  align_scheme_settle(&c->scheme, &c->query, &c->target);
  note_scheme(&c->scheme);
  if (c->mode == DAVIT_ALIGN_LOCAL && !c->pairs)
    c->statistics = align_statistics_of(&c->scheme);
  if (!cli_job_given(&c->job, "--min-score"))
    c->minimum_score = may_be_empty(c) ? 1 : INT32_MIN;
  const int64_t strands = has_strand(c, ALIGN_PLUS) + has_strand(c, ALIGN_MINUS);
  c->top = c->top < strands * c->target.count ? c->top : strands * c->target.count;
  c->job.rate = rate_of(c);
  choose_targets(c);
  CLI_TRY(check_options(c));
  CLI_TRY(make_room(c));
  CLI_TRY(make_reverse(c));
  align_scheme_say(&c->scheme);
  say_what_is_unknown(c);
  return CLI_OK;
}

static void release(void *state) {
  align_comparison *c = state;
  davit_align_database_destroy(c->database);
  align_list_free(&c->rows);
  align_list_free(&c->right);
  cli_sequences_free(&c->query);
  cli_sequences_free(&c->target);
  cli_pssm_free(&c->scheme.profile);
}

static const cli_choice strand_names[] = {{"plus", ALIGN_SEARCH_PLUS, "the query as it is in the file"},
                                          {"minus", ALIGN_SEARCH_MINUS, "its reverse complement"},
                                          {"both", ALIGN_SEARCH_BOTH, "both strands"},
                                          {0}};

static const cli_choice format_names[] = {
    {"tsv", ALIGN_TSV, "tab-separated columns, as above"},
    {"json", ALIGN_JSON, "an array of objects with these columns as keys"},
    {"sam", ALIGN_SAM, "Sequence Alignment/Map, for DNA and RNA only"},
    {"paf", ALIGN_PAF, "pairwise mapping format"},
    {"blast6", ALIGN_BLAST6, "the twelve columns of BLAST's outfmt 6"},
    {0}};

const cli_command cli_command_align = {
    .name = "align",
    .summary = "best alignments of DNA, RNA or protein sequences",
    .description =
        "Aligns each sequence of QUERY with all sequences of TARGET, and prints the best alignments. They "
        "are local (Smith-Waterman); --mode chooses global ones (Needleman-Wunsch), semiglobal ones or "
        "extensions. Gaps are affine.\n\nRows are tab-separated; the first has the names of the columns: "
        "query target score qstart qend tstart tend cigar strand identity coverage evalue bits. Positions "
        "count from 1 and include both ends; positions in the query refer to the strand in the file. "
        "Identity is the percentage of equal columns, coverage the percentage of the query that is aligned. "
        "Local alignments and extensions that score 0 are left out.\n\nLetters count as DNA or RNA if all "
        "are IUPAC codes of bases and at least 90 % are from ACGTUN, otherwise as amino acids; a line on "
        "standard error says which, and why.",
    .examples = "davit align query.fa targets.fa.gz --top 5 --cigar\n"
                "davit align reads.fq genes.fa --strand both --format sam -o hits.sam\n"
                "davit align reads.fq genes.fa --match 5 --mismatch -4 --gap-open 10 --gap-extend 6\n"
                "davit align reads.fq places.fa --pairs --mode semi --cigar\n"
                "davit align reads.fq places.fa --pairs --mode extend --x-drop 50 --cigar\n"
                "davit align --pssm family.pssm proteins.fa.gz --evalue 1e-3\n",
    .operands = CLI_PLACES(CLI_PLACE(align_comparison, query_path, "QUERY",
                                     "FASTA or FASTQ, plain or compressed by gzip or bgzip"),
                           CLI_PLACE(align_comparison, target_path, "TARGET",
                                     "likewise; names must be unique, unless --pairs is given")),
    .options = CLI_OPTIONS(
        CLI_ROWS_OPTION,
        CLI_OPTION(CHOICE, align_comparison, mode, "--mode", "M", .choices = mode_names, .value = "local",
                   .help = "what is aligned"),
        CLI_OPTION(CHOICE, align_comparison, format, "--format", "F", .choices = format_names, .value = "tsv",
                   .help = "format of the rows"),
        CLI_OPTION(
            FLAG, align_comparison, pairs, "--pairs", NULL, .excludes = "--top",
            .help =
                "align record i of QUERY only with record i of TARGET, in the order of the files; names may "
                "repeat (with --format sam, not those of targets); the columns evalue and bits have *"),
        CLI_OPTION(
            WHOLE, align_comparison, band, "--band", "W", .minimum = 1, .maximum = INT32_MAX,
            .needs = "--pairs", .otherwise = "no limit",
            .help =
                "leave out cells more than W diagonals outside the range between the corners of the matrix"),
        CLI_OPTION(WHOLE, align_comparison, x_drop, "--x-drop", "X", .minimum = 1, .maximum = INT32_MAX,
                   .needs = "--pairs", .otherwise = "no limit",
                   .help = "with --mode extend: leave out cells that score more than X below the best score "
                           "on earlier anti-diagonals; --format json says whether this ended the alignment "
                           "before either sequence ended"),
        CLI_OPTION(FLAG, align_comparison, scheme.dna, "--dna", NULL, .excludes = "--protein",
                   .help = "the letters are bases; match 2 and mismatch -3, unless options say otherwise"),
        CLI_OPTION(FLAG, align_comparison, scheme.protein, "--protein", NULL, .excludes = "--match",
                   .help = "the letters are amino acids, even if they look like bases"),
        CLI_OPTION(
            FLAG, align_comparison, scheme.pssm, "--pssm", NULL, .excludes = "--pairs",
            .help =
                "read QUERY as a position-specific scoring matrix, as psiblast -out_ascii_pssm writes it"),
        CLI_OPTION(TEXT, align_comparison, scheme.matrix_name, "--matrix", "M",
                   .otherwise = "blosum62, for amino acids",
                   .help = "blosum45, 50, 62, 80 or 90, pam30, 70 or 250 (NCBI's older revision, without J), "
                           "nuc.4.4, or a file in NCBI's format, whose letters become the alphabet"),
        CLI_OPTION(WHOLE, align_comparison, scheme.match, "--match", "X", .minimum = 1, .maximum = INT8_MAX,
                   .needs = "--mismatch", .excludes = "--matrix", .help = "DNA: score of two equal bases"),
        CLI_OPTION(WHOLE, align_comparison, scheme.mismatch, "--mismatch", "Y", .minimum = INT8_MIN,
                   .maximum = 0, .needs = "--match",
                   .help = "DNA: score of two different bases, and of N with any base"),
        CLI_OPTION(WHOLE, align_comparison, scheme.gap_open, "--gap-open", "X", .minimum = 1,
                   .maximum = INT32_MAX, .otherwise = "11, for DNA 7, for a PSSM 12",
                   .help = "cost of the first symbol of a gap"),
        CLI_OPTION(WHOLE, align_comparison, scheme.gap_extend, "--gap-extend", "X", .minimum = 1,
                   .maximum = INT32_MAX, .otherwise = "1, for DNA 2",
                   .help = "cost of each further symbol of a gap"),
        CLI_OPTION(CHOICE, align_comparison, strands, "--strand", "S", .choices = strand_names,
                   .value = "plus", .help = "DNA: which strand of the query to search with"),
        CLI_OPTION(WHOLE, align_comparison, minimum_score, "--min-score", "S", .minimum = INT32_MIN,
                   .maximum = INT32_MAX, .otherwise = "1, with --mode global and semi no limit",
                   .help = "leave out alignments that score less than S"),
        CLI_OPTION(REAL, align_comparison, maximum_expect, "--evalue", "E", .minimum = 0, .maximum = 1e15,
                   .above = true, .otherwise = "no limit",
                   .help = "leave out alignments with an E-value (the number expected by chance) above E; "
                           "only if statistics for the matrix and the gap costs are published"),
        CLI_OPTION(WHOLE, align_comparison, top, "--top", "K", .minimum = 1, .value = "10",
                   .help = "at most K alignments of each query, best first; ties in the order of TARGET"),
        CLI_OPTION(FLAG, align_comparison, cigar, "--cigar", NULL,
                   .help = "with --format tsv: fill the columns cigar (runs of = equal, X unequal, I query "
                           "only, D target only) and identity, which are * otherwise")),
    .common = CLI_COMMON_COMPUTE,
    .small_bytes = 1 << 16,
    .state = sizeof(align_comparison),
    .read = load,
    .run = run,
    .work = work,
    .divides = cli_divides,
    .gather = gather,
    .check = check,
    .check_on_all = true,
    .write = write_rows,
    .report = report,
    .release = release,
};
