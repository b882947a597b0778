/* SPDX-License-Identifier: Apache-2.0 */
/* Sound: libsndfile, then the mean of the channels, then soxr if the rate is another one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/cli/formats/sound.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <sndfile.h>
#include <soxr.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/allocate.h"
#include "src/base/buffer.h"
#include "src/cli/fail.h"
#include "src/cli/formats/sound_file.h"

/* Samples that are read at once, all channels together, and bytes of a pipe. */
enum { CHUNK = DVT_BUFFER(1 << 18, 64), PIPE_BYTES = DVT_BUFFER(1 << 13, 256) };
enum { LIVE_CHUNKS = 50 }; /* of a second of sound that is read as it comes */

struct cli_sound {
  const char *name;
  int descriptor;
  cli_sound_file bytes; /* behind `descriptor` */
  SNDFILE *file;        /* reads `bytes` */
  SF_INFO info;
  soxr_t resampler; /* NULL: the file has the rate that is wanted */
  float *interleaved, *mono;
  int64_t chunk;       /* frames of the buffers */
  int64_t at;          /* frames read from the file */
  int64_t used, ready; /* of `mono` */
  double mixed, apart; /* energies so far: of `mono`, and the mean of the channels' */
  bool end;            /* of the file */
  bool live;           /* read as it comes */
};

/* ---- libraries that print ---- */

/* libsndfile prints damage of SDS files on standard output, and libmpg123, which it decodes MPEG audio
 * with, prints what it skips on standard error. */
typedef struct streams {
  FILE *output, *error;
} streams;

/* Lets them print to nowhere, until the result is given to restore(). (glibc's stdout and stderr are
 * variables.) */
static streams silence(void) {
  static FILE *nowhere;
  const streams usual = {stdout, stderr};
  if (!nowhere)
    nowhere = fopen("/dev/null", "we");
  if (nowhere)
    stdout = stderr = nowhere;
  return usual;
}

static void restore(streams usual) {
  stdout = usual.output;
  stderr = usual.error;
}

/* ---- a descriptor that can be read here and there ---- */

static bool are_zero(const void *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (((const char *)bytes)[i])
      return false;
  return true;
}

/* `first` has what was read already. *zero: the pipe begins as no sound does, and may have no end, as /dev/zero; then
 * nothing is copied. */
static bool copy_pipe(const cli_sound_file *first, FILE *from, FILE *to, bool *zero) {
  char bytes[PIPE_BYTES];
  const size_t head = (size_t)first->head_bytes;
  size_t got = fread(bytes, 1, sizeof bytes, from);
  *zero = got == sizeof bytes && are_zero(bytes, got) && are_zero(first->head, head);
  if (*zero)
    return true;
  if (fwrite(first->head, 1, head, to) != head)
    return false;
  for (; got > 0; got = fread(bytes, 1, sizeof bytes, from))
    if (fwrite(bytes, 1, got, to) != got)
      return false;
  return !ferror(from) && !fflush(to);
}

static int spool(const cli_input *input, const cli_sound_file *first, int *descriptor) {
  FILE *copy = tmpfile();
  bool zero = false;
  int code = CLI_OK;
  if (!copy || !copy_pipe(first, input->file, copy, &zero) || (*descriptor = dup(fileno(copy))) < 0)
    code = cli_fail(CLI_INPUT, "%s: cannot be kept in a temporary file: %s", input->name, strerror(errno));
  else if (zero)
    code = cli_fail(CLI_INPUT, "%s: expected sound, found zero bytes", input->name);
  if (copy)
    fclose(copy);
  if (code != CLI_OK)
    return code;
  return lseek(*descriptor, 0, SEEK_SET) < 0 ? cli_input_unreadable(input->name, errno) : CLI_OK;
}

static int descriptor_of(const cli_input *input, const cli_sound_file *first, int *descriptor) {
  if (!input->sized)
    return spool(input, first, descriptor);
  *descriptor = dup(fileno(input->file));
  const off_t size = *descriptor < 0 ? -1 : lseek(*descriptor, 0, SEEK_END);
  return size < 0 || lseek(*descriptor, size - (off_t)input->size, SEEK_SET) < 0
             ? cli_input_unreadable(input->name, errno)
             : CLI_OK;
}

/* ---- what libsndfile reads through ---- */

static sf_count_t size_of(void *state) {
  const cli_sound_file *bytes = state;
  return bytes->size;
}

static sf_count_t seek(sf_count_t offset, int whence, void *state) {
  cli_sound_file *bytes = state;
  const int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? bytes->at : bytes->size;
  if (offset < -from)
    return -1;
  bytes->at = from + offset;
  return bytes->at;
}

static sf_count_t read_bytes(void *to, sf_count_t count, void *state) {
  return cli_sound_file_read(state, to, count);
}

static sf_count_t tell(void *state) {
  const cli_sound_file *bytes = state;
  return bytes->at;
}

/* ---- opening ---- */

