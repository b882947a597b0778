/* SPDX-License-Identifier: Apache-2.0 */
/* Results of benchmarks: the JSON objects that bench_NAME and `davit bench --json` print.
 *
 * A document has the name of its benchmark, the machine and rows. A row is a flat object. This reader knows
 * what the fields are by their names: texts and some numbers say what was measured (the row's label and its
 * size); times, rates, the peer's time and the floor say how fast it was. Other fields are ignored. Rows of
 * another library, which some benchmarks print beside davit's, become the peer of davit's row. */
#ifndef DAVIT_SRC_CLI_FORMATS_RESULTS_H
#define DAVIT_SRC_CLI_FORMATS_RESULTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct cli_result_device {
  double number;           /* NaN: none */
  const char *kind, *name; /* "" if unknown */
  double units, memory;    /* compute units, bytes; 0: unknown */
} cli_result_device;

typedef enum cli_result_unit {
  CLI_RESULT_GCUPS,
  CLI_RESULT_TFLOPS,
  CLI_RESULT_GFLOPS,
  CLI_RESULT_GBS,
  CLI_RESULT_UNITS
} cli_result_unit;

typedef struct cli_result_row {
  const struct cli_result *result;
  const cli_result_device *device; /* NULL: none is named */
  char *label;                     /* what was measured, without the size */
  const char *side;                /* of another library or a plain program: its name; else "" */
  const char *size_name;           /* "size", "order" or "rows"; NULL: no size */
  double size, key_size;           /* `key_size` has eight digits, as results of early versions */
  double us, best_us;              /* of a run; 0: not measured */
  double rates[CLI_RESULT_UNITS];
  double floor_us;  /* the time that the machine's limits leave; 0: unknown */
  double peer_us;   /* 0: no peer with a time */
  double peer_cost; /* as cli_result_cost(); 0: no peer */
  const char *peer; /* NULL: no name */
  const char *error;
  long ordinal; /* among all rows */
  bool joined;  /* it is the peer of another row */
  bool largest; /* for those who use the rows: the largest size of its group */
} cli_result_row;

typedef struct cli_result {
  const json_t *json;
  const char *benchmark, *version, *date, *command; /* "" if unknown */
  const char *backend;                              /* davit's */
  const char *file;                                 /* where it was read */
  cli_result_device *devices;
  cli_result_row *rows;
  size_t device_count, row_count;
} cli_result;

/* {0} has no documents. */
typedef struct cli_results {
  const char *path; /* of the last file */
  json_t **roots;
  cli_result *documents;
  cli_result_row **sorted; /* all rows, by cli_result_order() */
  size_t root_count, count, row_count;
} cli_results;

/* Adds the documents of a file. The texts of a row are kept as long as `results`. */
int cli_results_read(const char *path, cli_results *results);

/* The same for a file that is open; `name` is for messages. Reads it from the beginning. */
int cli_results_read_stream(FILE *file, const char *name, cli_results *results);

/* After the last file: sorts the rows and joins peers. */
int cli_results_finish(cli_results *results);
void cli_results_free(cli_results *results);

/* Compares what two rows measured: benchmark, kind of device, label and size. Below, equal to or above 0. */
int cli_result_order(const cli_result_row *a, const cli_result_row *b);

/* The unit of the row's rate, CLI_RESULT_UNITS if it has none: GFLOP/s only where arithmetic is the work, at
 * 8 operations or more for each byte. */
cli_result_unit cli_result_unit_of(const cli_result_row *row);
extern const char *const cli_result_unit_names[CLI_RESULT_UNITS];

/* What a row costs, for comparisons with the same row: its time or, without one, the inverse of its rate; 0
 * if it was not measured. */
double cli_result_cost(const cli_result_row *row);

#endif
