/* SPDX-License-Identifier: Apache-2.0 */
/* Plots as SVG, and bars as HTML. Colours and fonts are those of the page's style, by class: d for davit, p
 * for the peer, l for the limit, g for the grid. */
#include "src/cli/bench_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/bench_text.h"

/* Of the drawing, in its own units; the axes are inside of these margins. */
enum { WIDTH = 360, HEIGHT = 210, LEFT = 46, RIGHT = 20, TOP = 22, BOTTOM = 34 };

typedef enum curve { DAVIT, PEER, LIMIT, CURVES } curve;
static const char classes[CURVES] = {'d', 'p', 'l'};

typedef struct plot {
  const bench_group *group;
  cli_result_unit unit;     /* CLI_RESULT_UNITS: the time, in microseconds */
  bool logarithmic;         /* upwards; to the right always */
  double low, high, step;   /* of the axis upwards; `step` of a linear one */
  double smallest, largest; /* sizes */
  double factor;            /* from the unit to that of the marks */
  char letter;              /* the first of that unit */
} plot;

/* ---- values ---- */

static double time_of(const cli_result_row *row, curve which) {
  const double times[CURVES] = {row->us, row->peer_us, row->floor_us};
  return times[which];
}

/* 0: there is none. */
static double value(const plot *p, const cli_result_row *row, curve which) {
  const double us = time_of(row, which);
  if (p->unit == CLI_RESULT_UNITS)
    return us;
  if (which == DAVIT)
    return row->rates[p->unit];
  return us > 0 ? row->rates[p->unit] * row->us / us : 0;
}

/* The largest or the smallest value of a curve; 0: it has none. */
static double extreme(const plot *p, curve which, bool largest) {
  double found = 0;
  for (size_t i = 0; i < p->group->count; i++) {
    const double v = value(p, p->group->rows[i], which);
    if (v > 0 && (found == 0 || (largest ? v > found : v < found)))
      found = v;
  }
  return found;
}

bool bench_group_is_curve(const bench_group *group) {
  size_t sizes = 0;
  for (size_t i = 0; i < group->count; i++) {
    const cli_result_row *row = group->rows[i];
    if (!row->size_name || row->us <= 0)
      return false;
    sizes += !i || row->size > group->rows[i - 1]->size * (1 + 1e-6);
  }
  return sizes > 1 && group->count <= 2 * sizes;
}

/* ---- axes ---- */

static double nice_step(double most) {
  const double power = pow(10, floor(log10(most / 4)));
  const double parts = most / 4 / power;
  return power * (parts <= 1 ? 1 : parts <= 2 ? 2 : parts <= 5 ? 5 : 10);
}

/* Times, and rates far below the limit, have a logarithmic axis. */
static void choose_axis(plot *p) {
  const double far = 6;
  double high = 0, low = INFINITY;
  for (curve which = DAVIT; which < CURVES; which++) {
    const double smallest = extreme(p, which, false);
    high = fmax(high, extreme(p, which, true));
    low = smallest > 0 ? fmin(low, smallest) : low;
  }
  p->logarithmic = p->unit == CLI_RESULT_UNITS || extreme(p, DAVIT, true) * far < high;
  p->step = nice_step(high);
  p->low = p->logarithmic ? pow(10, floor(log10(low))) : 0;
  p->high = p->logarithmic ? pow(10, ceil(log10(high * 1.02))) : p->step * ceil(high * 1.02 / p->step);
  p->factor = p->unit == CLI_RESULT_UNITS ? 1 : bench_rate_factor(p->unit, p->high, &p->letter);
  p->smallest = p->group->rows[0]->size;
  p->largest = p->group->rows[p->group->count - 1]->size;
}

static double x_of(const plot *p, double size) {
  const double share = log(size / p->smallest) / log(p->largest / p->smallest);
  return LEFT + 6 + share * (WIDTH - LEFT - RIGHT - 6);
}

