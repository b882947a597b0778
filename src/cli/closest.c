/* SPDX-License-Identifier: Apache-2.0 */
/* davit closest: the closest pair of points, the K closest, or all within a radius. */
#include <davit/closest_pair.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ref/closest_pair.h"
#include "ref/ref.h"
#include "src/base/limit.h"
#include "src/cli/coordinates.h"
#include "src/cli/pairs_bound.h"

enum { ROOM = 1024 };

typedef struct search {
  cli_job job;
  const char *path;
  davit_closest_pair_algorithm algorithm, taken; /* as asked for; what ran */
  int64_t k;                                     /* 0: not given */
  double radius;
  bool several;                     /* pairs are wanted, instead of the closest alone */
  int64_t wanted, count;            /* pairs at most; that there are */
  davit_closest_pair_result *pairs; /* wanted */
  davit_closest_pair_result *room;  /* the reference's, ROOM more than twice as many */
  void *scratch;                    /* of the reference */
  cli_coordinates coordinates;
} search;

/* ---- points ---- */

static int read_points(search *s) {
  CLI_TRY(cli_coordinates_read(&s->job, s->path, &s->coordinates));
  if (s->coordinates.n < 2)
    return cli_shape_fail(s->path, &s->coordinates.points, "at least 2 points");
  return CLI_OK;
}

/* ---- work ---- */

static davit_closest_pair_options options_of(const search *s) {
  return (davit_closest_pair_options){.algorithm = s->algorithm, CLI_DEVICES(s)};
}

/* All pairs, or a sweep; *list has the limit, and what is kept. */
static void offer_all(const search *s, dvt_pair_list *list) {
  if (s->algorithm == DAVIT_CLOSEST_PAIR_BRUTE)
    dvt_ref_pairs_brute(CLI_POINTS(&s->coordinates), list);
  else
    dvt_ref_pairs_sweep(CLI_POINTS(&s->coordinates), dvt_threads(), s->scratch, list);
}

/* The pairs in order, at the beginning of s->room; how many. */
static int64_t by_reference(const search *s) {
  if (!s->several) {
    *s->room = s->algorithm == DAVIT_CLOSEST_PAIR_BRUTE
                   ? dvt_ref_closest_brute(CLI_POINTS(&s->coordinates))
                   : dvt_ref_closest_divide(CLI_POINTS(&s->coordinates), dvt_threads(), s->scratch);
    return 1;
  }
  dvt_pair_list list = {.limit = {INT64_MAX, INT64_MAX, s->radius},
                        .pairs = s->room,
                        .k = s->wanted,
                        .capacity = 2 * s->wanted + ROOM};
  offer_all(s, &list);
  const int64_t count = list.count < s->wanted ? list.count : s->wanted;
  dvt_ref_pairs_sort(s->room, list.count, count, dvt_threads());
  return count;
}

static davit_status count_within(const search *s, int64_t *count) {
  const davit_closest_pair_options options = options_of(s);
  dvt_pair_list list = {.limit = {INT64_MAX, INT64_MAX, s->radius}};
  if (!s->job.devices.reference)
    return davit_closest_pairs_count(CLI_POINTS(&s->coordinates), s->radius, count, &options);
  offer_all(s, &list);
  *count = list.count;
  return DAVIT_SUCCESS;
}

static davit_status work(void *state, cli_array *unused, bool reference) {
  search *s = state;
  const davit_closest_pair_options options = options_of(s);
  (void)unused; /* the result is s->pairs */
  s->count = reference ? by_reference(s) : !s->several;
  if (reference) {
    memcpy(s->pairs, s->room, (size_t)s->count * sizeof *s->pairs);
    return DAVIT_SUCCESS;
  }
  return s->several ? davit_closest_pairs(CLI_POINTS(&s->coordinates), s->wanted, s->radius, s->pairs,
                                          &s->count, &options)
                    : davit_closest_pair(CLI_POINTS(&s->coordinates), s->pairs, &options);
}

static int choose_algorithm(search *s) {
  const davit_closest_pair_options options = options_of(s);
  s->taken = s->algorithm == DAVIT_CLOSEST_PAIR_BRUTE ? DAVIT_CLOSEST_PAIR_BRUTE : DAVIT_CLOSEST_PAIR_DIVIDE;
  return s->job.devices.reference
             ? CLI_OK
             : cli_status(davit_closest_pair_plan(CLI_POINTS(&s->coordinates), &s->taken, &options));
}

/* Memory for as many pairs, of which the reference holds twice as many. */
static bool fits(int64_t pairs, bool reference) {
  size_t bytes;
  return !__builtin_mul_overflow((size_t)pairs, (reference ? 2 : 1) * sizeof(davit_closest_pair_result),
                                 &bytes) &&
         dvt_check_memory(bytes) == DAVIT_SUCCESS;
}

/* All pairs within the radius. Counting takes long where there are more than fit, so a bound is computed before. */
static int count_pairs(search *s, int64_t all, bool reference) {
  int64_t least = 0;
  if (!fits(all, reference))
    CLI_TRY(cli_pairs_at_least(&s->coordinates, s->radius, &least));
  if (!fits(least, reference))
    return cli_fail(CLI_DEVICE,
                    "not enough memory for the pairs within the radius, which are at least %" PRId64, least);
  return cli_status(count_within(s, &s->wanted));
}

