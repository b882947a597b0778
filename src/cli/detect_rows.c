/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/detect_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/cli/fail.h"
#include "src/cli/formats/names.h"

/* ---- keeping ---- */

int detect_rows_open(detect_rows *r) {
  r->bin_s = 1e-3;
  r->ranks = dvt_allocate((size_t)r->permutations + 2, sizeof *r->ranks);
  if (!r->ranks)
    return cli_fail(CLI_DEVICE, "not enough memory for %" PRId64 " p-values", r->permutations + 1);
  r->file = tmpfile();
  return r->file ? CLI_OK : cli_fail(CLI_FAILED, "cannot make a temporary file");
}

void detect_rows_close(detect_rows *r) {
  if (r->file)
    fclose(r->file);
  free(r->ranks);
  free(r->found);
}

/* A sound at several speeds is found by chance as often as one at one (Bonferroni's rule). */
static double of_all_speeds(const detect_rows *r, double p_value) {
  return fmin(p_value * r->speeds, 1);
}

static int64_t rank_of(const detect_rows *r, const davit_detect_hit *hit) {
  return llrint(hit->p_value * (double)(r->permutations + 1));
}

static int cannot_write(void) {
  return cli_fail(CLI_FAILED, "the temporary file of the rows cannot be written");
}

static int append(detect_rows *r, int64_t count, const davit_detect_hit *hits) {
  for (int64_t i = 0; i < count; i++)
    r->ranks[rank_of(r, &hits[i])]++;
  return fwrite(hits, sizeof *hits, (size_t)count, r->file) == (size_t)count ? CLI_OK : cannot_write();
}

int detect_rows_add(detect_rows *r, const davit_detect_hit *hit) {
  davit_detect_hit corrected = *hit;
  corrected.p_value = of_all_speeds(r, hit->p_value);
  r->count++;
  return append(r, 1, &corrected);
}

static bool seek(const detect_rows *r, int64_t row) {
  return !fseeko(r->file, (off_t)(row * (int64_t)sizeof(davit_detect_hit)), SEEK_SET);
}

int detect_rows_skip(detect_rows *r, int64_t count) {
  r->count += count;
  return seek(r, r->count) ? CLI_OK : cannot_write();
}

int detect_rows_put(detect_rows *r, int64_t row, int64_t count, const davit_detect_hit *hits) {
  return seek(r, row) ? append(r, count, hits) : cannot_write();
}

int detect_rows_get(const detect_rows *r, int64_t row, int64_t count, davit_detect_hit *hits) {
  return seek(r, row) && fread(hits, sizeof *hits, (size_t)count, r->file) == (size_t)count
             ? CLI_OK
             : cli_fail(CLI_FAILED, "the temporary file of the rows cannot be read");
}

void detect_rows_level(detect_rows *r, double at_s, float level) {
  while (at_s >= r->bin_s * (double)DETECT_BINS) { /* two bins become one */
    for (int b = 0; b < DETECT_BINS; b++)
      r->level[b] = b < DETECT_BINS / 2 ? fmaxf(r->level[2 * b], r->level[2 * b + 1]) : 0;
    r->bin_s *= 2;
  }
  const int bin = (int)(at_s / r->bin_s);
  r->level[bin] = fmaxf(r->level[bin], level);
}

/* ---- deciding ---- */

static double harmonic_of(const detect_rows *r) {
  double harmonic = 1;
  for (int64_t k = 2; r->any_dependence && k <= r->count; k++)
    harmonic += 1 / (double)k;
  return harmonic;
}

/* The largest p-value that the rule of Benjamini and Hochberg (1995) allows, or of Benjamini and Yekutieli
 * (2001), which holds for any dependence; 0: none. */
static double discovery_bound(const detect_rows *r) {
  const double harmonic = harmonic_of(r);
  double bound = 0, seen = 0;
  for (int64_t k = 1; k <= r->permutations + 1; k++) {
    const double p = (double)k / (double)(r->permutations + 1);
    seen += (double)r->ranks[k];
    if (r->ranks[k] > 0 && p <= r->fdr * seen / ((double)r->count * harmonic))
      bound = p;
  }
  return bound;
}

bool detect_rows_are_too_coarse(const detect_rows *r, int64_t *needed) {
  if (r->fdr <= 0 || r->count == 0 || r->p_value > 0)
    return false;
  const double rows = (double)r->count * harmonic_of(r) / ((double)(r->permutations + 1) * r->fdr);
  *needed = (int64_t)ceil(fmin(rows, 1e18) * (1 - 1e-12));
  return *needed > 1;
}

static int keep(detect_rows *r, const davit_detect_hit *hit, int64_t row) {
  if (!dvt_grow(&r->found, &r->capacity, r->found_count + 1, 64, sizeof *r->found))
    return cli_fail(CLI_DEVICE, "not enough memory for %" PRId64 " hits", r->found_count + 1);
  r->found[r->found_count++] = (detect_found){*hit, row, DETECT_FOUND};
  return CLI_OK;
}

