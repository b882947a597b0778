/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences that a fuzzer compares. */
#include "tests/fuzz/sequences.h"

#include <string.h>

#include "src/cli/formats/matrix.h"

const davit_align_matrix *fuzz_alphabet(uint8_t number) {
  static davit_align_matrix alphabets[2];
  if (!alphabets[0].symbols) {
    cli_matrix_dna(1, -1, &alphabets[0]);
    FUZZ_REQUIRE(davit_align_matrix_find("BLOSUM62", &alphabets[1]) == DAVIT_SUCCESS);
  }
  return &alphabets[number % 2];
}

int fuzz_sequences(const char *path, const davit_align_matrix *alphabet, cli_sequences *sequences) {
  return fuzz_code(cli_sequences_read(path, alphabet, true, sequences));
}

void fuzz_same_sequences(const cli_sequences *a, const cli_sequences *b) {
  FUZZ_REQUIRE(a->count == b->count);
  FUZZ_REQUIRE(!memcmp(a->offsets, b->offsets, (size_t)(a->count + 1) * sizeof *a->offsets));
  FUZZ_REQUIRE(!memcmp(a->symbols, b->symbols, (size_t)a->offsets[a->count]));
  for (int64_t k = 0; k < a->count; k++)
    FUZZ_REQUIRE(!strcmp(cli_sequences_name(a, k), cli_sequences_name(b, k)));
}
