/* SPDX-License-Identifier: Apache-2.0 */
/* Feature files, and the features of sounds. An input is the length of a frame, how many frames are read at
 * once, and a file. What is accepted as a file is accepted from a pipe; the frames are the same, read at
 * once or appended, and those of a feature file are the elements of its array. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/fail.h"
#include "src/cli/formats/array_file.h"
#include "src/cli/formats/frames.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_FRAMES = 4096 };
static const double most_seconds = 4;

static bool is_same(const cli_array *a, const cli_array *b) {
  return a->shape[0] == b->shape[0] && a->shape[1] == b->shape[1] &&
         (!a->bytes || !memcmp(a->data, b->data, a->bytes));
}

/* A few bytes are a long sound if its rate is low. */
static bool is_long(const char *path, const davit_features_options *options) {
  cli_frames frames;
  const int code = fuzz_code(cli_frames_open(path, options, false, &frames));
  const bool is_long = code == CLI_OK && frames.sound && cli_frames_seconds(&frames) > most_seconds;
  cli_frames_close(&frames);
  return is_long;
}

/* All frames. */
static int append_all(const char *path, const davit_features_options *options, cli_array *array) {
  cli_frames frames;
  *array = (cli_array){0};
  int code = cli_frames_open(path, options, false, &frames);
  for (int64_t got = 1; code == CLI_OK && got > 0;)
    code = cli_frames_append(&frames, array, &got);
  cli_frames_close(&frames);
  return fuzz_code(code);
}

/* The first MOST_FRAMES, `part` at once, are those of `right`. */
static void check_parts(const char *path, const davit_features_options *options, int64_t part,
                        const cli_array *right) {
  cli_frames frames;
  int64_t done = 0, got = part;
  fuzz_accept(cli_frames_open(path, options, false, &frames));
  FUZZ_REQUIRE(frames.width == right->shape[1]);
  const size_t bytes = (size_t)frames.width * sizeof(float);
  float *block = malloc((size_t)part * bytes);
  FUZZ_REQUIRE(block);
  for (; got == part && done < MOST_FRAMES; done += got) {
    fuzz_accept(cli_frames_read(&frames, part, block, &got));
    FUZZ_REQUIRE(got >= 0 && got <= part && done + got <= right->shape[0]);
    FUZZ_REQUIRE(!got ||
                 !memcmp(block, (const char *)right->data + (size_t)done * bytes, (size_t)got * bytes));
  }
  FUZZ_REQUIRE(got == part || done == right->shape[0]);
  free(block);
  cli_frames_close(&frames);
}

/* A feature file's frames are its rows. */
static void check_rows(const char *path, const cli_array *frames) {
  cli_array array;
  fuzz_accept(cli_array_read(path, &(cli_reading){0}, CLI_MEMORY_PLAIN, NULL, &array));
  FUZZ_REQUIRE(array.shape[0] == frames->shape[0] && array.shape[1] == frames->shape[1]);
  for (int64_t i = 0; i < array.shape[0]; i++)
    for (int64_t k = 0; k < array.shape[1]; k++) {
      const int64_t at = i * cli_array_row_stride(&array) + k * cli_array_col_stride(&array);
      FUZZ_REQUIRE(((const float *)frames->data)[i * array.shape[1] + k] == (float)cli_number(&array, at));
    }
  cli_array_free(&array);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int64_t lengths[] = {2, 3, 16, 100, 128, 129, 1024};
  const int64_t frame = lengths[fuzz_byte(&data, &size) % (sizeof lengths / sizeof *lengths)];
  const davit_features_options options = {.rate = DAVIT_FEATURES_RATE, .frame = frame};
  const int64_t part = 1 + fuzz_byte(&data, &size) % 16;
  const fuzz_text text = fuzz_expand(data, size);
  cli_array file, pipe;
  if (is_long(fuzz_file(text), &options))
    return 0;
  const int code = append_all(fuzz_file(text), &options, &file);
  FUZZ_REQUIRE(append_all(fuzz_pipe(text), &options, &pipe) == code);
  if (code == CLI_OK) {
    FUZZ_REQUIRE(file.shape[0] > 0 && is_same(&file, &pipe));
    check_parts(fuzz_file(text), &options, part, &file);
    if (text.bytes[0] == CLI_NPY_FIRST_BYTE)
      check_rows(fuzz_file(text), &file);
  }
  cli_array_free(&file);
  cli_array_free(&pipe);
  return 0;
}
