/* SPDX-License-Identifier: Apache-2.0 */
/* Results of benchmarks. What is accepted as a file is accepted from a pipe. Rows are sorted and their
 * figures finite. Compared with itself, nothing changes. The page has no markup of the input's: as many
 * drawings are ended as begun, and no script is begun. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/bench_report.h"
#include "src/cli/fail.h"
#include "tests/fuzz/fuzz.h"

static void check_row(const cli_result_row *row) {
  const double figures[] = {row->size,     row->us,      row->best_us,
                            row->floor_us, row->peer_us, cli_result_cost(row)};
  FUZZ_REQUIRE(*row->label);
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    FUZZ_REQUIRE(isfinite(figures[i]) && figures[i] >= 0);
}

static size_t count(const char *text, const char *part) {
  size_t found = 0;
  while ((text = strstr(text, part))) {
    text += strlen(part);
    found++;
  }
  return found;
}

static void check_page(const cli_results *results, const bench_comparison *found) {
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  FUZZ_REQUIRE(file && bench_report(file, results, found, true) && !fclose(file));
  FUZZ_REQUIRE(strlen(text) == size);
  FUZZ_REQUIRE(!strstr(text, "<script") && count(text, "<svg ") == count(text, "</svg>"));
  FUZZ_REQUIRE(count(text, "<figure>") == count(text, "</figure>"));
  for (size_t i = 0; i < size; i++)
    FUZZ_REQUIRE((unsigned char)text[i] >= ' ' || text[i] == '\n' || text[i] == '\t');
  free(text);
}

static void check(cli_results *results) {
  bench_comparison found;
  FUZZ_REQUIRE(fuzz_code(cli_results_finish(results)) == CLI_OK);
  for (size_t i = 0; i < results->row_count; i++) {
    check_row(results->sorted[i]);
    FUZZ_REQUIRE(!i || cli_result_order(results->sorted[i - 1], results->sorted[i]) <= 0);
  }
  FUZZ_REQUIRE(fuzz_code(bench_compare(results, results, 0.05, &found)) == CLI_OK);
  FUZZ_REQUIRE(found.counts[BENCH_SAME] == found.count && !found.gone && !found.added && !found.other_device);
  check_page(results, &found);
  bench_comparison_free(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const fuzz_text text = fuzz_expand(data, size);
  cli_results file = {.path = NULL}, pipe = {.path = NULL};
  const int code = fuzz_code(cli_results_read(fuzz_file(text), &file));
  FUZZ_REQUIRE(fuzz_code(cli_results_read(fuzz_pipe(text), &pipe)) == code);
  FUZZ_REQUIRE(file.count == pipe.count);
  if (code == CLI_OK)
    check(&file);
  cli_results_free(&file);
  cli_results_free(&pipe);
  return 0;
}
