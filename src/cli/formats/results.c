/* SPDX-License-Identifier: Apache-2.0 */
/* Results of benchmarks, read with jansson.
 *
 * A file is at most MOST_BYTES long, so that the memory for it is bounded: jansson takes up to about 100
 * bytes for each of the file's. */
#include "src/cli/formats/results.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/cli/fail.h"
#include "src/cli/formats/input.h"

enum { MOST_MIB = 16, MOST_BYTES = MOST_MIB << 20, LABEL_BYTES = 1024, MOST_DEVICES = 1024 };

const char *const cli_result_unit_names[CLI_RESULT_UNITS] = {"GCUPS", "TFLOP/s", "GFLOP/s", "GB/s"};

static int no_memory(const char *name) {
  return cli_fail(CLI_DEVICE, "%s: not enough memory for its contents", name);
}

/* ---- fields of a row ---- */

/* A number of a row, and its factor to the unit of this reader. */
typedef struct field {
  const char *name;
  double factor;
} field;

/* The first that a row has counts. */
static const field times[] = {{"median_us", 1}, {"us", 1},          {"whole_us", 1},  {"median_ms", 1e3},
                              {"ms", 1e3},      {"davit_ns", 1e-3}, {"mean_ms", 1e3}, {"all_ms", 1e3}};
static const field best_times[] = {{"best_us", 1}, {"best_ms", 1e3}};
static const field peer_times[] = {{"peer_us", 1}, {"blis_ns", 1e-3}};
/* The largest that a row has counts. */
static const field floors[] = {
    {"floor_us", 1}, {"floor_ms", 1e3}, {"floor_arithmetic_ms", 1e3}, {"floor_link_ms", 1e3}};
static const field rates[] = {
    {"gcups", CLI_RESULT_GCUPS}, {"tflops", CLI_RESULT_TFLOPS}, {"gflops", CLI_RESULT_GFLOPS},
    {"gbs", CLI_RESULT_GBS},     {"whole_gbs", CLI_RESULT_GBS},
};
/* Numbers that say what was measured, beside the size. */
static const char *const counts[] = {
    "queues", "ld",      "targets", "permutations", "pairs",   "host_threads", "threads", "teams",  "block",
    "each",   "windows", "window",  "pattern",      "effects", "base",         "b",       "sound_s"};
/* Texts that do not say it; `backend` and `who` have rules of their own. */
static const char *const remarks[] = {"peer", "peer_error", "error", "remark", "note", "backend", "who"};

enum {
  TIMES = sizeof times / sizeof *times,
  BEST_TIMES = sizeof best_times / sizeof *best_times,
  PEER_TIMES = sizeof peer_times / sizeof *peer_times,
  FLOORS = sizeof floors / sizeof *floors,
  RATES = sizeof rates / sizeof *rates,
  COUNTS = sizeof counts / sizeof *counts,
  REMARKS = sizeof remarks / sizeof *remarks
};

static bool is_remark(const char *name) {
  bool found = false;
  for (int i = 0; i < REMARKS; i++)
    found |= !strcmp(name, remarks[i]);
  return found;
}

/* A number above 0; else, and for what nothing measures, 0. */
static double positive(const json_t *row, const char *name) {
  const double value = json_number_value(json_object_get(row, name));
  return value > 1e-30 && value < 1e30 ? value : 0;
}

static double first_of(const json_t *row, const field *fields, int count) {
  double value = 0;
  for (int i = 0; i < count && value == 0; i++)
    value = fields[i].factor * positive(row, fields[i].name);
  return value;
}

static double largest_of(const json_t *row, const field *fields, int count) {
  double value = 0;
  for (int i = 0; i < count; i++)
    value = fmax(value, fields[i].factor * positive(row, fields[i].name));
  return value;
}

static const char *text_of(const json_t *object, const char *name, const char *otherwise) {
  const char *text = json_string_value(json_object_get(object, name));
  return text ? text : otherwise;
}

