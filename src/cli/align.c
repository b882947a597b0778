/* SPDX-License-Identifier: Apache-2.0 */
/* davit align: every sequence of one file against all of another, best local alignments first. */
#include <davit/align.h>
#include <inttypes.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "ref/ref.h"
#include "src/base/allocate.h"
#include "src/cli/clock.h"
#include "src/cli/formats/fasta.h"
#include "src/cli/frame/job.h"

/* A line of the result. */
typedef struct row {
  int64_t query;
  davit_align_hit hit;
  davit_align_result alignment;
  char *cigar;
  davit_status status; /* of the trace */
} row;

typedef struct comparison {
  cli_job job;
  const char *query_path, *target_path, *matrix_name;
  cli_output output;
  int match, mismatch;
  int64_t top;
  bool cigar;
  davit_align_matrix matrix;
  davit_align_scoring scoring;
  cli_sequences query, target;
  davit_align_database *database; /* NULL for the reference */
  davit_align_hit *hits;          /* of a query: one for each target */
  int32_t *scores;                /* of a query */
  int32_t *expected;
  int32_t *scratch; /* of the reference, for each thread */
  row *rows;
  int64_t row_count, row_room;
  double create_seconds, trace_seconds;
} comparison;

static int64_t length_of(const cli_sequences *s, int64_t index) {
  return s->offsets[index + 1] - s->offsets[index];
}

static const uint8_t *symbols_of(const cli_sequences *s, int64_t index) {
  return s->symbols + s->offsets[index];
}

static int64_t longest(const cli_sequences *s) {
  int64_t most = 0;
  for (int64_t k = 0; k < s->count; k++)
    if (length_of(s, k) > most)
      most = length_of(s, k);
  return most;
}

/* ---- the reference ---- */

static size_t scratch_words(const comparison *c) {
  return 2 * ((size_t)longest(&c->query) + 1);
}

static void score_by_reference(const comparison *c, int64_t query, int32_t *scores) {
#pragma omp parallel for num_threads(dvt_threads()) schedule(dynamic, 1)
  for (int64_t k = 0; k < c->target.count; k++)
    scores[k] = dvt_ref_align_score(&c->scoring, length_of(&c->query, query), symbols_of(&c->query, query),
                                    length_of(&c->target, k), symbols_of(&c->target, k),
                                    c->scratch + (size_t)omp_get_thread_num() * scratch_words(c));
}

static int compare_hits(const void *x, const void *y) {
  const davit_align_hit *a = x, *b = y;
  if (a->score != b->score)
    return (a->score < b->score) - (a->score > b->score);
  return (a->target > b->target) - (a->target < b->target);
}

/* The best of all targets, in c->hits; how many. */
static int64_t select_hits(const comparison *c, const int32_t *scores) {
  int64_t count = 0;
  for (int64_t k = 0; k < c->target.count; k++)
    if (scores[k] > 0)
      c->hits[count++] = (davit_align_hit){k, scores[k]};
  qsort(c->hits, (size_t)count, sizeof *c->hits, compare_hits);
  return count < c->top ? count : c->top;
}

/* ---- the search ---- */

static davit_status keep(comparison *c, int64_t query, int64_t found) {
  if (c->row_count + found > c->row_room) {
    const int64_t room = 2 * c->row_room + found + 64;
    row *rows = dvt_reallocate(c->rows, (size_t)room, sizeof *rows);
    if (!rows)
      return DAVIT_OUT_OF_HOST_MEMORY;
    c->rows = rows;
    c->row_room = room;
  }
  for (int64_t k = 0; k < found; k++)
    c->rows[c->row_count++] = (row){.query = query, .hit = c->hits[k]};
  return DAVIT_SUCCESS;
}

static davit_status search(comparison *c, int64_t query, bool reference, int64_t *found) {
  if (!reference)
    return davit_align_search(c->database, &c->scoring, length_of(&c->query, query),
                              symbols_of(&c->query, query), c->top, c->hits, found);
  score_by_reference(c, query, c->scores);
  *found = select_hits(c, c->scores);
  return DAVIT_SUCCESS;
}

static davit_status work(void *state, cli_array *unused, bool reference) {
  comparison *c = state;
  davit_status status = DAVIT_SUCCESS;
  (void)unused;
  c->row_count = 0;
  for (int64_t query = 0; query < c->query.count && status == DAVIT_SUCCESS; query++) {
    int64_t found = 0;
    cli_progress_at(&c->job.progress, (double)query, (double)c->query.count, "sequences");
    status = search(c, query, reference, &found);
    if (status == DAVIT_SUCCESS)
      status = keep(c, query, found);
  }
  return status;
}

static int make_database(comparison *c) {
  if (c->job.devices.reference)
    return CLI_OK;
  const davit_align_sequences targets = cli_sequences_view(&c->target);
  const davit_align_database_options options = {CLI_DEVICES(c)};
  const double start = cli_now();
  const davit_status status =
      davit_align_database_create(&targets, c->matrix.symbols, &c->database, &options);
  c->create_seconds = cli_now() - start;
  return cli_status(status);
}