/* How many pairs are wanted, and memory for them. */
static int make_room(search *s, bool reference) {
  const int64_t all =
      s->coordinates.n < INT32_MAX ? s->coordinates.n * (s->coordinates.n - 1) / 2 : INT64_MAX;
  s->wanted = s->several ? s->k : 1;
  if (!s->wanted)
    CLI_TRY(count_pairs(s, all, reference));
  s->wanted = s->wanted < 1 ? 1 : s->wanted < all ? s->wanted : all;
  CLI_ROOM(&s->job, s->pairs, s->wanted);
  if (reference)
    CLI_ROOM(&s->job, s->room, 2 * s->wanted + ROOM);
  return CLI_OK;
}

static int load(void *state) {
  search *s = state;
  const bool reference = s->job.devices.reference || s->job.common.check;
  CLI_TRY(read_points(s));
  if (reference) {
    s->scratch = cli_job_memory(&s->job, 1, dvt_ref_closest_scratch(s->coordinates.n));
    if (!s->scratch)
      return CLI_DEVICE;
  }
  s->several = s->k || cli_job_given(&s->job, "--radius");
  if (!cli_job_given(&s->job, "--radius"))
    s->radius = INFINITY;
  s->radius = cli_coordinates_reach(&s->coordinates, s->radius);
  CLI_TRY(make_room(s, reference));
  return choose_algorithm(s);
}

static int differ(const davit_closest_pair_result *is, const davit_closest_pair_result *right) {
  return (is->i != right->i) + (is->j != right->j) +
         (is->distance < right->distance || is->distance > right->distance);
}

static int check(void *state, cli_check *check) {
  const search *s = state;
  const int64_t right = by_reference(s);
  int64_t wrong = right > s->count ? right - s->count : s->count - right;
  for (int64_t p = 0; p < right && p < s->count; p++)
    wrong += differ(&s->pairs[p], &s->room[p]);
  *check = (cli_check){.measure = s->several ? "differences of (distance, i, j), of all pairs"
                                             : "differences of (distance, i, j)",
                       .error = (double)wrong};
  return CLI_OK;
}

/* ---- command ---- */

static const cli_choice algorithms[] = {
    {"auto", DAVIT_CLOSEST_PAIR_AUTO, "brute for a few points, else grid"},
    {"brute", DAVIT_CLOSEST_PAIR_BRUTE, "all pairs"},
    {"divide", DAVIT_CLOSEST_PAIR_DIVIDE, "divide and conquer, on the host"},
    {"grid", DAVIT_CLOSEST_PAIR_GRID, "cells of a grid, on the devices"},
    {0}};

static void print(const void *state) {
  const search *s = state;
  printf("i\tj\tdistance\n");
  for (const davit_closest_pair_result *p = s->pairs; p < s->pairs + s->count; p++)
    printf("%" PRId64 "\t%" PRId64 "\t%.17g\n", p->i, p->j,
           cli_coordinates_distance(&s->coordinates, p->distance));
}

static void json_pair(cli_json *json, const search *s, const davit_closest_pair_result *pair) {
  cli_json_integer(json, "i", pair->i);
  cli_json_integer(json, "j", pair->j);
  cli_json_real(json, "distance", cli_coordinates_distance(&s->coordinates, pair->distance));
}

static void json(cli_json *json, const void *state) {
  const search *s = state;
  if (!s->several) {
    json_pair(json, s, s->pairs);
    return;
  }
  cli_json_integer(json, "count", s->count);
  cli_json_open_array(json, "pairs");
  for (int64_t p = 0; p < s->count; p++) {
    cli_json_open_object(json, NULL);
    json_pair(json, s, &s->pairs[p]);
    cli_json_close_object(json);
  }
  cli_json_close_array(json);
}

static void report(cli_json *json, const void *state) {
  const search *s = state;
  cli_json_string(json, "algorithm", cli_choice_name(algorithms, (int)s->taken));
  cli_json_integer(json, "n", s->coordinates.n);
  cli_json_integer(json, "dim", s->coordinates.dim);
}

const cli_command cli_command_closest = {
    .name = "closest",
    .summary = "closest pair of points, the K closest, or all within a radius",
    .description = "Prints the indices i < j of the two points that are closest to each other, and their "
                   "distance; of several closest pairs, the one with the lowest (i, j). With --k or "
                   "--radius, prints one pair per line, ordered by (distance, i, j).",
    .examples = "davit closest points.csv\n"
                "davit closest points.csv --columns 0,1 --k 3\n"
                "davit closest points.csv --radius 0.5\n"
                "davit points -n 1e4 -o - | davit closest - --json\n",
    .operands = CLI_PLACES(CLI_PLACE(search, path, "POINTS", CLI_COORDINATES_HELP)),
    .options =
        CLI_OPTIONS(CLI_COLUMNS_OPTION(search, coordinates, ""),
                    CLI_OPTION(WHOLE, search, k, "--k", "K", .minimum = 1, .maximum = 1e12,
                               .otherwise = "1, or all with --radius",
                               .help = "print the K closest pairs, or all if there are fewer"),
                    CLI_OPTION(REAL, search, radius, "--radius", "R", .minimum = 0, .maximum = INFINITY,
                               .otherwise = "no limit", .help = "print only pairs that are at most R apart"),
                    CLI_OPTION(CHOICE, search, algorithm, "--algorithm", "A", .choices = algorithms,
                               .value = "auto", .help = "how to search; the result is the same"),
                    CLI_SPHERE_OPTION(search, coordinates)),
    .common = CLI_COMMON_RAW | CLI_COMMON_TABLE | CLI_COMMON_COMPUTE,
    .small_bytes = 1 << 20,
    .state = sizeof(search),
    .arrays = CLI_ARRAYS(CLI_FREED(search, coordinates.points)),
    .read = load,
    .work = work,
    .check = check,
    .print = print,
    .json = json,
    .report = report,
};