/* ---- labels ---- */

typedef struct label {
  char text[LABEL_BYTES];
  size_t used; /* more than LABEL_BYTES: it did not fit */
} label;

__attribute__((format(printf, 2, 3))) static void append(label *to, const char *format, ...) {
  if (to->used >= sizeof to->text)
    return;
  va_list arguments;
  va_start(arguments, format);
  to->used += (size_t)vsnprintf(to->text + to->used, sizeof to->text - to->used, format, arguments);
  va_end(arguments);
}

/* Rounds to eight digits. */
static double rounded(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.7e", value);
  return strtod(text, NULL);
}

static void append_number(label *to, const json_t *row, const char *name) {
  const json_t *number = json_object_get(row, name);
  const double value = rounded(json_number_value(number));
  if (json_is_number(number))
    append(to, "%s%s %.*g", to->used ? ", " : "", name, fabs(value) < 1e15 ? 15 : 8, value);
}

/* The size is n; else the order of a square matrix; else its rows, and the label has the columns. A product
 * has m, n and k. Results of early versions have eight digits, so do labels. */
static void find_size(const json_t *json, cli_result_row *row, label *to) {
  const double n = positive(json, "n"), rows = positive(json, "rows"), cols = positive(json, "cols");
  const bool product = json_object_get(json, "m") && json_object_get(json, "k");
  const bool cube = product && n == positive(json, "m") && n == positive(json, "k");
  const bool square = cube || (rows > 0 && rows == cols);
  row->size = n > 0 ? n : rows;
  row->key_size = rounded(row->size);
  row->size_name = row->size <= 0 ? NULL : square ? "order" : n > 0 ? "size" : "rows";
  if (product && !cube) {
    append_number(to, json, "m");
    append_number(to, json, "k");
  } else if (!square)
    append_number(to, json, "cols");
}

/* Texts, then davit's back end if it is not the default, then numbers. The tile is davit's choice, but in
 * rows about copies of tiles, which have the matrix' leading dimension. */
static void write_label(const json_t *json, cli_result_row *row, label *to) {
  const char *name, *backend = row->result->backend;
  json_t *value;
  if (!*row->side)
    backend = text_of(json, "backend", backend);
  json_object_foreach((json_t *)json, name, value) if (json_is_string(value) && !is_remark(name) &&
                                                       json_string_value(value) != row->side)
      append(to, "%s%s", to->used ? " " : "", json_string_value(value));
  if (strcmp(backend, "openmp") != 0)
    append(to, "%sbackend %s", to->used ? ", " : "", backend);
  if (json_number_value(json_object_get(json, "devices")) > 1)
    append_number(to, json, "devices");
  if (json_object_get(json, "ld"))
    append_number(to, json, "tile");
  for (int i = 0; i < COUNTS; i++)
    append_number(to, json, counts[i]);
  find_size(json, row, to);
}

/* ---- rows ---- */

/* Who made the row: another library, a plain program that measures the machine, or davit (""). */
static const char *side_of(const json_t *row) {
  const char *who = text_of(row, "who", "davit"), *backend = text_of(row, "backend", "");
  const char *form = text_of(row, "form", "");
  if (strcmp(who, "davit") != 0)
    return who;
  if (!strcmp(form, "loop") || !strcmp(form, "kernel"))
    return form;
  return !strncmp(backend, "raw-", 4) ? backend + 4 : "";
}

static const cli_result_device *device_of(const json_t *row, const cli_result *result) {
  const json_t *number = json_object_get(row, "device");
  for (size_t i = 0; i < result->device_count && json_is_number(number); i++)
    if (result->devices[i].number == json_number_value(number))
      return &result->devices[i];
  return NULL;
}

