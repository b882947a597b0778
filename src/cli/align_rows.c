/* SPDX-License-Identifier: Apache-2.0 */
/* TSV and JSON of our own; SAM 1.6 (Sequence Alignment/Map format specification); PAF (Heng Li's pairwise
 * mapping format); the twelve columns of BLAST's -outfmt 6. */
#include "src/cli/align_rows.h"

#include <davit/version.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "src/cli/frame/json.h"

/* ---- figures of an alignment ---- */

typedef struct columns {
  int64_t equal, different, inserted, deleted, gaps;
} columns;

static columns count_columns(const char *cigar) {
  columns found = {0};
  for (char *at = (char *)cigar; *at; at++) {
    const int64_t count = strtoll(at, &at, 10);
    *(*at == '='   ? &found.equal
      : *at == 'X' ? &found.different
      : *at == 'I' ? &found.inserted
                   : &found.deleted) += count;
    found.gaps += *at == 'I' || *at == 'D';
  }
  return found;
}

static int64_t length_of(const columns *c) {
  return c->equal + c->different + c->inserted + c->deleted;
}

static double percent(int64_t part, int64_t whole) {
  return whole ? 100 * (double)part / (double)whole : 0;
}

static int64_t symbols_in(const cli_sequences *s, int64_t index) {
  return s->offsets[index + 1] - s->offsets[index];
}

/* Where the alignment begins and ends in the query as the file has it, from 0, without the end. */
static void place_in_query(const align_table *t, const align_row *r, int64_t *begin, int64_t *end) {
  const int64_t m = symbols_in(t->query, r->query);
  const bool minus = r->found.strand == ALIGN_MINUS;
  *begin = minus ? m - r->alignment.query_end : r->alignment.query_begin;
  *end = minus ? m - r->alignment.query_begin : r->alignment.query_end;
}

static double expect_of(const align_table *t, const align_row *r) {
  return align_expect(&t->statistics, r->alignment.score, symbols_in(t->query, r->query),
                      t->target->offsets[t->target->count]);
}

static char sign_of(const align_row *r) {
  return r->found.strand == ALIGN_MINUS ? '-' : '+';
}

/* ---- lines ---- */

static void write_tsv(FILE *file, const align_table *t, const align_row *r) {
  const davit_align_result *a = &r->alignment;
  int64_t begin, end;
  place_in_query(t, r, &begin, &end);
  fprintf(file, "%s\t%s\t%" PRId32 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\t%c\t",
          cli_sequences_name(t->query, r->query), cli_sequences_name(t->target, r->found.hit.target),
          a->score, begin + 1, end, a->target_begin + 1, a->target_end, t->cigar ? r->cigar : "*",
          sign_of(r));
  if (t->cigar) {
    const columns c = count_columns(r->cigar);
    fprintf(file, "%.2f", percent(c.equal, length_of(&c)));
  } else {
    fputc('*', file);
  }
  fprintf(file, "\t%.2f\t", percent(end - begin, symbols_in(t->query, r->query)));
  if (t->statistics.k > 0)
    fprintf(file, "%.3g\t%.1f\n", expect_of(t, r), align_bits(&t->statistics, a->score));
  else
    fputs("*\t*\n", file);
}

static void write_statistic(cli_json *json, const align_table *t, const char *key, double value) {
  if (t->statistics.k > 0)
    cli_json_real(json, key, value);
  else
    cli_json_null(json, key);
}

/* The columns of TSV, all of them known. */
static void write_json(FILE *file, const align_table *t, const align_row *r) {
  const davit_align_result *a = &r->alignment;
  const columns c = count_columns(r->cigar);
  cli_json json = {.file = file};
  int64_t begin, end;
  place_in_query(t, r, &begin, &end);
  cli_json_open_object(&json, NULL);
  cli_json_string(&json, "query", cli_sequences_name(t->query, r->query));
  cli_json_string(&json, "target", cli_sequences_name(t->target, r->found.hit.target));
  cli_json_integer(&json, "score", a->score);
  cli_json_integer(&json, "qstart", begin + 1);
  cli_json_integer(&json, "qend", end);
  cli_json_integer(&json, "tstart", a->target_begin + 1);
  cli_json_integer(&json, "tend", a->target_end);
  cli_json_string(&json, "cigar", r->cigar);
  cli_json_string(&json, "strand", (char[]){sign_of(r), 0});
  cli_json_real(&json, "identity", percent(c.equal, length_of(&c)));
  cli_json_real(&json, "coverage", percent(end - begin, symbols_in(t->query, r->query)));
  write_statistic(&json, t, "evalue", t->statistics.k > 0 ? expect_of(t, r) : 0);
  write_statistic(&json, t, "bits", t->statistics.k > 0 ? align_bits(&t->statistics, a->score) : 0);
  cli_json_close_object(&json);
}

/* A row a line. */
static void write_json_file(FILE *file, const align_table *t) {
  fputc('[', file);
  for (int64_t k = 0; k < t->count; k++) {
    fputs(k ? ",\n " : "\n ", file);
    write_json(file, t, &t->rows[k]);
  }
  fputs("\n]\n", file);
}

