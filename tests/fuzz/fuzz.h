/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzzers share: inputs that are longer than what libFuzzer holds, files and pipes with them, and
 * the contract of the tool's functions that return an exit code.
 *
 * A fuzzer's input is a text in which the byte FUZZ_REPEAT, k, n stands for n more copies of the last k
 * bytes; k = 0 is the byte FUZZ_REPEAT itself. So a few bytes make a file of up to FUZZ_BYTES. */
#ifndef DAVIT_TESTS_FUZZ_FUZZ_H
#define DAVIT_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
  FUZZ_REPEAT = 0x1e,
  FUZZ_BYTES = 72 * 1024 /* more than the 64 KiB blocks of bgzip and of pipes */
};

/* Ends the run with a report unless the condition holds. */
#define FUZZ_REQUIRE(condition) ((condition) ? (void)0 : fuzz_fail(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_fail(const char *condition, const char *file, int line);

typedef struct fuzz_text {
  const unsigned char *bytes;
  size_t size;
} fuzz_text;

/* The input with its repetitions carried out. Valid until the next call. */
fuzz_text fuzz_expand(const uint8_t *data, size_t size);

/* Takes the first byte of an input; 0 if there is none. */
uint8_t fuzz_byte(const uint8_t **data, size_t *size);

/* The path of a regular file, or of a pipe, that holds the text. Valid until the next call of the same. */
const char *fuzz_file(fuzz_text text);
const char *fuzz_pipe(fuzz_text text);

/* A file to be written, empty; fuzz_written() closes it and returns its path. Its text is that of
 * fuzz_file(). */
FILE *fuzz_create(void);
const char *fuzz_written(FILE *file);

/* Returns `code`, the result of a function that prints what is wrong. Requires that it is CLI_OK without any
 * output since the last call, or CLI_INPUT or CLI_USAGE with one line. */
int fuzz_code(int code);

/* The same for CLI_OK. */
void fuzz_accept(int code);

#endif
