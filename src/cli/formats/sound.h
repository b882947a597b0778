/* SPDX-License-Identifier: Apache-2.0 */
/* Sound as a stream of samples: every format that libsndfile reads, mixed to mono (the mean of the channels; a remark
 * says if they cancel each other) and resampled to one rate by soxr. Only a block of samples is in memory at a time.
 *
 * Functions that return an exit code print what is wrong first: the file, the place (frame, second) and what
 * was expected. */
#ifndef DAVIT_SRC_CLI_FORMATS_SOUND_H
#define DAVIT_SRC_CLI_FORMATS_SOUND_H

#include "src/cli/formats/input.h"

typedef struct cli_sound cli_sound;

/* Opens sound from `input`, which the caller keeps and must not close before. A pipe is copied to a
 * temporary file first, because most formats need seeking; if `live`, WAV and AU are read as they come. `rate`
 * is in samples per second. */
int cli_sound_open(cli_input *input, double rate, bool live, cli_sound **sound);
bool cli_sound_is_live(const cli_sound *sound);

/* Samples per second in the file. */
int cli_sound_stored_rate(const cli_sound *sound);

/* Another rate than that of cli_sound_open(), before anything is read. */
int cli_sound_set_rate(cli_sound *sound, double rate);
void cli_sound_close(cli_sound *sound); /* NULL is allowed */

/* The next `count` samples; *got is less than that at the end only. */
int cli_sound_read(cli_sound *sound, int64_t count, float *samples, int64_t *got);

/* The length that the file states, or 0. */
double cli_sound_seconds(const cli_sound *sound);

/* Whether that length is exact. In MPEG it is an estimate. */
bool cli_sound_is_exact(const cli_sound *sound);

#endif