static void write_paf(FILE *file, const align_table *t, const align_row *r) {
  const davit_align_result *a = &r->alignment;
  const columns c = count_columns(r->cigar);
  int64_t begin, end;
  place_in_query(t, r, &begin, &end);
  fprintf(file, "%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%c\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64,
          cli_sequences_name(t->query, r->query), symbols_in(t->query, r->query), begin, end, sign_of(r),
          cli_sequences_name(t->target, r->found.hit.target), symbols_in(t->target, r->found.hit.target),
          a->target_begin, a->target_end);
  fprintf(file, "\t%" PRId64 "\t%" PRId64 "\t255\tAS:i:%" PRId32 "\tNM:i:%" PRId64 "\tcg:Z:%s\n", c.equal,
          length_of(&c), a->score, length_of(&c) - c.equal, r->cigar);
}

/* On the minus strand the target's places are turned round, as BLAST does. */
static void write_blast6(FILE *file, const align_table *t, const align_row *r) {
  const davit_align_result *a = &r->alignment;
  const columns c = count_columns(r->cigar);
  const bool minus = r->found.strand == ALIGN_MINUS, known = t->statistics.k > 0;
  int64_t begin, end;
  place_in_query(t, r, &begin, &end);
  fprintf(file, "%s\t%s\t%.3f\t%" PRId64 "\t%" PRId64 "\t%" PRId64, cli_sequences_name(t->query, r->query),
          cli_sequences_name(t->target, r->found.hit.target), percent(c.equal, length_of(&c)), length_of(&c),
          c.different, c.gaps);
  fprintf(file, "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%.3g\t%.1f\n", begin + 1, end,
          minus ? a->target_end : a->target_begin + 1, minus ? a->target_begin + 1 : a->target_end,
          known ? expect_of(t, r) : (double)NAN, known ? align_bits(&t->statistics, a->score) : (double)NAN);
}

/* ---- SAM ---- */

static void write_letters(FILE *file, const align_table *t, int64_t query, align_strand strand) {
  const char *letters = t->query->letters + t->query->offsets[query];
  const int64_t count = symbols_in(t->query, query);
  for (int64_t i = 0; i < count; i++) {
    const char letter = strand == ALIGN_MINUS ? align_complement_letter(letters[count - 1 - i]) : letters[i];
    fputc(letter == 'U' ? 'T' : letter, file); /* samtools reads U as N */
  }
}

static void write_sam_head(FILE *file, const align_table *t) {
  fputs("@HD\tVN:1.6\tSO:unsorted\tGO:query\n", file);
  for (int64_t k = 0; k < t->target->count; k++)
    fprintf(file, "@SQ\tSN:%s\tLN:%" PRId64 "\n", cli_sequences_name(t->target, k), symbols_in(t->target, k));
  fputs("@PG\tID:davit\tPN:davit\tVN:" DAVIT_VERSION "\n", file);
}

static void write_sam_unmapped(FILE *file, const align_table *t, int64_t query) {
  fprintf(file, "%s\t4\t*\t0\t0\t*\t*\t0\t0\t", cli_sequences_name(t->query, query));
  write_letters(file, t, query, ALIGN_PLUS);
  fputs("\t*\n", file);
}

static void write_clip(FILE *file, int64_t symbols) {
  if (symbols > 0)
    fprintf(file, "%" PRId64 "S", symbols);
}

/* A query's first row is its primary alignment and holds its letters. */
static void write_sam(FILE *file, const align_table *t, const align_row *r, bool primary) {
  const davit_align_result *a = &r->alignment;
  const columns c = count_columns(r->cigar);
  fprintf(file, "%s\t%d\t%s\t%" PRId64 "\t255\t", cli_sequences_name(t->query, r->query),
          (r->found.strand == ALIGN_MINUS ? 16 : 0) + (primary ? 0 : 256),
          cli_sequences_name(t->target, r->found.hit.target), a->target_begin + 1);
  write_clip(file, a->query_begin);
  fputs(r->cigar, file);
  write_clip(file, symbols_in(t->query, r->query) - a->query_end);
  fputs("\t*\t0\t0\t", file);
  if (primary)
    write_letters(file, t, r->query, r->found.strand);
  else
    fputc('*', file);
  fprintf(file, "\t*\tAS:i:%" PRId32 "\tNM:i:%" PRId64 "\n", a->score, length_of(&c) - c.equal);
}

static void write_sam_file(FILE *file, const align_table *t) {
  int64_t row = 0;
  write_sam_head(file, t);
  for (int64_t query = 0; query < t->query->count; query++) {
    const int64_t first = row;
    for (; row < t->count && t->rows[row].query == query; row++)
      write_sam(file, t, &t->rows[row], row == first);
    if (row == first)
      write_sam_unmapped(file, t, query);
  }
}

bool align_write(FILE *file, align_format format, const align_table *t) {
  static void (*const writers[])(FILE *, const align_table *, const align_row *) = {
      [ALIGN_TSV] = write_tsv, [ALIGN_PAF] = write_paf, [ALIGN_BLAST6] = write_blast6};
  if (format == ALIGN_TSV)
    fputs(
        "query\ttarget\tscore\tqstart\tqend\ttstart\ttend\tcigar\tstrand\tidentity\tcoverage\tevalue\tbits\n",
        file);
  if (format == ALIGN_SAM)
    write_sam_file(file, t);
  else if (format == ALIGN_JSON)
    write_json_file(file, t);
  else
    for (int64_t k = 0; k < t->count; k++)
      writers[format](file, t, &t->rows[k]);
  return !ferror(file);
}