/* The rows whose hits are sorted: qsort() takes no state. */
static const detect_rows *sorted_rows;

static int sound_of(const detect_found *f) {
  return sorted_rows->effects[f->hit.effect].sound;
}

static int by_place(const void *a, const void *b) {
  const detect_found *x = a, *y = b;
  if (sound_of(x) != sound_of(y))
    return sound_of(x) < sound_of(y) ? -1 : 1;
  if (x->hit.onset != y->hit.onset)
    return x->hit.onset < y->hit.onset ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

static int by_row(const void *a, const void *b) {
  const detect_found *x = a, *y = b;
  return (x->row > y->row) - (x->row < y->row);
}

static int compare_reals(double a, double b) {
  return (a > b) - (a < b);
}

/* Pointers to hits, better ones first: copies, then those of higher scores. */
static int by_merit(const void *a, const void *b) {
  const detect_found *x = *(detect_found *const *)a, *y = *(detect_found *const *)b;
  const int copies = compare_reals(y->hit.correlation, x->hit.correlation),
            scores = compare_reals(y->hit.score, x->hit.score);
  return copies ? copies : scores ? scores : by_place(x, y);
}

static bool are_apart(const detect_found *before, const detect_found *behind, int64_t frames) {
  return sound_of(before) != sound_of(behind) || before->hit.onset + frames <= behind->hit.onset;
}

/* Those that overlap a hit that is detected; no hit has more than `longest` frames. */
static void repeat_neighbours(detect_rows *r, detect_found *hit, int64_t longest) {
  const int64_t length = hit->hit.offset - hit->hit.onset;
  for (detect_found *f = hit + 1; f < r->found + r->found_count && !are_apart(hit, f, length); f++)
    f->decision = DETECT_REPEATED;
  for (detect_found *f = hit; f > r->found && !are_apart(f - 1, hit, longest); f--)
    if (f[-1].hit.offset > hit->hit.onset)
      f[-1].decision = DETECT_REPEATED;
}

/* The best hit is detected, then the best of those that do not overlap it, and so on. */
static int merge(detect_rows *r) {
  const size_t count = (size_t)r->found_count;
  int64_t longest = 0;
  detect_found **hits = dvt_allocate(count + 1, sizeof *hits);
  if (!hits)
    return cli_fail(CLI_DEVICE, "not enough memory for %" PRId64 " hits", r->found_count);
  sorted_rows = r;
  qsort(r->found, count, sizeof *r->found, by_place);
  for (size_t i = 0; i < count; i++) {
    const int64_t length = r->found[i].hit.offset - r->found[i].hit.onset;
    longest = length > longest ? length : longest;
    hits[i] = &r->found[i];
  }
  qsort(hits, count, sizeof *hits, by_merit);
  for (size_t i = 0; i < count; i++)
    if (hits[i]->decision == DETECT_FOUND)
      repeat_neighbours(r, hits[i], longest);
  free(hits);
  qsort(r->found, count, sizeof *r->found, by_row);
  return CLI_OK;
}

/* Calls `take` for each row; false: the file cannot be read, or `take` returned false. */
static bool each_row(const detect_rows *r,
                     bool (*take)(void *state, const davit_detect_hit *hit, int64_t row), void *state) {
  davit_detect_hit hit;
  rewind(r->file);
  for (int64_t row = 0; row < r->count; row++)
    if (fread(&hit, sizeof hit, 1, r->file) != 1 || !take(state, &hit, row))
      return false;
  return true;
}

static bool decide_row(void *state, const davit_detect_hit *hit, int64_t row) {
  detect_rows *r = state;
  return !hit->detected || hit->p_value > r->p_value || keep(r, hit, row) == CLI_OK;
}

int detect_rows_decide(detect_rows *r) {
  r->p_value = r->fdr > 0 ? discovery_bound(r) : r->alpha;
  if (fflush(r->file) || !each_row(r, decide_row, r))
    return cli_fail(CLI_FAILED, "the temporary file of the rows cannot be read, or holds too many hits");
  if (r->found_count > 0)
    CLI_TRY(merge(r));
  for (int64_t i = 0; i < r->found_count; i++)
    r->hits += r->found[i].decision == DETECT_FOUND;
  return CLI_OK;
}

/* ---- hits by chance ---- */

double detect_rows_chance(const detect_rows *r) {
  const double all = (double)(r->permutations + 1);
  return fmin(floor(r->alpha / r->speeds * all * (1 + 1e-12)) / all, 1);
}

double detect_rows_by_chance(const detect_rows *r) {
  return r->fdr > 0 ? r->fdr * (double)r->hits : detect_rows_chance(r) * (double)r->count;
}

/* ---- table, hits and labels ---- */

static const char *detect_decision_name(detect_decision decision) {
  static const char *const names[] = {"-", "detected", "repeated"};
  return names[decision];
}

const char *detect_notes(unsigned notes) {
  static const char *const words[] = {"short", "alpha", "stream", "brief"};
  static char text[32];
  size_t used = 0;
  strcpy(text, "-");
  for (size_t k = 0; k < sizeof words / sizeof *words; k++)
    if (notes >> k & 1)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "", words[k]);
  return text;
}

