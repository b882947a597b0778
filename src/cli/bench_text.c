/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts of results. */
#include "src/cli/bench_text.h"

#include <math.h>
#include <string.h>

void bench_write_digits(FILE *file, double value) {
  const double size = fabs(value);
  const int after = size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 0;
  if (size != 0 && size < 0.9995)
    fprintf(file, "%.3g", value);
  else if (size < 1e15)
    fprintf(file, "%.*f", after, value);
  else
    fprintf(file, "%.3g", value);
}

void bench_write_time(FILE *file, double us) {
  static const char *const units[] = {"ns", "µs", "ms", "s"};
  const int power = us < 0.1 ? 0 : us < 1e3 ? 1 : us < 1e6 ? 2 : 3;
  bench_write_digits(file, us * pow(1000, 1 - power));
  fprintf(file, " %s", units[power]);
}

double bench_rate_factor(cli_result_unit unit, double largest, char *letter) {
  const bool larger = largest >= 9999.5 && cli_result_unit_names[unit][0] == 'G';
  *letter = larger ? 'T' : cli_result_unit_names[unit][0];
  return larger ? 1e-3 : 1;
}

void bench_write_rate(FILE *file, cli_result_unit unit, double value) {
  char letter;
  const double factor = bench_rate_factor(unit, value, &letter);
  bench_write_digits(file, value * factor);
  fprintf(file, " %c%s", letter, cli_result_unit_names[unit] + 1);
}

void bench_write_change(FILE *file, double share) {
  if (share < 1)
    fprintf(file, "%+.1f %%", 100 * share);
  else
    fprintf(file, "%.3g times", 1 + share);
}

static void write_cost(FILE *file, const cli_result_row *row, double cost) {
  const cli_result_unit unit = cli_result_unit_of(row);
  if (row->us > 0)
    bench_write_time(file, cost);
  else if (unit < CLI_RESULT_UNITS)
    bench_write_rate(file, unit, 1 / cost);
}

void bench_write_cost(FILE *file, const cli_result_row *row) {
  if (cli_result_cost(row) > 0)
    write_cost(file, row, cli_result_cost(row));
  else
    putc('-', file);
}

void bench_write_peer(FILE *file, const cli_result_row *row) {
  if (row->peer_cost > 0)
    write_cost(file, row, row->peer_cost);
}

void bench_write_count(FILE *file, double value) {
  char digits[64];
  if (value >= 1e15 || value != floor(value)) {
    bench_write_digits(file, value);
    return;
  }
  const int length = snprintf(digits, sizeof digits, "%.0f", value);
  for (int i = 0; i < length; i++) {
    if (i && (length - i) % 3 == 0 && length > 4)
      fputs("\u202f", file);
    putc(digits[i], file);
  }
}

/* ---- texts ---- */

const char *bench_heading(const cli_result_row *row) {
  const char *name = row->result->benchmark;
  return strncmp(row->label, name, strlen(name)) != 0 ? name : "";
}

void bench_write_name(FILE *file, const cli_result_row *row, bool full, bench_writer *write) {
  if (full && *bench_heading(row)) {
    write(file, bench_heading(row));
    fputs(": ", file);
  }
  write(file, row->label);
  if (*row->side) {
    fputs(", ", file);
    write(file, row->side);
  }
  if (row->size_name) {
    fprintf(file, ", %s ", row->size_name);
    bench_write_count(file, row->size);
  }
  if (full && row->device && *row->device->name) {
    fputs(", ", file);
    write(file, row->device->name);
  }
}
