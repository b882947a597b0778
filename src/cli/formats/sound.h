/* SPDX-License-Identifier: Apache-2.0 */
/* Sound as a stream of samples: whatever libsndfile reads, mixed to mono (the mean of the channels) and brought to one rate
 * by soxr. A block of samples is in memory at a time, never the whole.
 *
 * Functions with an exit code have said what is wrong: the file, the place (frame, second) and what was expected. */
#ifndef DAVIT_SRC_CLI_FORMATS_SOUND_H
#define DAVIT_SRC_CLI_FORMATS_SOUND_H

#include "src/cli/formats/input.h"

typedef struct cli_sound cli_sound;

/* Sound from `input`, which stays the caller's and must outlive it. A pipe is copied to a temporary file first, as
 * most formats want to be read here and there. `rate` is in samples a second. */
int cli_sound_open(cli_input *input, double rate, cli_sound **sound);
void cli_sound_close(cli_sound *sound); /* NULL is allowed */

/* The next `count` samples; *got is less than that at the end only. */
int cli_sound_read(cli_sound *sound, int64_t count, float *samples, int64_t *got);

/* As the file says, 0 if it does not say. */
double cli_sound_seconds(const cli_sound *sound);

#endif