static int check_info(const cli_sound *s) {
  if (s->info.channels < 1)
    return cli_fail(CLI_INPUT, "%s: expected at least 1 channel, found %d", s->name, s->info.channels);
  if (s->info.samplerate < 1)
    return cli_fail(CLI_INPUT, "%s: expected a sample rate above 0, found %d", s->name, s->info.samplerate);
  if (s->info.frames < 1)
    return cli_fail(CLI_INPUT, "%s: expected samples, found none", s->name);
  return CLI_OK;
}

/* A pipe that must be copied after all has lost its first bytes. */
static int open_bytes(const cli_input *input, bool live, cli_sound *s) {
  cli_sound_file first = {0};
  int code = CLI_OK;
  if (live && !input->sized)
    code = cli_sound_file_open_pipe(input->name, input->file, &first, &s->live);
  if (s->live) {
    s->bytes = first;
    return code;
  }
  if (code == CLI_OK)
    code = descriptor_of(input, &first, &s->descriptor);
  if (code == CLI_OK)
    code = cli_sound_file_open(input->name, s->descriptor, &s->bytes);
  cli_sound_file_close(&first);
  return code;
}

static int open_file(const cli_input *input, bool live, cli_sound *s) {
  static SF_VIRTUAL_IO calls = {.get_filelen = size_of, .seek = seek, .read = read_bytes, .tell = tell};
  CLI_TRY(open_bytes(input, live, s));
  const streams usual = silence();
  s->file = sf_open_virtual(&calls, SFM_READ, &s->info, &s->bytes);
  restore(usual);
  if (s->bytes.error)
    return cli_input_unreadable(s->name, s->bytes.error);
  if (!s->file)
    return cli_fail(CLI_INPUT, "%s: expected sound that libsndfile reads: %s", s->name, sf_strerror(NULL));
  s->info.frames = s->bytes.open ? SF_COUNT_MAX : s->info.frames;
  return check_info(s);
}

/* Beyond a factor of 1000 a few bytes would make long work, and beyond 10^8 soxr crashes. */
static int make_resampler(cli_sound *s, double rate) {
  static const double most = 1000;
  if (rate >= s->info.samplerate && rate <= s->info.samplerate)
    return CLI_OK;
  if (s->info.samplerate < rate / most || s->info.samplerate > rate * most)
    return cli_fail(CLI_INPUT, "%s: expected from %g to %g samples a second, to be resampled to %g, found %d",
                    s->name, rate / most, rate * most, rate, s->info.samplerate);
  soxr_error_t error = NULL;
  const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
  s->resampler = soxr_create(s->info.samplerate, rate, 1, &error, NULL, &quality, NULL);
  return s->resampler
             ? CLI_OK
             : cli_fail(CLI_INPUT, "%s: %d sample%s a second cannot be resampled to %g: %s", s->name,
                        s->info.samplerate, CLI_PLURAL(s->info.samplerate), rate, soxr_strerror(error));
}

static int make_buffers(cli_sound *s) {
  const int64_t most = s->live ? s->info.samplerate / LIVE_CHUNKS : CHUNK / s->info.channels;
  s->chunk = most > 0 ? most : 1;
  s->interleaved = dvt_allocate((size_t)s->chunk * (size_t)s->info.channels, sizeof(float));
  s->mono = dvt_allocate((size_t)s->chunk, sizeof(float));
  return s->interleaved && s->mono ? CLI_OK : cli_fail(CLI_DEVICE, "not enough memory to read '%s'", s->name);
}

int cli_sound_open(cli_input *input, double rate, bool live, cli_sound **sound) {
  cli_sound *s = dvt_allocate(1, sizeof *s);
  *sound = NULL;
  if (!s)
    return cli_fail(CLI_DEVICE, "not enough memory to read '%s'", input->name);
  s->name = input->name;
  s->descriptor = -1;
  int code = open_file(input, live, s);
  if (code == CLI_OK)
    code = make_resampler(s, rate);
  if (code == CLI_OK)
    code = make_buffers(s);
  if (code == CLI_OK)
    *sound = s;
  else
    cli_sound_close(s);
  return code;
}

void cli_sound_close(cli_sound *s) {
  if (!s)
    return;
  if (s->file)
    sf_close(s->file);
  cli_sound_file_close(&s->bytes);
  if (s->descriptor >= 0)
    close(s->descriptor);
  soxr_delete(s->resampler);
  free(s->interleaved);
  free(s->mono);
  free(s);
}

double cli_sound_seconds(const cli_sound *s) {
  return s->info.frames < SF_COUNT_MAX ? (double)s->info.frames / s->info.samplerate : 0;
}

int cli_sound_stored_rate(const cli_sound *s) {
  return s->info.samplerate;
}

int cli_sound_set_rate(cli_sound *s, double rate) {
  soxr_delete(s->resampler);
  s->resampler = NULL;
  return make_resampler(s, rate);
}

bool cli_sound_is_live(const cli_sound *s) {
  return s->live;
}

/* ---- reading ---- */

bool cli_sound_is_exact(const cli_sound *s) {
  return (s->info.format & SF_FORMAT_TYPEMASK) != SF_FORMAT_MPEG && s->info.frames < SF_COUNT_MAX;
}

