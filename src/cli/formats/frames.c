/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of feature vectors.
 *
 * The change of a frame needs the frame after it, so a block of sound is read with one frame more, which
 * begins the next block. The features of the blocks are then those of the whole. */
#include "src/cli/formats/frames.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/ref.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/buffer.h"
#include "src/base/clock.h"
#include "src/cli/fail.h"
#include "src/cli/formats/array_file.h"
#include "src/cli/formats/dtype.h"

enum {
  BLOCK_SAMPLES = DVT_BUFFER(1 << 22, 512),
  BLOCK_FRAMES = 1 << 16,
  WIDE_ELEMENTS = DVT_BUFFER(4096, 8), /* converted at once */
  PART_FRAMES = DVT_BUFFER(4096, 4),   /* appended at once, and of at most */
  PART_BYTES = 1 << 26                 /* or one frame */
};

/* ---- opening: features ---- */

/* The file's matrix, frame after frame. In Fortran order the features of a frame are far apart, so the whole
 * file is read. */
static int open_array(cli_frames *f) {
  cli_array *a = &f->array;
  CLI_TRY(cli_npy_open(&f->input, a));
  CLI_TRY(cli_check_floating(f->name, a));
  if (a->ndim != 2 || a->shape[0] < 1 || a->shape[1] < 1 || a->shape[1] > 1 << 20)
    return cli_shape_fail(f->name, a, "frames x features, at least 1 x 1");
  f->width = (int)a->shape[1];
  if (!a->fortran)
    return CLI_OK;
  CLI_TRY(cli_file_elements(&f->input, a));
  return cli_array_to_c(a);
}

/* ---- opening: sound ---- */

static int64_t block_frames(const cli_frames *f) {
  return dvt_at_most(dvt_at_least(BLOCK_SAMPLES / f->options.frame, 1), BLOCK_FRAMES);
}

static int make_blocks(cli_frames *f) {
  const size_t frames = (size_t)block_frames(f) + 1;
  f->samples_bytes = frames * (size_t)f->options.frame * sizeof *f->samples;
  f->samples = dvt_map(f->samples_bytes);
  f->block = dvt_allocate_raw(frames * DAVIT_FEATURES_WIDTH * sizeof *f->block);
  return f->samples && f->block
             ? CLI_OK
             : cli_fail(CLI_DEVICE, "not enough memory for frames of %" PRId64 " samples", f->options.frame);
}

int cli_frames_open(const char *path, const davit_features_options *options, bool live, cli_frames *f) {
  *f = (cli_frames){.options = *options};
  CLI_TRY(cli_input_open(path, &f->input));
  f->name = f->input.name;
  if (cli_input_peek(&f->input) == CLI_NPY_FIRST_BYTE) {
    f->options.frame = options->frame > 0 ? options->frame : DAVIT_FEATURES_FRAME;
    return open_array(f);
  }
  CLI_TRY(cli_sound_open(&f->input, options->rate, live, &f->sound));
  f->width = DAVIT_FEATURES_WIDTH;
  return options->frame > 0 ? make_blocks(f) : CLI_OK;
}

int64_t cli_frames_suited(const cli_frames *f) {
  int64_t frame = DAVIT_FEATURES_FRAME;
  if (f->sound)
    while (frame > CLI_FRAMES_SHORTEST &&
           cli_sound_seconds(f->sound) * f->options.rate < (double)(CLI_FRAMES_SUITED * frame))
      frame /= 2;
  return frame;
}

int cli_frames_set_frame(cli_frames *f, int64_t frame) {
  f->options.frame = frame;
  return f->sound ? make_blocks(f) : CLI_OK;
}

int cli_frames_set_rate(cli_frames *f, double rate) {
  f->options.rate = rate;
  return cli_sound_set_rate(f->sound, rate);
}

void cli_frames_close(cli_frames *f) {
  cli_sound_close(f->sound);
  cli_array_free(&f->array);
  cli_input_close(&f->input);
  dvt_unmap(f->samples, f->samples_bytes);
  free(f->block);
  *f = (cli_frames){0};
}

double cli_frames_seconds(const cli_frames *f) {
  return f->sound ? cli_sound_seconds(f->sound)
                  : (double)f->array.shape[0] * (double)f->options.frame / f->options.rate;
}

int64_t cli_frames_most(const cli_frames *f) {
  return f->sound ? INT64_MAX : f->array.shape[0] - f->at;
}

/* ---- reading ---- */

/* The power of all bands. */
static double power_of(const float *frame) {
  double sum = 0;
  for (int band = 0; band < DAVIT_FEATURES_BANDS; band++)
    sum += (double)frame[band];
  return sum;
}

static int compare(cli_frames *f, int64_t frames) {
  float *right = dvt_allocate((size_t)frames, DAVIT_FEATURES_WIDTH * sizeof *right);
  if (!right ||
      dvt_ref_features(frames * f->options.frame, f->samples, &f->options, right) != DAVIT_SUCCESS) {
    free(right);
    return cli_fail(CLI_DEVICE, "not enough memory for the check");
  }
  for (int64_t i = 0; i < frames; i++) {
    const float *wanted = right + i * DAVIT_FEATURES_WIDTH, *found = f->block + i * DAVIT_FEATURES_WIDTH;
    const double power = power_of(wanted) + (i + 1 < frames ? power_of(wanted + DAVIT_FEATURES_WIDTH) : 0);
    for (int k = 0; k < DAVIT_FEATURES_WIDTH; k++) {
      const double difference = fabs((double)found[k] - (double)wanted[k]);
      if (difference > 0)
        f->error = fmax(f->error, difference / power);
    }
  }
  free(right);
  return CLI_OK;
}

