/* SPDX-License-Identifier: Apache-2.0 */
/* Points that commands read: in the plane, in space, or on the sphere. */
#ifndef DAVIT_SRC_CLI_COORDINATES_H
#define DAVIT_SRC_CLI_COORDINATES_H

#include "src/cli/formats/array_file.h"
#include "src/cli/frame/job.h"

/* Places on the sphere become points in space at distance 1 from the origin, so that the straight line between two is
 * a chord of the great circle through them; the longer the chord, the longer the way along the circle. */
typedef struct cli_coordinates {
  cli_columns columns;
  bool sphere; /* degrees are given, and distances are kilometres along great circles */
  int dim;
  int64_t n;
  cli_array points; /* point after point */
} cli_coordinates;

/* As functions take them: type, dim, n, points. */
#define CLI_POINTS(c) cli_number_type((c)->points.type), (c)->dim, (c)->n, (c)->points.data

#define CLI_COORDINATES_HELP                                                                                 \
  "an n x 2 or n x 3 matrix of float64 or float32, or a CSV file with one point per line, and commas, "      \
  "semicolons, tabs or spaces between the numbers. Lines that begin with # are skipped; the first line may " \
  "have the names of the columns. A first column that is named id, index, name or label, or that in a file " \
  "without names counts the lines, is not a coordinate"

/* `more`: what else the help says. */
#define CLI_COLUMNS_OPTION(type, member, more)                                                               \
  CLI_OPTION(TEXT, type, member.columns.wanted, "--columns", "LIST", .words = "",                            \
             .otherwise = "x, y and z, or longitude and latitude, or else all that can be coordinates",      \
             .help = "the 2 or 3 columns that are coordinates, such as x,y: names in a CSV file, or "        \
                     "numbers, counted from 0" more)

#define CLI_SPHERE_OPTION(type, member)                                                                      \
  CLI_OPTION(                                                                                                \
      FLAG, type, member.sphere, "--sphere", NULL,                                                           \
      .help =                                                                                                \
          "the points are latitudes and longitudes in degrees, in the order of the columns' names, else "    \
          "latitude first; distances are in km along great circles of a sphere of radius 6371.0088 km")

/* Reads the points, which have to be finite, and says what was taken for coordinates where that is worth a line. */
int cli_coordinates_read(cli_job *job, const char *path, cli_coordinates *c);

/* Gives the queries longitude and latitude in the order of the points, where the names of both say which is which. */
int cli_coordinates_match(const char *path, cli_coordinates *queries, const char *points_path,
                          const cli_coordinates *points);

/* A distance between points as the user has it, and the distance within which points are that the user wants within
 * `radius`. */
double cli_coordinates_distance(const cli_coordinates *c, double distance);
double cli_coordinates_reach(const cli_coordinates *c, double radius);

#endif