static void read_figures(const json_t *json, cli_result_row *row) {
  row->us = first_of(json, times, TIMES);
  row->best_us = first_of(json, best_times, BEST_TIMES);
  row->peer_us = first_of(json, peer_times, PEER_TIMES);
  row->peer_cost = row->us > 0 ? row->peer_us : 0;
  row->peer = text_of(json, "peer", json_object_get(json, "blis_ns") ? "BLIS" : NULL);
  row->floor_us = largest_of(json, floors, FLOORS);
  row->error = text_of(json, "error", NULL);
  for (int i = 0; i < RATES; i++) {
    double *rate = &row->rates[(int)rates[i].factor];
    *rate = *rate > 0 ? *rate : positive(json, rates[i].name);
  }
}

static int read_row(const json_t *json, const char *name, size_t number, cli_result *result) {
  cli_result_row *row = &result->rows[number];
  label found = {.used = 0};
  if (!json_is_object(json))
    return cli_fail(CLI_INPUT, "%s: %s: row %zu: expected an object", name, result->benchmark, number + 1);
  row->result = result;
  row->device = device_of(json, result);
  row->side = side_of(json);
  write_label(json, row, &found);
  if (found.used >= sizeof found.text)
    return cli_fail(CLI_INPUT, "%s: %s: row %zu: expected names of less than %d bytes in all", name,
                    result->benchmark, number + 1, LABEL_BYTES);
  read_figures(json, row);
  row->label = dvt_allocate_text("%s", found.used ? found.text : "-");
  return row->label ? CLI_OK : no_memory(name);
}

/* ---- documents ---- */

/* That of davit's rows: the first which is not the name of another library. */
static const char *backend_of(const json_t *rows) {
  const char *backend = NULL;
  for (size_t i = 0; i < json_array_size(rows) && !backend; i++) {
    const char *found = text_of(json_array_get(rows, i), "backend", NULL);
    backend = found && strncmp(found, "raw-", 4) != 0 ? found : NULL;
  }
  return backend ? backend : "openmp";
}

/* A device without a number is that of no row. */
static int read_devices(const json_t *json, const char *name, cli_result *result) {
  const json_t *list = json_object_get(json_object_get(json, "machine"), "devices");
  const size_t count = json_array_size(list);
  if (count > MOST_DEVICES)
    return cli_fail(CLI_INPUT, "%s: %s: expected at most %d devices", name, result->benchmark, MOST_DEVICES);
  result->devices = count ? dvt_allocate(count, sizeof *result->devices) : NULL;
  if (count && !result->devices)
    return no_memory(name);
  for (size_t i = 0; i < count; i++) {
    const json_t *device = json_array_get(list, i);
    const json_t *number = json_object_get(device, "device");
    result->devices[i] =
        (cli_result_device){.number = json_is_number(number) ? json_number_value(number) : NAN,
                            .kind = text_of(device, "kind", ""),
                            .name = text_of(device, "name", ""),
                            .units = positive(device, "compute_units"),
                            .memory = positive(device, "memory_bytes")};
  }
  result->device_count = count;
  return CLI_OK;
}

static int read_document(const json_t *json, const char *name, cli_result *result) {
  const json_t *rows = json_object_get(json, "rows");
  const char *benchmark = text_of(json, "benchmark", NULL);
  if (!benchmark || !json_is_array(rows))
    return cli_fail(CLI_INPUT, "%s: expected results of a benchmark, with \"benchmark\" and \"rows\"%s%s",
                    name, benchmark ? ", found none in " : "", benchmark ? benchmark : "");
  *result = (cli_result){.json = json,
                         .benchmark = benchmark,
                         .file = name,
                         .backend = backend_of(rows),
                         .version = text_of(json, "version", ""),
                         .date = text_of(json, "date", ""),
                         .command = text_of(json, "command", "")};
  int code = read_devices(json, name, result);
  const size_t count = json_array_size(rows);
  if (code == CLI_OK && count)
    result->rows = dvt_allocate(count, sizeof *result->rows);
  if (code == CLI_OK && count && !result->rows)
    code = no_memory(name);
  for (size_t i = 0; code == CLI_OK && i < count; i++) {
    code = read_row(json_array_get(rows, i), name, i, result);
    result->row_count += code == CLI_OK;
  }
  return code;
}

