/* SPDX-License-Identifier: Apache-2.0 */
/* TSV and JSON of our own; SAM 1.6 (Sequence Alignment/Map format specification); PAF (Heng Li's pairwise
 * mapping format); the twelve columns of BLAST's -outfmt 6. */
#include "src/cli/align.h"

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

/* A row, and what the formats say of it. */
typedef struct line {
  const align_comparison *of;
  const align_row *row;
  const char *query, *target, *cigar; /* NULL where nobody wants it */
  int64_t m, n;                       /* symbols of query and target */
  int64_t begin, end;                 /* in the query as the file has it, from 0, without the end */
  int64_t target_begin, target_end;
  int32_t score;
  bool minus;
  columns columns;
  double identity, coverage, expect, bits; /* per cent; NaN where there are no statistics */
} line;

static line line_of(const align_comparison *c, const align_row *r) {
  const davit_align_result *a = &r->alignment;
  const int64_t m = cli_sequences_length(&c->query, r->query);
  const bool minus = r->found.strand == ALIGN_MINUS, known = c->statistics.k > 0;
  line l = {.of = c,
            .row = r,
            .query = cli_sequences_name(&c->query, r->query),
            .target = cli_sequences_name(&c->target, r->found.hit.target),
            .cigar = r->cigar,
            .m = m,
            .n = cli_sequences_length(&c->target, r->found.hit.target),
            .begin = minus ? m - a->query_end : a->query_begin,
            .end = minus ? m - a->query_begin : a->query_end,
            .target_begin = a->target_begin,
            .target_end = a->target_end,
            .score = a->score,
            .minus = minus,
            .columns = count_columns(r->cigar ? r->cigar : ""),
            .expect = known ? align_expect(&c->statistics, a->score, m, c->target.offsets[c->target.count])
                            : (double)NAN,
            .bits = known ? align_bits(&c->statistics, a->score) : (double)NAN};
  l.identity = percent(l.columns.equal, length_of(&l.columns));
  l.coverage = percent(l.end - l.begin, m);
  return l;
}

/* ---- lines ---- */

static void write_tsv(FILE *file, const line *l) {
  const bool cigar = l->of->cigar;
  fprintf(file, "%s\t%s\t%" PRId32 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\t%c\t", l->query,
          l->target, l->score, l->begin + 1, l->end, l->target_begin + 1, l->target_end,
          cigar ? l->cigar : "*", l->minus ? '-' : '+');
  if (cigar)
    fprintf(file, "%.2f", l->identity);
  else
    fputc('*', file);
  fprintf(file, "\t%.2f\t", l->coverage);
  if (isnan(l->bits))
    fputs("*\t*\n", file);
  else
    fprintf(file, "%.3g\t%.1f\n", l->expect, l->bits);
}

/* The columns of TSV, all of them known. */
static void write_json(FILE *file, const line *l) {
  cli_json json = {.file = file};
  cli_json_open_object(&json, NULL);
  cli_json_string(&json, "query", l->query);
  cli_json_string(&json, "target", l->target);
  cli_json_integer(&json, "score", l->score);
  cli_json_integer(&json, "qstart", l->begin + 1);
  cli_json_integer(&json, "qend", l->end);
  cli_json_integer(&json, "tstart", l->target_begin + 1);
  cli_json_integer(&json, "tend", l->target_end);
  cli_json_string(&json, "cigar", l->cigar);
  cli_json_string(&json, "strand", l->minus ? "-" : "+");
  cli_json_real(&json, "identity", l->identity);
  cli_json_real(&json, "coverage", l->coverage);
  cli_json_real(&json, "evalue", l->expect);
  cli_json_real(&json, "bits", l->bits);
  if (l->of->x_drop > 0)
    cli_json_bool(&json, "dropped", l->row->alignment.dropped);
  cli_json_close_object(&json);
}

static void write_paf(FILE *file, const line *l) {
  fprintf(file, "%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%c\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64,
          l->query, l->m, l->begin, l->end, l->minus ? '-' : '+', l->target, l->n, l->target_begin,
          l->target_end);
  fprintf(file, "\t%" PRId64 "\t%" PRId64 "\t255\tAS:i:%" PRId32 "\tNM:i:%" PRId64 "\tcg:Z:%s\n",
          l->columns.equal, length_of(&l->columns), l->score, length_of(&l->columns) - l->columns.equal,
          l->cigar);
}

