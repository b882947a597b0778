/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences that a fuzzer compares. */
#ifndef DAVIT_TESTS_FUZZ_SEQUENCES_H
#define DAVIT_TESTS_FUZZ_SEQUENCES_H

#include "src/cli/formats/fasta.h"
#include "tests/fuzz/fuzz.h"

/* The alphabet of bases for an even number, of amino acids for an odd one. */
const davit_align_matrix *fuzz_alphabet(uint8_t number);

/* cli_sequences_read() with its contract of messages. */
int fuzz_sequences(const char *path, const davit_align_matrix *alphabet, cli_sequences *sequences);

/* Names, lengths and symbols are the same. */
void fuzz_same_sequences(const cli_sequences *a, const cli_sequences *b);

#endif
