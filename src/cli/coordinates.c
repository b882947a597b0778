/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/coordinates.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "src/cli/formats/names.h"

static const double earth_km = 6371.0088, pi = 3.14159265358979323846;

static int check_finite(const char *path, const cli_coordinates *c) {
  for (int64_t i = 0; i < c->n * c->dim; i++)
    if (!isfinite(cli_number(&c->points, i)))
      return cli_fail(CLI_INPUT, "%s: point %" PRId64 ": expected finite coordinates, found %Lg",
                      cli_fail_place(path), i / c->dim, cli_number(&c->points, i));
  return CLI_OK;
}

/* Where there are other columns, what the coordinates were is worth a line. */
static void say_what_was_taken(const cli_job *job, const cli_coordinates *coordinates) {
  const cli_columns *c = &coordinates->columns;
  const bool flat = c->on_sphere && !coordinates->sphere;
  if (!(c->left_out || c->guessed || flat) || c->wanted || job->common.quiet)
    return;
  fprintf(stderr, "davit %s: coordinates are the columns", job->command->name);
  for (int k = 0; k < c->count; k++) {
    fprintf(stderr, "%s ", k == 0 ? "" : k + 1 == c->count ? " and" : ",");
    if (*c->name[k]) {
      putc('\'', stderr);
      cli_write_plain(stderr, c->name[k]);
      putc('\'', stderr);
    } else {
      fprintf(stderr, "%d", c->column[k]);
    }
  }
  fprintf(stderr, "; --columns chooses others%s\n",
          flat ? "; distances are in the plane, with --sphere they are on the sphere" : "");
}

/* Whether the first column is the longitude, by its name. */
static bool begins_with_longitude(const cli_columns *c) {
  return strncasecmp(c->name[0], "lon", 3) == 0 || strcasecmp(c->name[0], "lng") == 0;
}

/* The sine and the cosine of an angle of at most 360 degrees. What is left of it beside quarters of a turn is exact,
 * and so are the results for whole quarters: the date line, a pole and a longitude plus 360 are one place each. */
static void sine_and_cosine(double degrees, double *sine, double *cosine) {
  const double quarters = nearbyint(degrees / 90), rest = (degrees - 90 * quarters) * (pi / 180);
  const double s = sin(rest), c = cos(rest);
  const int turned = (int)quarters & 3;
  *sine = turned == 0 ? s : turned == 1 ? c : turned == 2 ? -s : -c;
  *cosine = turned == 0 ? c : turned == 1 ? -s : turned == 2 ? -c : s;
}

static int find_place(const char *path, int64_t i, double latitude, double longitude, double at[3]) {
  if (!(fabs(latitude) <= 90) || !(fabs(longitude) <= 360))
    return cli_fail(CLI_INPUT,
                    "%s: point %" PRId64
                    ": expected a latitude from -90 to 90 and a longitude from -360 to 360, "
                    "found %g and %g",
                    cli_fail_place(path), i, latitude, longitude);
  double inwards, sine, cosine;
  sine_and_cosine(latitude, &at[2], &inwards);
  sine_and_cosine(longitude, &sine, &cosine);
  at[0] = inwards * cosine;
  at[1] = inwards * sine;
  return CLI_OK;
}

static int to_sphere(const char *path, cli_coordinates *c) {
  const bool longitude_first = begins_with_longitude(&c->columns);
  cli_array places;
  if (c->dim != 2)
    return cli_shape_fail(path, &c->points, "2 columns, latitude and longitude");
  CLI_TRY(cli_array_create(CLI_F8, 2, 3, c->n, c->points.wanted, &places));
  double *to = places.data;
  int code = CLI_OK;
  for (int64_t i = 0; i < c->n && code == CLI_OK; i++)
    code = find_place(path, i, (double)cli_number(&c->points, 2 * i + longitude_first),
                      (double)cli_number(&c->points, 2 * i + !longitude_first), to + 3 * i);
  if (code != CLI_OK) {
    cli_array_free(&places);
    return code;
  }
  places.shape[0] = c->n;
  places.shape[1] = c->dim = 3;
  places.fortran = false;
  cli_array_replace(&c->points, &places);
  return CLI_OK;
}

int cli_coordinates_read(cli_job *job, const char *path, cli_coordinates *c) {
  cli_array *a = &c->points;
  CLI_TRY(cli_points_read(path, &job->common.reading, job->memory, &c->columns, a));
  CLI_TRY(cli_array_to_floating(path, CLI_F8, a));
  CLI_TRY(cli_check_floating(path, a));
  if (a->ndim != 2 || a->shape[1] < 2 || a->shape[1] > 3)
    return cli_shape_fail(path, a, "an n x 2 or n x 3 matrix");
  c->n = a->shape[0];
  c->dim = (int)a->shape[1];
  say_what_was_taken(job, c);
  CLI_TRY(cli_array_to_c(a));
  CLI_TRY(check_finite(path, c));
  return c->sphere ? to_sphere(path, c) : CLI_OK;
}

static void swap_columns(cli_array *a, int64_t n) {
  const size_t bytes = cli_type_bytes(a->type);
  char first[sizeof(double)], *at = a->data;
  for (int64_t i = 0; i < n; i++, at += 2 * bytes) {
    memcpy(first, at, bytes);
    memcpy(at, at + bytes, bytes);
    memcpy(at + bytes, first, bytes);
  }
}

int cli_coordinates_match(const char *path, cli_coordinates *queries, const char *points_path,
                          const cli_coordinates *points) {
  const cli_columns *q = &queries->columns, *p = &points->columns;
  if (q->on_sphere != p->on_sphere && *q->name[0] && *p->name[0])
    return cli_fail(CLI_INPUT, "%s: expected coordinates named as in %s, found %s", cli_fail_place(path),
                    cli_fail_place(points_path), q->on_sphere ? "longitude and latitude" : "others");
  if (q->on_sphere && p->on_sphere && !points->sphere && begins_with_longitude(q) != begins_with_longitude(p))
    swap_columns(&queries->points, queries->n);
  return CLI_OK;
}

/* Half a turn is the longest way; a chord may be a rounding longer than that has. */
static double way_of(double chord) {
  return 2 * earth_km * asin(fmin(chord / 2, 1));
}

/* The longest chord whose way is no longer, so that a distance which was printed is a radius that holds its pair. */
static double chord_within(double way) {
  double chord = 2 * sin(way / earth_km / 2);
  while (way_of(nextafter(chord, INFINITY)) <= way)
    chord = nextafter(chord, INFINITY);
  while (way_of(chord) > way)
    chord = nextafter(chord, 0);
  return chord;
}

double cli_coordinates_distance(const cli_coordinates *c, double distance) {
  return c->sphere ? way_of(distance) : distance;
}

double cli_coordinates_reach(const cli_coordinates *c, double radius) {
  return !c->sphere ? radius : radius >= way_of(2) ? INFINITY : chord_within(radius);
}