static double y_of(const plot *p, double v) {
  const double share =
      p->logarithmic ? log(v / p->low) / log(p->high / p->low) : (v - p->low) / (p->high - p->low);
  return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
}

static bool is_order(const plot *p) {
  return !strcmp(p->group->rows[0]->size_name, "order");
}

/* 9000, 100k; powers of two from 4096 on as such, but for matrices. The number of letters. */
static int size_text(const plot *p, char text[static 64], double size) {
  static const char *const factors[] = {"", "k", "M", "G", "T"};
  int exponent, power = 0;
  if (frexp(size, &exponent) == 0.5 && size >= 4096 && !is_order(p)) {
    snprintf(text, 64, "2<tspan class=\"e\" dy=\"-5\">%d</tspan>", exponent - 1);
    return 3;
  }
  if (size < 99999)
    return snprintf(text, 64, "%.0f", size);
  for (; size >= 999.95 && power < 4; power++)
    size /= 1000;
  return snprintf(text, 64, "%.3g%s", size, factors[power]);
}

/* Labels of the sizes where there is room, and a mark for each. */
static void write_sizes(FILE *file, const plot *p) {
  const double letter = 7.5, gap = 8, width = WIDTH;
  char text[64];
  double end = 0;
  fputs("<g class=\"m\">", file);
  for (size_t i = 0; i < p->group->count; i++) {
    const double size = p->group->rows[i]->size, x = x_of(p, size);
    const double half = size_text(p, text, size) * letter / 2;
    const double at = fmin(x, width - half);
    if (at - half < end + gap)
      continue;
    fprintf(file, "<text x=\"%.4g\" y=\"%d\">%s</text>", at, HEIGHT - BOTTOM + 17, text);
    end = at + half;
  }
  fputs("</g><path class=\"a\" d=\"", file);
  for (size_t i = 0; i < p->group->count; i++)
    fprintf(file, "M%.4g %dv4", x_of(p, p->group->rows[i]->size), HEIGHT - BOTTOM);
  fprintf(file, "M%d %dH%d\"/>", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT);
}

/* Mark number i of the axis upwards; false beyond its end. */
static bool value_mark(const plot *p, int i, double *v) {
  const double decades = p->logarithmic ? log10(p->high / p->low) : 0;
  *v = p->logarithmic ? p->low * pow(10, i * ceil(decades / 6)) : i * p->step;
  return *v <= p->high * 1.01;
}

static void write_values(FILE *file, const plot *p) {
  double v;
  fputs("<path class=\"g\" d=\"", file);
  for (int i = 0; value_mark(p, i, &v); i++)
    fprintf(file, "M%d %.4gH%d", LEFT, y_of(p, v), WIDTH - RIGHT);
  fputs("\"/><g class=\"r\">", file);
  for (int i = 0; value_mark(p, i, &v); i++)
    fprintf(file, "<text x=\"%d\" y=\"%.4g\">%.6g</text>", LEFT - 6, y_of(p, v) + 4, v * p->factor);
  fputs("</g>", file);
}

static void write_axes(FILE *file, const plot *p) {
  write_values(file, p);
  write_sizes(file, p);
  fprintf(file, "<text x=\"%d\" y=\"12\">", LEFT - 36);
  if (p->unit == CLI_RESULT_UNITS)
    fputs("µs, lower is better", file);
  else
    fprintf(file, "%c%s", p->letter, cli_result_unit_names[p->unit] + 1);
  fprintf(file, "</text><text x=\"%d\" y=\"%d\" class=\"r\">%s</text>", WIDTH - RIGHT, HEIGHT - 3,
          is_order(p) ? "order of the matrix" : p->group->rows[0]->size_name);
}

/* ---- curves ---- */

