/* SPDX-License-Identifier: Apache-2.0 */
/* Sounds. An input is a rate, how many samples are read at once, and a file. What is accepted as a file is
 * accepted from a pipe, with the same samples (what is read as it comes may end in another error); they are
 * as many as the header states, whatever is read at once; and they come back unchanged when they are
 * written. */
#include <math.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/fail.h"
#include "src/cli/formats/sound.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_SAMPLES = 1 << 13 /* that are compared */ };

typedef struct samples {
  int code;
  int64_t count;
  double seconds;
  float values[MOST_SAMPLES];
} samples;

/* Reads up to MOST_SAMPLES, `part` at once. */
static void read_samples(cli_sound *sound, int64_t part, samples *s) {
  int64_t wanted = 1;
  s->seconds = cli_sound_seconds(sound);
  for (int64_t got = 1; s->code == CLI_OK && got == wanted && s->count < MOST_SAMPLES; s->count += got) {
    wanted = part < MOST_SAMPLES - s->count ? part : MOST_SAMPLES - s->count;
    s->code = cli_sound_read(sound, wanted, s->values + s->count, &got);
    FUZZ_REQUIRE(got >= 0 && got <= wanted);
  }
}

static void read_file(const char *path, double rate, int64_t part, bool live, samples *s) {
  cli_input input;
  cli_sound *sound = NULL;
  s->count = 0;
  s->code = cli_input_open(path, &input);
  if (s->code == CLI_OK)
    s->code = cli_sound_open(&input, rate, live, &sound);
  FUZZ_REQUIRE(!sound == (s->code != CLI_OK));
  if (sound)
    read_samples(sound, part, s);
  fuzz_code(s->code);
  cli_sound_close(sound);
  cli_input_close(&input);
}

/* Of what is cut at MOST_SAMPLES, the rest may be wrong. */
static void check_same(const samples *a, const samples *b) {
  FUZZ_REQUIRE(a->code == b->code || a->count == MOST_SAMPLES || b->count == MOST_SAMPLES);
  if (a->code != b->code)
    return;
  FUZZ_REQUIRE(a->code != CLI_OK || a->count == b->count);
  FUZZ_REQUIRE(a->code != CLI_OK || !memcmp(a->values, b->values, (size_t)a->count * sizeof *a->values));
}

/* Of MPEG the header holds an estimate. */
static void check_length(fuzz_text text, double rate, const samples *s) {
  const bool mpeg = text.bytes[0] == 0xff || text.bytes[0] == 'I';
  if (!mpeg && s->seconds > 0 && s->count < MOST_SAMPLES)
    FUZZ_REQUIRE(fabs((double)s->count - s->seconds * rate) <= 1);
}

static void check_written(const samples *s, int rate) {
  static samples again;
  SF_INFO info = {.samplerate = rate, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
  const char *path = fuzz_file((fuzz_text){0});
  SNDFILE *file = sf_open(path, SFM_WRITE, &info);
  FUZZ_REQUIRE(file && sf_writef_float(file, s->values, s->count) == s->count && !sf_close(file));
  read_file(path, rate, MOST_SAMPLES / 4, false, &again);
  FUZZ_REQUIRE(again.code == CLI_OK && again.count == s->count);
  FUZZ_REQUIRE(!memcmp(again.values, s->values, (size_t)s->count * sizeof *s->values));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int rates[] = {22050, 8000, 11025, 44100, 192000, 1, 1000000000};
  static samples file, pipe, live, parts;
  const int rate = rates[fuzz_byte(&data, &size) % (sizeof rates / sizeof *rates)];
  const int64_t part = 1 + fuzz_byte(&data, &size);
  const fuzz_text text = fuzz_expand(data, size);
  read_file(fuzz_file(text), rate, MOST_SAMPLES / 4, false, &file);
  read_file(fuzz_pipe(text), rate, MOST_SAMPLES / 4, false, &pipe);
  check_same(&file, &pipe);
  read_file(fuzz_pipe(text), rate, part, true, &live);
  if (file.code != CLI_OK)
    return 0;
  read_file(fuzz_file(text), rate, part, false, &parts);
  check_same(&file, &parts);
  check_length(text, rate, &file);
  for (int64_t i = 0; i < file.count; i++)
    FUZZ_REQUIRE(isfinite(file.values[i]));
  if (file.count > 0 && file.count < MOST_SAMPLES)
    check_written(&file, rate);
  return 0;
}