static void free_document(cli_result *result) {
  for (size_t i = 0; i < result->row_count; i++)
    free(result->rows[i].label);
  free(result->rows);
  free(result->devices);
}

/* What a file has: one document, or those of `davit bench --json`. */
static int add_documents(json_t *root, const char *name, cli_results *results) {
  const json_t *list = json_object_get(root, "benchmarks");
  const size_t count = json_is_array(list) ? json_array_size(list) : 1;
  cli_result *grown = dvt_reallocate(results->documents, results->count + count + 1, sizeof *grown);
  if (!grown)
    return no_memory(name);
  results->documents = grown;
  int code = CLI_OK;
  for (size_t i = 0; code == CLI_OK && i < count; i++) {
    cli_result *result = &results->documents[results->count++];
    *result = (cli_result){.benchmark = ""};
    code = read_document(json_is_array(list) ? json_array_get(list, i) : root, name, result);
  }
  if (code != CLI_OK)
    free_document(&results->documents[--results->count]);
  return code;
}

/* ---- files ---- */

/* jansson may call it bad JSON when memory is short. */
static bool memory_is_short;

static void *allocate(size_t bytes) {
  void *memory = dvt_allocate_raw(bytes);
  memory_is_short |= !memory;
  return memory;
}

typedef struct source {
  FILE *file;
  size_t bytes;
  bool too_long;
} source;

static size_t fill(void *buffer, size_t room, void *state) {
  source *s = state;
  const size_t got = fread(buffer, 1, room, s->file);
  s->bytes += got;
  s->too_long = s->bytes > MOST_BYTES;
  return s->too_long || ferror(s->file) ? (size_t)-1 : got;
}

static int parse_fail(const source *from, const char *name, const json_error_t *error) {
  if (memory_is_short)
    return no_memory(name);
  if (from->too_long)
    return cli_fail(CLI_INPUT, "%s: expected at most %d MiB of results", name, MOST_MIB);
  if (ferror(from->file))
    return cli_fail(CLI_INPUT, "%s: offset %zu: expected more data, but reading failed: %s", name,
                    from->bytes, strerror(errno));
  return cli_fail(CLI_INPUT, "%s: line %d, column %d: not valid JSON: %s", name, error->line, error->column,
                  error->text);
}

static int parse(FILE *file, const char *name, cli_results *results) {
  source from = {.file = file};
  json_error_t error = {.line = 0};
  json_t **grown = dvt_reallocate(results->roots, results->root_count + 1, sizeof *grown);
  if (!grown)
    return no_memory(name);
  results->roots = grown;
  memory_is_short = false;
  json_set_alloc_funcs(allocate, free);
  json_t *root = json_load_callback(fill, &from, JSON_REJECT_DUPLICATES, &error);
  if (!root)
    return parse_fail(&from, name, &error);
  results->roots[results->root_count++] = root;
  return add_documents(root, name, results);
}

int cli_results_read(const char *path, cli_results *results) {
  cli_input input;
  int code = cli_input_open(path, &input);
  if (code == CLI_OK) {
    results->path = input.name;
    code = parse(input.file, input.name, results);
  }
  cli_input_close(&input);
  return code;
}

int cli_results_read_stream(FILE *file, const char *name, cli_results *results) {
  results->path = name;
  rewind(file);
  return parse(file, name, results);
}

void cli_results_free(cli_results *results) {
  for (size_t i = 0; i < results->count; i++)
    free_document(&results->documents[i]);
  for (size_t i = 0; i < results->root_count; i++)
    json_decref(results->roots[i]);
  free(results->documents);
  free(results->roots);
  free(results->sorted);
  *results = (cli_results){.path = NULL};
}

/* ---- order and peers ---- */

static const char *kind_of(const cli_result_row *row) {
  return row->device ? row->device->kind : "";
}