/* On the minus strand the target's places are turned round, as BLAST does. */
static void write_blast6(FILE *file, const line *l) {
  const columns *c = &l->columns;
  fprintf(file, "%s\t%s\t%.3f\t%" PRId64 "\t%" PRId64 "\t%" PRId64, l->query, l->target, l->identity,
          length_of(c), c->different, c->gaps);
  fprintf(file, "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%.3g\t%.1f\n", l->begin + 1, l->end,
          l->minus ? l->target_end : l->target_begin + 1, l->minus ? l->target_begin + 1 : l->target_end,
          l->expect, l->bits);
}

/* ---- SAM ---- */

static void write_letters(FILE *file, const align_comparison *c, int64_t query, align_strand strand) {
  const char *letters = c->query.letters + c->query.offsets[query];
  const int64_t count = cli_sequences_length(&c->query, query);
  for (int64_t i = 0; i < count; i++) {
    const char letter = strand == ALIGN_MINUS ? align_complement_letter(letters[count - 1 - i]) : letters[i];
    fputc(letter == 'U' ? 'T' : letter, file); /* samtools reads U as N */
  }
}

static void write_sam_head(FILE *file, const align_comparison *c) {
  fputs("@HD\tVN:1.6\tSO:unsorted\tGO:query\n", file);
  for (int64_t k = 0; k < c->target.count; k++)
    fprintf(file, "@SQ\tSN:%s\tLN:%" PRId64 "\n", cli_sequences_name(&c->target, k),
            cli_sequences_length(&c->target, k));
  fputs("@PG\tID:davit\tPN:davit\tVN:" DAVIT_VERSION "\n", file);
}

static void write_sam_unmapped(FILE *file, const align_comparison *c, int64_t query) {
  fprintf(file, "%s\t4\t*\t0\t0\t*\t*\t0\t0\t", cli_sequences_name(&c->query, query));
  write_letters(file, c, query, ALIGN_PLUS);
  fputs("\t*\n", file);
}

static void write_clip(FILE *file, int64_t symbols) {
  if (symbols > 0)
    fprintf(file, "%" PRId64 "S", symbols);
}

/* A query's first row is its primary alignment and holds its letters. */
static void write_sam(FILE *file, const line *l, bool primary) {
  const davit_align_result *a = &l->row->alignment;
  fprintf(file, "%s\t%d\t%s\t%" PRId64 "\t255\t", l->query, (l->minus ? 16 : 0) + (primary ? 0 : 256),
          l->target, l->target_begin + 1);
  write_clip(file, a->query_begin);
  fputs(l->cigar, file);
  write_clip(file, l->m - a->query_end);
  fputs("\t*\t0\t0\t", file);
  if (primary)
    write_letters(file, l->of, l->row->query, l->row->found.strand);
  else
    fputc('*', file);
  fprintf(file, "\t*\tAS:i:%" PRId32 "\tNM:i:%" PRId64 "\n", l->score,
          length_of(&l->columns) - l->columns.equal);
}

static void write_sam_file(FILE *file, const align_comparison *c) {
  int64_t row = 0;
  write_sam_head(file, c);
  for (int64_t query = 0; query < c->query.count; query++) {
    const int64_t first = row;
    for (; row < c->rows.count && c->rows.at[row].query == query; row++) {
      const line l = line_of(c, &c->rows.at[row]);
      write_sam(file, &l, row == first);
    }
    if (row == first)
      write_sam_unmapped(file, c, query);
  }
}

bool align_write(FILE *file, const align_comparison *c) {
  static void (*const writers[])(FILE *, const line *) = {[ALIGN_TSV] = write_tsv,
                                                          [ALIGN_JSON] = write_json,
                                                          [ALIGN_PAF] = write_paf,
                                                          [ALIGN_BLAST6] = write_blast6};
  const align_format format = c->format;
  const bool json = format == ALIGN_JSON;
  if (format == ALIGN_TSV)
    fputs(
        "query\ttarget\tscore\tqstart\tqend\ttstart\ttend\tcigar\tstrand\tidentity\tcoverage\tevalue\tbits\n",
        file);
  if (format == ALIGN_SAM)
    write_sam_file(file, c);
  fputs(json ? "[" : "", file);
  for (int64_t k = 0; k < c->rows.count && format != ALIGN_SAM; k++) {
    const line l = line_of(c, &c->rows.at[k]);
    fputs(!json ? "" : k ? ",\n " : "\n ", file); /* a row a line */
    writers[format](file, &l);
  }
  fputs(json ? "\n]\n" : "", file);
  return !ferror(file);
}
