/* davit align: every sequence of one file against all of another, best local alignments first. */
#include <davit/align.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "ref/ref.h"
#include "src/cli/clock.h"
#include "src/cli/formats/fasta.h"
#include "src/cli/frame/old_job.h"
#include "src/cli/frame/progress.h"

/* A line of the result. */
typedef struct row {
  int64_t query;
  davit_align_hit hit;
  davit_align_result alignment;
  char *cigar;
  davit_status status; /* of the trace */
} row;

typedef struct comparison {
  cli_old_job job;
  const char *matrix_name;
  davit_align_matrix matrix;
  davit_align_scoring scoring;
  cli_sequences query, target;
  davit_align_database *database; /* NULL for the reference */
  int64_t top;                    /* at most as many as there are targets */
  bool cigar;
  davit_align_hit *hits; /* of a query: one for each target */
  int32_t *scores;       /* of a query */
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

static double cells(const comparison *c) {
  return (double)c->query.offsets[c->query.count] * (double)c->target.offsets[c->target.count];
}

/* ---- the reference ---- */

static size_t scratch_words(const comparison *c) {
  return 2 * ((size_t)longest(&c->query) + 1);
}

static void score_by_reference(const comparison *c, int64_t query, int32_t *scores) {
#pragma omp parallel for num_threads(cli_threads()) schedule(dynamic, 1)
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
    row *rows = realloc(c->rows, (size_t)room * sizeof *rows);
    if (!rows)
      return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no host memory for %" PRId64 " alignments", room);
    c->rows = rows;
    c->row_room = room;
  }
  for (int64_t k = 0; k < found; k++)
    c->rows[c->row_count++] = (row){.query = query, .hit = c->hits[k]};
  return DAVIT_SUCCESS;
}

static davit_status search(comparison *c, int64_t query, int64_t *found) {
  if (!c->job.devices.reference)
    return davit_align_search(c->database, &c->scoring, length_of(&c->query, query),
                              symbols_of(&c->query, query), c->top, c->hits, found);
  score_by_reference(c, query, c->scores);
  *found = select_hits(c, c->scores);
  return DAVIT_SUCCESS;
}

static void prepare(void *state) {
  comparison *c = state;
  c->row_count = 0;
}

static davit_status work(void *state) {
  comparison *c = state;
  davit_status status = DAVIT_SUCCESS;
  for (int64_t query = 0; query < c->query.count && status == DAVIT_SUCCESS; query++) {
    int64_t found = 0;
    cli_progress_at(&c->job.progress, (double)query, (double)c->query.count, "sequences");
    status = search(c, query, &found);
    if (status == DAVIT_SUCCESS)
      status = keep(c, query, found);
  }
  return status;
}

