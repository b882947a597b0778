/* SPDX-License-Identifier: Apache-2.0 */
/* Scoring matrices. What is accepted as a file is accepted from a pipe, and comes back unchanged when it is
 * written. */
#include <ctype.h>
#include <string.h>

#include "src/cli/fail.h"
#include "src/cli/formats/matrix.h"
#include "tests/fuzz/fuzz.h"

static void check(const davit_align_matrix *m) {
  FUZZ_REQUIRE(m->symbols >= 1 && m->symbols <= DAVIT_ALIGN_SYMBOLS_MAXIMUM);
  FUZZ_REQUIRE(strlen(m->letters) == (size_t)m->symbols);
  for (int i = 0; i < m->symbols; i++)
    FUZZ_REQUIRE(m->code[(unsigned char)m->letters[i]] == i && !islower((unsigned char)m->letters[i]));
  for (int c = 0; c < 256; c++)
    FUZZ_REQUIRE(m->code[c] == DAVIT_ALIGN_NO_SYMBOL || m->letters[m->code[c]] == toupper(c));
}

static void check_same(const davit_align_matrix *a, const davit_align_matrix *b) {
  FUZZ_REQUIRE(!memcmp(a, b, sizeof *a));
}

/* The rows in another order than the columns. */
static void check_written(const davit_align_matrix *m) {
  FILE *file = fuzz_create();
  fputs("# scores\n ", file);
  for (int t = 0; t < m->symbols; t++)
    fprintf(file, " %c", m->letters[t]);
  for (int q = m->symbols - 1; q >= 0; q--) {
    fprintf(file, "\n%c", m->letters[q]);
    for (int t = 0; t < m->symbols; t++)
      fprintf(file, "\t%d", m->scores[q + t * m->symbols]);
  }
  davit_align_matrix again;
  FUZZ_REQUIRE(fuzz_code(cli_matrix_read(fuzz_written(file), &again)) == CLI_OK);
  check_same(m, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const fuzz_text text = fuzz_expand(data, size);
  davit_align_matrix file, pipe;
  const int code = fuzz_code(cli_matrix_read(fuzz_file(text), &file));
  FUZZ_REQUIRE(fuzz_code(cli_matrix_read(fuzz_pipe(text), &pipe)) == code);
  if (code == CLI_OK) {
    check(&file);
    check_same(&file, &pipe);
    check_written(&file);
  }
  return 0;
}