/* ---- the alignments ---- */

static davit_status trace(const comparison *c, row *r) {
  const int64_t q = r->query, t = r->hit.target;
  const bool wanted = c->cigar || c->job.common.check;
  return davit_align_trace(&c->scoring, length_of(&c->query, q), symbols_of(&c->query, q),
                           length_of(&c->target, t), symbols_of(&c->target, t), &r->alignment,
                           wanted ? &r->cigar : NULL);
}

/* Many: each on one thread, all threads at a time. Few: one after the other, on all threads. Those for which
 * memory was short are tried again alone. */
static int trace_all(comparison *c) {
  const double start = cli_now();
#pragma omp parallel for num_threads(dvt_threads()) schedule(dynamic, 1) if (c->row_count > dvt_threads())
  for (int64_t k = 0; k < c->row_count; k++)
    c->rows[k].status = trace(c, &c->rows[k]);
  davit_status status = DAVIT_SUCCESS;
  for (int64_t k = 0; k < c->row_count && status == DAVIT_SUCCESS; k++)
    if (c->rows[k].status != DAVIT_SUCCESS)
      status = trace(c, &c->rows[k]);
  c->trace_seconds = cli_now() - start;
  return cli_status(status);
}

static int run(void *state) {
  comparison *c = state;
  int code = make_database(c);
  if (code == CLI_OK)
    code = cli_job_measure(&c->job);
  return code == CLI_OK ? trace_all(c) : code;
}

/* ---- the check ---- */

/* The score of the columns of an alignment; -1 if they do not fit its begin and end. */
static int64_t score_of_columns(const comparison *c, const row *r) {
  const davit_align_scoring *scoring = &c->scoring;
  const uint8_t *query = symbols_of(&c->query, r->query), *target = symbols_of(&c->target, r->hit.target);
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
      score += scoring->matrix[query[i + k] + target[j + k] * scoring->symbols];
    }
    score -= both ? 0 : open + (count - 1) * extend;
    i += in_query;
    j += in_target;
  }
  return i == r->alignment.query_end && j == r->alignment.target_end ? score : -1;
}

/* The rows of a query, from *next on, against the hits that follow from the reference's scores. */
static int64_t check_rows(const comparison *c, int64_t query, int64_t *next) {
  const int64_t count = select_hits(c, c->expected);
  int64_t wrong = 0, k = 0;
  for (; *next < c->row_count && c->rows[*next].query == query; ++*next, k++) {
    const row *r = &c->rows[*next];
    wrong += k >= count || r->hit.target != c->hits[k].target || r->hit.score != c->hits[k].score;
    wrong += r->alignment.score != r->hit.score || score_of_columns(c, r) != r->hit.score;
  }
  return wrong + (k < count ? count - k : 0);
}

static int check(void *state, cli_check *check) {
  comparison *c = state;
  int64_t wrong = 0, next = 0;
  for (int64_t query = 0; query < c->query.count; query++) {
    score_by_reference(c, query, c->expected);
    if (!c->job.devices.reference) {
      const davit_status status = davit_align_scores(c->database, &c->scoring, length_of(&c->query, query),
                                                     symbols_of(&c->query, query), c->scores);
      if (status != DAVIT_SUCCESS)
        return cli_status(status);
      for (int64_t k = 0; k < c->target.count; k++)
        wrong += c->scores[k] != c->expected[k];
    }
    wrong += check_rows(c, query, &next);
  }
  *check = (cli_check){.measure = "scores, hits and columns that differ", .error = (double)wrong, .bound = 0};
  return CLI_OK;
}

/* ---- report ---- */

static bool write_rows(FILE *file, const void *state) {
  const comparison *c = state;
  fputs("query\ttarget\tscore\tqstart\tqend\ttstart\ttend\tcigar\n", file);
  for (int64_t k = 0; k < c->row_count; k++) {
    const row *r = &c->rows[k];
    const davit_align_result *a = &r->alignment;
    fprintf(file, "%s\t%s\t%" PRId32 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\n",
            cli_sequences_name(&c->query, r->query), cli_sequences_name(&c->target, r->hit.target), a->score,
            a->query_begin + 1, a->query_end, a->target_begin + 1, a->target_end, c->cigar ? r->cigar : "*");
  }
  return !ferror(file);
}

static void report(cli_json *json, const void *state) {
  const comparison *c = state;
  cli_json_real(json, "seconds_transfer_included", c->job.seconds.median + c->create_seconds);
  cli_json_real(json, "seconds_alignments", c->trace_seconds);
  cli_json_string(json, "matrix", c->matrix_name);
  cli_json_integer(json, "gap_open", c->scoring.gap_open);
  cli_json_integer(json, "gap_extend", c->scoring.gap_extend);
  cli_json_integer(json, "queries", c->query.count);
  cli_json_integer(json, "targets", c->target.count);
  cli_json_real(json, "cells", c->job.rate.amount);
  cli_json_integer(json, "alignments", c->row_count);
}

/* ---- command ---- */