static int analyse(cli_frames *f, int64_t frames) {
  const double start = dvt_now();
  const davit_status status = davit_features(frames * f->options.frame, f->samples, f->block, &f->options);
  f->seconds += dvt_now() - start;
  if (status == DAVIT_INVALID_ARGUMENT)
    return cli_fail(CLI_INPUT, "%s: from second %.3f on: %s", f->name,
                    (double)f->at * (double)f->options.frame / f->options.rate, davit_last_error());
  if (status != DAVIT_SUCCESS)
    return cli_status(status);
  return f->check ? compare(f, frames) : CLI_OK;
}

/* At most block_frames(). */
static int read_sound(cli_frames *f, int64_t count, float *features, int64_t *got) {
  const int64_t frame = f->options.frame;
  int64_t samples = 0;
  *got = 0;
  if (f->ended)
    return CLI_OK;
  CLI_TRY(cli_sound_read(f->sound, (count + 1) * frame - f->kept, f->samples + f->kept, &samples));
  const int64_t frames = (f->kept + samples) / frame;
  f->ended = frames <= count;
  CLI_TRY(analyse(f, frames));
  *got = f->ended ? frames : count;
  f->kept = f->ended ? 0 : frame;
  if (f->take)
    CLI_TRY(f->take(f->taker, *got * frame, f->samples));
  memcpy(features, f->block, (size_t)*got * DAVIT_FEATURES_WIDTH * sizeof *features);
  memmove(f->samples, f->samples + *got * frame, (size_t)f->kept * sizeof *f->samples);
  return CLI_OK;
}

/* Elements of the file from number `first` on. */
static int take_elements(cli_frames *f, int64_t first, size_t count, void *elements) {
  const size_t size = cli_type_bytes(f->array.type);
  if (!f->array.data)
    return cli_elements_read(&f->input, &f->array, count, elements);
  memcpy(elements, (const char *)f->array.data + (size_t)first * size, count * size);
  return CLI_OK;
}

static int take_floats(cli_frames *f, int64_t first, size_t count, float *features) {
  double wide[WIDE_ELEMENTS];
  if (f->array.type == CLI_F4)
    return take_elements(f, first, count, features);
  for (size_t done = 0; done < count;) {
    const size_t left = count - done, most = WIDE_ELEMENTS, part = left < most ? left : most;
    CLI_TRY(take_elements(f, first + (int64_t)done, part, wide));
    for (size_t i = 0; i < part; i++)
      features[done + i] = (float)wide[i];
    done += part;
  }
  return CLI_OK;
}

static int check_finite(const cli_frames *f, int64_t frames, const float *features) {
  for (int64_t i = 0; i < frames * f->width; i++)
    if (!isfinite(features[i]))
      return cli_fail(CLI_INPUT,
                      "%s: frame %" PRId64 ", feature %" PRId64 ": expected a finite float32, found %g",
                      f->name, f->at + i / f->width, i % f->width, (double)features[i]);
  return CLI_OK;
}

static int read_array(cli_frames *f, int64_t count, float *features, int64_t *got) {
  const int64_t left = f->array.shape[0] - f->at;
  *got = left < count ? left : count;
  CLI_TRY(take_floats(f, f->at * f->width, (size_t)(*got * f->width), features));
  if (*got == left && !f->array.data)
    CLI_TRY(cli_file_end(&f->input));
  return check_finite(f, *got, features);
}

static int read_part(cli_frames *f, int64_t count, float *features, int64_t *got) {
  if (f->sound)
    return read_sound(f, count < block_frames(f) ? count : block_frames(f), features, got);
  return read_array(f, count, features, got);
}

int cli_frames_read(cli_frames *f, int64_t count, float *features, int64_t *got) {
  *got = 0;
  while (*got < count) {
    int64_t more = 0;
    CLI_TRY(read_part(f, count - *got, features + *got * f->width, &more));
    if (more == 0)
      break;
    f->at += more;
    *got += more;
  }
  if (f->at == 0 && count > 0)
    return cli_fail(CLI_INPUT,
                    "%s: expected at least one frame of %" PRId64 " samples at %g a second, found less",
                    f->name, f->options.frame, f->options.rate);
  return CLI_OK;
}

/* Frames that are still to come by what the file states; 0 where that is not checked. */
static size_t stated_frames(const cli_frames *f) {
  if (!(f->sound ? cli_sound_is_exact(f->sound) : f->input.sized))
    return 0;
  const double all = cli_frames_seconds(f) * f->options.rate / (double)f->options.frame;
  return (size_t)fmin(fmax(all - (double)f->at, 0), 0x1p48);
}

int cli_frames_append(cli_frames *f, cli_array *array, int64_t *got) {
  const size_t bytes = (size_t)f->width * sizeof(float);
  const int64_t fitting = dvt_at_most(PART_FRAMES, PART_BYTES / (int64_t)bytes),
                part = dvt_at_least(dvt_at_most(cli_frames_most(f), fitting), 1);
  const size_t room = (size_t)part * bytes;
  if (!array->ndim)
    *array = (cli_array){.type = CLI_F4, .ndim = 2, .shape = {0, f->width}};
  if (array->bytes == 0)
    CLI_TRY(cli_array_reserve(array, 0, stated_frames(f) * bytes + room));
  else if (array->bytes + room > array->capacity)
    CLI_TRY(cli_array_reserve(array, array->bytes, 2 * array->bytes + room));
  CLI_TRY(cli_frames_read(f, part, (float *)array->data + array->shape[0] * f->width, got));
  array->shape[0] += *got;
  array->bytes += (size_t)*got * bytes;
  return CLI_OK;
}