bool detect_rows_head(FILE *file) {
  return fputs("effect\twindow\tonset_s\toffset_s\tscore\tnull_mean\tnull_sd\tz\tp_value\tdecision\t"
               "level_db\tnote\tcorrelation\n",
               file) >= 0;
}

bool detect_rows_row(FILE *file, const detect_rows *rows, const davit_detect_hit *d,
                     detect_decision decision) {
  const detect_label *e = &rows->effects[d->effect];
  if (!rows->all && decision != DETECT_FOUND)
    return true;
  return fprintf(file, "%s\t%" PRId64 "\t%.3f\t%.3f\t%.6g\t%.6g\t%.6g\t%.6g\t%.6g\t%s\t%.2f\t%s\t%.3g\n",
                 e->name, d->window, (double)d->onset * e->frame_s, (double)d->offset * e->frame_s, d->score,
                 d->null_mean, d->null_sd, d->z, d->p_value, detect_decision_name(decision), d->level_db,
                 detect_notes(e->notes), d->correlation) > 0;
}

typedef struct writing {
  FILE *file;
  const detect_rows *rows;
  int64_t next; /* hit */
} writing;

static bool write_row(void *state, const davit_detect_hit *d, int64_t row) {
  writing *w = state;
  const detect_rows *r = w->rows;
  detect_decision decision = DETECT_NOTHING;
  if (w->next < r->found_count && r->found[w->next].row == row)
    decision = r->found[w->next++].decision;
  return detect_rows_row(w->file, r, d, decision);
}

bool detect_rows_table(FILE *file, const detect_rows *rows) {
  writing w = {file, rows, 0};
  return detect_rows_head(file) && each_row(rows, write_row, &w);
}

bool detect_rows_labels(FILE *file, const detect_rows *r) {
  for (int64_t i = 0; i < r->found_count; i++) {
    const detect_found *f = &r->found[i];
    if (f->decision == DETECT_FOUND) {
      const detect_label *e = &r->effects[f->hit.effect];
      fprintf(file, "%.6f\t%.6f\t%s\n", (double)f->hit.onset * e->frame_s, (double)f->hit.offset * e->frame_s,
              e->name);
    }
  }
  return !ferror(file);
}

static void print_hit(cli_json *json, const detect_rows *rows, const detect_found *found) {
  const davit_detect_hit *d = &found->hit;
  const detect_label *e = &rows->effects[d->effect];
  cli_json_open_object(json, NULL);
  cli_json_string(json, "effect", e->name);
  cli_json_integer(json, "window", d->window);
  cli_json_real(json, "onset_s", (double)d->onset * e->frame_s);
  cli_json_real(json, "offset_s", (double)d->offset * e->frame_s);
  cli_json_real(json, "score", d->score);
  cli_json_real(json, "null_mean", d->null_mean);
  cli_json_real(json, "null_sd", d->null_sd);
  cli_json_real(json, "z", d->z);
  cli_json_real(json, "p_value", d->p_value);
  cli_json_string(json, "decision", detect_decision_name(found->decision));
  cli_json_real(json, "level_db", d->level_db);
  cli_json_string(json, "note", detect_notes(e->notes));
  cli_json_real(json, "correlation", d->correlation);
  cli_json_close_object(json);
}

void detect_rows_json(cli_json *json, const detect_rows *r) {
  cli_json_open_array(json, "hits");
  for (int64_t i = 0; i < r->found_count; i++)
    if (r->found[i].decision == DETECT_FOUND)
      print_hit(json, r, &r->found[i]);
  cli_json_close_array(json);
}

/* ---- picture ---- */

enum { STEPS = 1000 };
static const double plot_width = 1000, left = 140, top_margin = 30, sound_height = 100, row_height = 44,
                    gap = 6, range_db = 60;

typedef struct picture {
  const detect_rows *rows;
  float *scores; /* effects x STEPS: maxima */
  double seconds;
} picture;

static double length_of(const detect_rows *r) {
  return r->length_s > 0 ? r->length_s : 1;
}