static int check_end(const cli_sound *s) {
  const int error = sf_error(s->file);
  if (error)
    return cli_fail(CLI_INPUT, "%s: frame %" PRId64 ": expected more samples: %s", s->name, s->at,
                    sf_error_number(error));
  if (cli_sound_is_exact(s) && s->at < s->info.frames)
    return cli_fail(CLI_INPUT, "%s: frame %" PRId64 ": expected %" PRId64 " frame%s, found the end", s->name,
                    s->at, (int64_t)s->info.frames, CLI_PLURAL(s->info.frames));
  return CLI_OK;
}

/* One of two channels may be inverted: their mean is silence. */
static void warn_of_cancelling(const cli_sound *s) {
  static const double least = 0.01;
  static char said[256]; /* a file may be read several times */
  if (!(s->mixed < least * s->apart) || !strncmp(said, s->name, sizeof said - 1))
    return;
  snprintf(said, sizeof said, "%s", s->name);
  cli_remark("%s: its channels cancel each other (one may be inverted): their mean, which is used, has %.2g "
             "%% of their power",
             s->name, 100 * s->mixed / s->apart);
}

static bool are_finite(int64_t count, const float *samples) {
  int bad = 0;
  for (int64_t i = 0; i < count; i++)
    bad |= !(fabsf(samples[i]) <= FLT_MAX);
  return !bad;
}

/* The mean of the channels. A single one cannot cancel itself. */
static int mix(cli_sound *s, int64_t frames) {
  const int channels = s->info.channels;
  if (channels == 1 && are_finite(frames, s->interleaved)) {
    memcpy(s->mono, s->interleaved, (size_t)frames * sizeof *s->mono);
    return CLI_OK;
  }
  for (int64_t i = 0; i < frames; i++) {
    double sum = 0, squares = 0;
    for (int c = 0; c < channels; c++) {
      const double sample = (double)s->interleaved[i * channels + c];
      sum += sample;
      squares += sample * sample;
    }
    if (!isfinite(sum))
      return cli_fail(CLI_INPUT, "%s: frame %" PRId64 ": expected finite samples, found %g", s->name,
                      s->at + i, sum);
    s->mono[i] = (float)(sum / channels);
    s->mixed += sum / channels * (sum / channels);
    s->apart += squares / channels;
  }
  return CLI_OK;
}

static int refill(cli_sound *s) {
  const streams usual = silence();
  const int64_t got = sf_readf_float(s->file, s->interleaved, s->chunk);
  restore(usual);
  if (s->bytes.error)
    return cli_fail(CLI_INPUT, "%s: frame %" PRId64 ": reading failed: %s", s->name, s->at,
                    strerror(s->bytes.error));
  int code = mix(s, got);
  s->at += got;
  s->used = 0;
  s->ready = got;
  s->end = got < s->chunk;
  if (code == CLI_OK && s->end)
    code = check_end(s);
  if (code == CLI_OK && s->end)
    warn_of_cancelling(s);
  return code;
}

static int copy(cli_sound *s, int64_t count, float *samples, int64_t *got) {
  const int64_t left = s->ready - s->used, taken = left < count ? left : count;
  memcpy(samples, s->mono + s->used, (size_t)taken * sizeof *samples);
  s->used += taken;
  *got = taken;
  return CLI_OK;
}

/* Sums of the largest floats are none, and soxr does not say so. */
static int check_resampled(const cli_sound *s, const float *samples, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(samples[i]))
      return cli_fail(CLI_INPUT,
                      "%s: frame %" PRId64 ": expected samples that stay finite when resampled, found %g",
                      s->name, s->at, (double)samples[i]);
  return CLI_OK;
}

/* At the end of the file soxr returns the samples that it still holds. It reads 8 bytes of the place for its results, as
 * if that had pointers to channels, also where that is the place of one sample, and there is nothing behind it. */
static int resample(cli_sound *s, int64_t count, float *samples, int64_t *got) {
  const bool flush = s->end && s->used == s->ready;
  float two[2] = {0}, *to = count > 1 ? samples : two;
  size_t taken = 0, made = 0;
  const soxr_error_t error =
      soxr_process(s->resampler, flush ? NULL : s->mono + s->used, flush ? 0 : (size_t)(s->ready - s->used),
                   &taken, to, (size_t)count, &made);
  if (error)
    return cli_fail(CLI_INPUT, "%s: frame %" PRId64 ": resampling failed: %s", s->name, s->at,
                    soxr_strerror(error));
  s->used += (int64_t)taken;
  *got = (int64_t)made;
  if (to == two && made > 0)
    samples[0] = two[0];
  return check_resampled(s, samples, made);
}

int cli_sound_read(cli_sound *s, int64_t count, float *samples, int64_t *got) {
  *got = 0;
  while (*got < count) {
    int64_t more = 0;
    if (s->used == s->ready && !s->end)
      CLI_TRY(refill(s));
    const bool last = s->end && s->used == s->ready;
    CLI_TRY((s->resampler ? resample : copy)(s, count - *got, samples + *got, &more));
    *got += more;
    if (last && more == 0)
      break;
  }
  return CLI_OK;
}