int cli_result_order(const cli_result_row *a, const cli_result_row *b) {
  int order = strcmp(a->result->benchmark, b->result->benchmark);
  if (!order)
    order = strcmp(kind_of(a), kind_of(b));
  if (!order)
    order = strcmp(a->label, b->label);
  return order ? order : (a->key_size > b->key_size) - (a->key_size < b->key_size);
}

/* Rows that measured the same stand together, those of a document davit's first, all in the order given. */
static int compare_rows(const void *left, const void *right) {
  const cli_result_row *a = *(cli_result_row *const *)left, *b = *(cli_result_row *const *)right;
  int order = cli_result_order(a, b);
  if (!order)
    order = (a->result > b->result) - (a->result < b->result);
  if (!order)
    order = !!*a->side - !!*b->side;
  return order ? order : (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

static bool are_alike(const cli_result_row *a, const cli_result_row *b) {
  return a->result == b->result && !cli_result_order(a, b);
}

/* A peer's time counts beside a time, its rate beside a rate. */
static bool is_faster_peer(const cli_result_row *row, const cli_result_row *ours,
                           const cli_result_row *best) {
  const double cost = cli_result_cost(row);
  return *row->side && (row->us > 0) == (ours->us > 0) && cost > 0 && (!best || cost < cli_result_cost(best));
}

/* In rows [first, end) of one document, which measured the same: gives davit's rows the fastest of the
 * others. */
static void join_peers(cli_result_row **first, cli_result_row **end) {
  cli_result_row *best = NULL;
  for (cli_result_row **row = first; row < end; row++)
    if (is_faster_peer(*row, *first, best))
      best = *row;
  for (cli_result_row **row = first; row < end && best && !*(*first)->side; row++)
    if (*(*row)->side)
      (*row)->joined = true;
    else if ((*row)->peer_cost <= 0) {
      (*row)->peer_us = best->us;
      (*row)->peer_cost = cli_result_cost(best);
      (*row)->peer = best->side;
    }
}

int cli_results_finish(cli_results *results) {
  size_t count = 0;
  for (size_t d = 0; d < results->count; d++)
    count += results->documents[d].row_count;
  results->sorted = dvt_allocate(count + 1, sizeof *results->sorted);
  if (!results->sorted)
    return no_memory(results->path ? results->path : "results");
  for (size_t d = 0; d < results->count; d++)
    for (size_t i = 0; i < results->documents[d].row_count; i++) {
      cli_result_row *row = &results->documents[d].rows[i];
      row->result = &results->documents[d]; /* the array of documents may have moved */
      row->ordinal = (long)results->row_count;
      results->sorted[results->row_count++] = row;
    }
  qsort(results->sorted, count, sizeof *results->sorted, compare_rows);
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && are_alike(results->sorted[i], results->sorted[end]);)
      end++;
    join_peers(results->sorted + i, results->sorted + end);
  }
  return CLI_OK;
}

/* ---- figures ---- */

cli_result_unit cli_result_unit_of(const cli_result_row *row) {
  const double flops_a_byte = 8;
  const double *rate = row->rates;
  for (int unit = CLI_RESULT_GCUPS; unit <= CLI_RESULT_TFLOPS; unit++)
    if (rate[unit] > 0)
      return (cli_result_unit)unit;
  if (rate[CLI_RESULT_GFLOPS] > 0 && rate[CLI_RESULT_GFLOPS] >= flops_a_byte * rate[CLI_RESULT_GBS])
    return CLI_RESULT_GFLOPS;
  return rate[CLI_RESULT_GBS] > 0 ? CLI_RESULT_GBS : CLI_RESULT_UNITS;
}

double cli_result_cost(const cli_result_row *row) {
  const cli_result_unit unit = cli_result_unit_of(row);
  if (row->us > 0)
    return row->us;
  return unit < CLI_RESULT_UNITS ? 1 / row->rates[unit] : 0;
}