/* A point that is missing interrupts the curve. */
static void write_curve(FILE *file, const plot *p, curve which) {
  bool down = false;
  fprintf(file, "<path class=\"c %c\" d=\"", classes[which]);
  for (size_t i = 0; i < p->group->count; i++) {
    const double v = value(p, p->group->rows[i], which);
    if (v > 0)
      fprintf(file, "%c%.4g %.4g", down ? 'L' : 'M', x_of(p, p->group->rows[i]->size), y_of(p, v));
    down = v > 0;
  }
  fputs("\"/>", file);
  if (which == LIMIT)
    return;
  fprintf(file, "<path class=\"o %c\" d=\"", classes[which]);
  for (size_t i = 0; i < p->group->count; i++) {
    const double v = value(p, p->group->rows[i], which);
    if (v > 0)
      fprintf(file, "M%.4g %.4gh0", x_of(p, p->group->rows[i]->size), y_of(p, v));
  }
  fputs("\"/>", file);
}

static const char *peer_name(const plot *p) {
  const char *name = NULL;
  for (size_t i = 0; i < p->group->count && !name; i++)
    name = p->group->rows[i]->peer_us > 0 ? p->group->rows[i]->peer : NULL;
  return name ? name : "peer";
}

static void write_legend(FILE *file, const plot *p) {
  fputs("<span class=\"k\"><i class=\"d\"></i>davit</span>", file);
  if (extreme(p, PEER, true) > 0) {
    fputs("<span class=\"k\"><i class=\"p\"></i>", file);
    cli_write_markup(file, peer_name(p));
    fputs("</span>", file);
  }
  if (extreme(p, LIMIT, true) > 0)
    fputs("<span class=\"k\"><i class=\"l\"></i>limit</span>", file);
}

/* What the largest size reaches. */
static void write_end(FILE *file, const plot *p) {
  const cli_result_row *last = p->group->rows[p->group->count - 1];
  fputs("<p class=\"w\">largest: ", file);
  if (p->unit == CLI_RESULT_UNITS)
    bench_write_time(file, value(p, last, DAVIT));
  else
    bench_write_rate(file, p->unit, value(p, last, DAVIT));
  if (last->floor_us > 0)
    fprintf(file, ", %.*f %% of the limit", last->floor_us < 0.1 * last->us ? 1 : 0,
            100 * last->floor_us / last->us);
  if (last->peer_us > 0)
    fprintf(file, ", %.2f × the peer", last->peer_us / last->us);
  fputs("</p>", file);
}

void bench_plot(FILE *file, const bench_group *group) {
  const char *label = group->rows[0]->label;
  plot p = {.group = group, .unit = cli_result_unit_of(group->rows[group->count - 1])};
  choose_axis(&p);
  fputs("<figure><figcaption><b>", file);
  cli_write_markup(file, label);
  fputs("</b><span>", file);
  write_legend(file, &p);
  fputs("</span></figcaption>", file);
  fprintf(file, "<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDTH, HEIGHT);
  cli_write_markup(file, label);
  fputs("</title>", file);
  write_axes(file, &p);
  for (curve which = CURVES; which-- > DAVIT;)
    if (extreme(&p, which, true) > 0)
      write_curve(file, &p, which);
  fputs("</svg>", file);
  write_end(file, &p);
  fputs("</figure>\n", file);
}

/* ---- bars ---- */

void bench_bars(FILE *file, const cli_result_row *row) {
  const double costs[CURVES] = {cli_result_cost(row), row->peer_cost, row->us > 0 ? row->floor_us : 0};
  double fastest = INFINITY;
  for (curve which = DAVIT; which < CURVES; which++)
    fastest = costs[which] > 0 ? fmin(fastest, costs[which]) : fastest;
  fputs("<span class=\"t\">", file);
  for (curve which = DAVIT; which < CURVES; which++)
    if (costs[which] > 0)
      fprintf(file, "<i class=\"%c\" style=\"%s:%.1f%%\"></i>",
              which == DAVIT && *row->side ? 'p' : classes[which], which == LIMIT ? "left" : "width",
              100 * fastest / costs[which]);
  fputs("</span>", file);
}