static bool note_score(void *state, const davit_detect_hit *d, int64_t row) {
  picture *p = state;
  (void)row;
  const double frame_s = p->rows->effects[d->effect].frame_s;
  const int64_t most = STEPS - 1, first = (int64_t)((double)d->onset * frame_s / p->seconds * (double)STEPS),
                last = (int64_t)((double)d->offset * frame_s / p->seconds * (double)STEPS);
  float *scores = p->scores + (int64_t)d->effect * STEPS;
  for (int64_t i = first < most ? first : most; i <= (last < most ? last : most); i++)
    scores[i] = fmaxf(scores[i], (float)d->score);
  return true;
}

static void write_text(FILE *file, double x, double y, const char *anchor, const char *text) {
  fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
  cli_write_markup(file, text);
  fputs("</text>\n", file);
}

static void write_envelope(FILE *file, const picture *p) {
  const detect_rows *r = p->rows;
  float most = 0;
  for (int b = 0; b < DETECT_BINS; b++)
    most = fmaxf(most, r->level[b]);
  fprintf(file, "<path fill=\"#9aa4b0\" d=\"M%.0f,%.0f", left, top_margin + sound_height);
  for (int b = 0; b < DETECT_BINS && (double)b * r->bin_s < p->seconds; b++) {
    const double db =
                     r->level[b] > 0 && most > 0 ? 10 * log10((double)r->level[b] / (double)most) : -range_db,
                 part = fmax(1 + db / range_db, 0);
    fprintf(file, " L%.1f,%.1f", left + plot_width * fmin((double)b * r->bin_s / p->seconds, 1),
            top_margin + sound_height * (1 - part));
  }
  fprintf(file, " L%.0f,%.0f Z\"/>\n", left + plot_width, top_margin + sound_height);
  write_text(file, left - 8, top_margin + sound_height / 2., "end", "level, 60 dB");
}

static void write_scores(FILE *file, const picture *p, int e, double top) {
  const float *scores = p->scores + (int64_t)e * STEPS;
  float most = 1;
  for (int i = 0; i < STEPS; i++)
    most = fmaxf(most, scores[i]);
  fputs("<polyline fill=\"none\" stroke=\"#1756a9\" points=\"", file);
  for (int i = 0; i < STEPS; i++)
    fprintf(file, "%.1f,%.1f ", left + plot_width * (i + 0.5) / (double)STEPS,
            top + (row_height - gap) * (1 - (double)(scores[i] / most)));
  fputs("\"/>\n", file);
  write_text(file, left - 8, top + row_height / 2., "end", p->rows->effects[e].name);
}

static void write_hits(FILE *file, const picture *p) {
  const detect_rows *r = p->rows;
  for (int64_t i = 0; i < r->found_count; i++) {
    const detect_found *f = &r->found[i];
    const detect_label *e = &r->effects[f->hit.effect];
    const double from = (double)f->hit.onset * e->frame_s / p->seconds,
                 to = (double)f->hit.offset * e->frame_s / p->seconds;
    if (f->decision == DETECT_FOUND)
      fprintf(file,
              "<rect class=\"hit\" x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\" fill=\"#c75a12\" "
              "fill-opacity=\"0.45\"><title>%.3f to %.3f s, score %.6g, p %.3g, %.1f dB</title></rect>\n",
              left + plot_width * from, top_margin + sound_height + 10 + row_height * f->hit.effect,
              fmax(plot_width * (to - from), 1), row_height - gap, (double)f->hit.onset * e->frame_s,
              (double)f->hit.offset * e->frame_s, f->hit.score, f->hit.p_value, f->hit.level_db);
  }
}

static void write_times(FILE *file, const picture *p, double y) {
  const double rough = p->seconds / 8, unit = pow(10, floor(log10(rough))),
               step = unit * (rough < 2 * unit   ? 1
                              : rough < 5 * unit ? 2
                                                 : 5);
  for (double t = 0; t <= p->seconds; t += step) {
    char text[32];
    snprintf(text, sizeof text, "%g s", t);
    write_text(file, left + plot_width * t / p->seconds, y, "middle", text);
  }
}

bool detect_rows_picture(FILE *file, const detect_rows *r) {
  picture p = {.rows = r,
               .scores = dvt_allocate((size_t)r->effect_count * STEPS, sizeof *p.scores),
               .seconds = length_of(r)};
  const double bottom = top_margin + sound_height + 10 + row_height * r->effect_count,
               width = left + plot_width + 40, height = bottom + 30;
  const bool read = p.scores && each_row(r, note_score, &p);
  if (read) {
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
            "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" "
            "height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    write_envelope(file, &p);
    for (int e = 0; e < r->effect_count; e++)
      write_scores(file, &p, e, top_margin + sound_height + 10 + row_height * e);
    write_hits(file, &p);
    write_times(file, &p, bottom + 18);
    fputs("</svg>\n", file);
  }
  free(p.scores);
  return read && !ferror(file);
}