static int make_database(comparison *c) {
  if (c->job.devices.reference)
    return CLI_OK;
  cli_progress progress;
  cli_progress_start(&progress, "align: database", c->job.common.quiet);
  const davit_align_sequences targets = cli_sequences_view(&c->target);
  const davit_align_database_options options = {.devices = c->job.devices.ids,
                                                .device_count = c->job.devices.count};
  const double start = cli_now();
  const davit_status status =
      davit_align_database_create(&targets, c->matrix.symbols, &c->database, &options);
  c->create_seconds = cli_now() - start;
  cli_progress_stop(&progress);
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

/* Many: each on one thread, all threads at a time; few: one after the other, on all threads. Those for which memory was short are tried
 * again alone. */
static int trace_all(comparison *c) {
  cli_progress progress;
  cli_progress_start(&progress, "align: alignments", c->job.common.quiet);
  const double start = cli_now();
#pragma omp parallel for num_threads(cli_threads()) schedule(dynamic, 1) if (c->row_count > cli_threads())
  for (int64_t k = 0; k < c->row_count; k++)
    c->rows[k].status = trace(c, &c->rows[k]);
  davit_status status = DAVIT_SUCCESS;
  for (int64_t k = 0; k < c->row_count && status == DAVIT_SUCCESS; k++)
    if (c->rows[k].status != DAVIT_SUCCESS)
      status = trace(c, &c->rows[k]);
  c->trace_seconds = cli_now() - start;
  cli_progress_stop(&progress);
  return cli_status(status);
}

/* ---- the check ---- */

/* What the columns of an alignment score by themselves; -1 if they are not those of its stretches. */
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

static double gcups(const comparison *c) {
  return cells(c) / c->job.seconds * 1e-9;
}

static void print_text(FILE *file, const void *state) {
  const comparison *c = state;
  fprintf(file, "%" PRId64 " queries, %" PRId64 " targets, %.6g cells, %" PRId64 " alignments\n",
          c->query.count, c->target.count, cells(c), c->row_count);
  fprintf(file, "%.6g s, %.4g GCUPS; database %.3g s, alignments %.3g s\n", c->job.seconds, gcups(c),
          c->create_seconds, c->trace_seconds);
}

static void print_json(cli_json *json, const void *state) {
  const comparison *c = state;
  cli_json_real(json, "seconds_transfer_included", c->job.seconds + c->create_seconds);
  cli_json_real(json, "seconds_alignments", c->trace_seconds);
  cli_json_real(json, "gcups", gcups(c));
  cli_json_string(json, "matrix", c->matrix_name);
  cli_json_integer(json, "gap_open", c->scoring.gap_open);
  cli_json_integer(json, "gap_extend", c->scoring.gap_extend);
  cli_json_integer(json, "queries", c->query.count);
  cli_json_integer(json, "targets", c->target.count);
  cli_json_real(json, "cells", cells(c));
  cli_json_integer(json, "alignments", c->row_count);
}

/* ---- command ---- */

typedef struct arguments {
  const char *paths[2], *output, *matrix;
  cli_old_real match, mismatch;
  int64_t gap_open, gap_extend, top;
} arguments;

static int read_score(const char *name, const cli_old_real *given, int least, int most, int8_t *score) {
  if (!given->given)
    return cli_fail(CLI_USAGE, "--match and --mismatch go together");
  if (!(given->value >= least && given->value <= most) || given->value != floor(given->value))
    return cli_fail(CLI_USAGE, "--%s takes a whole number from %d to %d", name, least, most);
  *score = (int8_t)given->value;
  return CLI_OK;
}

static int make_dna(comparison *c, const arguments *given) {
  int8_t match = 0, mismatch = 0;
  if (given->matrix)
    return cli_fail(CLI_USAGE, "--matrix and --match exclude each other");
  int code = read_score("match", &given->match, 1, INT8_MAX, &match);
  if (code == CLI_OK)
    code = read_score("mismatch", &given->mismatch, INT8_MIN, 0, &mismatch);
  cli_matrix_dna(match, mismatch, &c->matrix);
  c->matrix_name = "dna";
  return code;
}

static int make_matrix(comparison *c, const arguments *given) {
  if (given->match.given || given->mismatch.given)
    return make_dna(c, given);
  c->matrix_name = given->matrix ? given->matrix : "blosum62";
  const bool file =
      strchr(c->matrix_name, '/') || davit_align_matrix_find(c->matrix_name, &c->matrix) != DAVIT_SUCCESS;
  return file ? cli_matrix_read(c->matrix_name, &c->matrix) : CLI_OK;
}

static int make_scoring(comparison *c, const arguments *given) {
  if (given->gap_open > INT32_MAX || given->gap_extend > INT32_MAX)
    return cli_fail(CLI_USAGE, "--gap-open and --gap-extend take at most %d", INT32_MAX);
  const int code = make_matrix(c, given);
  c->scoring = (davit_align_scoring){.symbols = c->matrix.symbols,
                                     .matrix = c->matrix.scores,
                                     .gap_open = (int32_t)given->gap_open,
                                     .gap_extend = (int32_t)given->gap_extend};
  return code;
}

static int make_room(comparison *c) {
  const size_t targets = (size_t)c->target.count;
  const bool reference = c->job.devices.reference || c->job.common.check;
  const size_t words = reference ? (size_t)cli_threads() * scratch_words(c) : 1;
  c->hits = malloc(targets * sizeof *c->hits);
  c->scores = malloc(targets * sizeof *c->scores);
  c->expected = malloc(targets * sizeof *c->expected);
  c->scratch = malloc(words * sizeof *c->scratch);
  if (!c->hits || !c->scores || !c->expected || !c->scratch)
    return cli_fail(CLI_DEVICE, "not enough memory for the scores of %" PRId64 " targets", c->target.count);
  return CLI_OK;
}

static int load(comparison *c, const arguments *given) {
  int code = make_scoring(c, given);
  if (code == CLI_OK)
    code = cli_sequences_read(given->paths[0], &c->matrix, &c->query);
  if (code == CLI_OK)
    code = cli_sequences_read(given->paths[1], &c->matrix, &c->target);
  if (code != CLI_OK)
    return code;
  c->top = given->top < c->target.count ? given->top : c->target.count;
  return make_room(c);
}

static int compute(comparison *c, const cli_command *self, const arguments *given) {
  static const cli_old_job_report report = {print_text, print_json};
  const char *output = given->output || c->job.common.json ? given->output : "-";
  c->job.write = write_rows;
  int code = cli_old_job_open(&c->job, self, output);
  if (code == CLI_OK)
    code = load(c, given);
  if (code == CLI_OK)
    code = make_database(c);
  if (code == CLI_OK)
    code = cli_old_job_measure(&c->job, work, prepare, c);
  if (code == CLI_OK)
    code = trace_all(c);
  if (code == CLI_OK)
    code = cli_old_job_reference(&c->job, check, c);
  return code == CLI_OK ? cli_old_job_finish(&c->job, NULL, &report, c) : code;
}

static void end(comparison *c) {
  cli_old_job_close(&c->job);
  davit_align_database_destroy(c->database);
  for (int64_t k = 0; k < c->row_count; k++)
    davit_free(c->rows[k].cigar);
  free(c->rows);
  free(c->hits);
  free(c->scores);
  free(c->expected);
  free(c->scratch);
  cli_sequences_free(&c->query);
  cli_sequences_free(&c->target);
}

static int run(const cli_command *self, int argc, char **argv) {
  enum { GAP_OPEN = 11, GAP_EXTEND = 1, TOP = 10 };
  comparison c = {0};
  arguments given = {.gap_open = GAP_OPEN, .gap_extend = GAP_EXTEND, .top = TOP};
  const cli_old_option options[] = {{"matrix", CLI_OLD_TEXT, &given.matrix},
                                    {"match", CLI_OLD_REAL, &given.match},
                                    {"mismatch", CLI_OLD_REAL, &given.mismatch},
                                    {"gap-open", CLI_OLD_SIZE, &given.gap_open},
                                    {"gap-extend", CLI_OLD_SIZE, &given.gap_extend},
                                    {"top", CLI_OLD_SIZE, &given.top},
                                    {"cigar", CLI_OLD_FLAG, &c.cigar},
                                    {"o", CLI_OLD_TEXT, &given.output},
                                    {0}};
  int code = cli_old_parse(self, options, argc, argv, &c.job.common, given.paths, 2);
  if (code == CLI_OK)
    code = compute(&c, self, &given);
  end(&c);
  return code;
}

const cli_command cli_command_align = {
    .name = "align",
    .summary = "best local alignments of sequences",
    .usage =
        "davit align QUERY TARGET [options]\n\n"
        "Every sequence of QUERY against all of TARGET (FASTA or FASTQ, gzip too): the best local "
        "alignments\n"
        "(Smith-Waterman with affine gaps), as tab-separated lines\n"
        "  query target score qstart qend tstart tend cigar\n"
        "under a line of these names. Positions count from 1, both ends belong to the alignment. Pairs that "
        "score 0\n"
        "are left out.\n\n"
        "  --matrix M       blosum62 (default), blosum45, 50, 80, 90, pam30, 70, 250 or nuc.4.4, or a file\n"
        "                   in NCBI's format, whose letters are the alphabet\n"
        "  --match X, --mismatch Y   DNA instead: X > 0 for equal bases, Y <= 0 for others and for N\n"
        "  --gap-open X     what the first symbol of a gap costs (default 11),\n"
        "  --gap-extend X   and each further one (default 1)\n"
        "  --top K          at most K targets for a query, best first, then in the order of TARGET (default "
        "10)\n"
        "  --cigar          the columns: runs of = (equal) X (not equal) I (query alone) D (target alone); "
        "else *\n"
        "  -o FILE          in place of standard output; with --json, lines are written only to FILE\n",
    .common = CLI_COMMON_NUMERIC,
    .old_run = run,
};