static int make_matrix(comparison *c) {
  if (c->match) {
    cli_matrix_dna((int8_t)c->match, (int8_t)c->mismatch, &c->matrix);
    c->matrix_name = "dna";
    return CLI_OK;
  }
  const bool file =
      strchr(c->matrix_name, '/') || davit_align_matrix_find(c->matrix_name, &c->matrix) != DAVIT_SUCCESS;
  return file ? cli_matrix_read(c->matrix_name, &c->matrix) : CLI_OK;
}

static int make_room(comparison *c) {
  const size_t targets = (size_t)c->target.count;
  const bool reference = c->job.devices.reference || c->job.common.check;
  const size_t words = reference ? (size_t)dvt_threads() * scratch_words(c) : 0;
  c->hits = cli_job_memory(&c->job, targets, sizeof *c->hits);
  c->scores = cli_job_memory(&c->job, targets, sizeof *c->scores);
  c->expected = cli_job_memory(&c->job, targets, sizeof *c->expected);
  c->scratch = cli_job_memory(&c->job, words, sizeof *c->scratch);
  return c->hits && c->scores && c->expected && c->scratch ? CLI_OK : CLI_DEVICE;
}

static int load(void *state) {
  comparison *c = state;
  int code = make_matrix(c);
  if (code == CLI_OK)
    code = cli_sequences_read(c->query_path, &c->matrix, &c->query);
  if (code == CLI_OK)
    code = cli_sequences_read(c->target_path, &c->matrix, &c->target);
  if (code != CLI_OK)
    return code;
  c->scoring.symbols = c->matrix.symbols;
  c->scoring.matrix = c->matrix.scores;
  c->top = c->top < c->target.count ? c->top : c->target.count;
  c->job.rate = (cli_rate){CLI_GCUPS, (double)c->query.offsets[c->query.count] *
                                          (double)c->target.offsets[c->target.count]};
  return make_room(c);
}

static void release(void *state) {
  comparison *c = state;
  davit_align_database_destroy(c->database);
  for (int64_t k = 0; k < c->row_count; k++)
    davit_free(c->rows[k].cigar);
  free(c->rows);
  cli_sequences_free(&c->query);
  cli_sequences_free(&c->target);
}

const cli_command cli_command_align = {
    .name = "align",
    .summary = "best local alignments of sequences",
    .description =
        "Aligns every sequence of QUERY with all of TARGET and prints the best local alignments "
        "(Smith-Waterman "
        "with affine gaps) as tab-separated lines: query target score qstart qend tstart tend cigar. The "
        "first line "
        "has these names. Positions count from 1, and both ends belong to the alignment. Pairs that score 0 "
        "are left out.",
    .examples =
        "davit align query.fa targets.fa.gz --top 5 --cigar\n"
        "davit align reads.fq genes.fa --match 2 --mismatch -3 --gap-open 5 --gap-extend 2 -o hits.tsv\n",
    .operands = CLI_PLACES(
        CLI_PLACE(comparison, query_path, "QUERY", "FASTA or FASTQ, plain or compressed by gzip or bgzip"),
        CLI_PLACE(comparison, target_path, "TARGET", "the same")),
    .options = CLI_OPTIONS(
        CLI_OPTION(OUTPUT, comparison, output, "-o", "FILE", .value = "-", .otherwise = "standard output",
                   .help = "write the lines there; with --json, lines are written only to a file"),
        CLI_OPTION(
            TEXT, comparison, matrix_name, "--matrix", "M", .value = "blosum62",
            .help =
                "blosum45, 50, 62, 80 or 90, pam30, 70 or 250, nuc.4.4, or a file in NCBI's format, whose "
                "letters are the alphabet"),
        CLI_OPTION(WHOLE, comparison, match, "--match", "X", .minimum = 1, .maximum = INT8_MAX,
                   .needs = "--mismatch", .excludes = "--matrix",
                   .help = "DNA instead: the score of equal bases"),
        CLI_OPTION(WHOLE, comparison, mismatch, "--mismatch", "Y", .minimum = INT8_MIN, .maximum = 0,
                   .needs = "--match", .help = "the score of other bases, and of N with any"),
        CLI_OPTION(WHOLE, comparison, scoring.gap_open, "--gap-open", "X", .minimum = 1, .maximum = INT32_MAX,
                   .value = "11", .help = "what the first symbol of a gap costs"),
        CLI_OPTION(WHOLE, comparison, scoring.gap_extend, "--gap-extend", "X", .minimum = 1,
                   .maximum = INT32_MAX, .value = "1", .help = "what each further symbol of a gap costs"),
        CLI_OPTION(WHOLE, comparison, top, "--top", "K", .minimum = 1, .value = "10",
                   .help = "at most K targets for a query, best first, then in the order of TARGET"),
        CLI_OPTION(
            FLAG, comparison, cigar, "--cigar", NULL,
            .help =
                "fill the column cigar: runs of = (equal), X (not equal), I (query alone), D (target alone); "
                "else it is *")),
    .common = CLI_COMMON_COMPUTE,
    .state = sizeof(comparison),
    .read = load,
    .run = run,
    .work = work,
    .check = check,
    .write = write_rows,
    .report = report,
    .release = release,
};
