/* SPDX-License-Identifier: Apache-2.0 */
/* davit features: feature vectors of sound. */
#include <math.h>

#include "src/cli/formats/frames.h"
#include "src/cli/frame/job.h"
#include "src/cli/sound_options.h"

typedef struct extraction {
  cli_job job;
  const char *path;
  davit_features_options sound;
  cli_frames frames;
  cli_array features;
} extraction;

static void set_defaults(void *state) {
  extraction *x = state;
  x->sound = cli_sound_defaults;
}

static double seconds_of(const extraction *x, int64_t frames) {
  return (double)frames * (double)x->sound.frame / x->sound.rate;
}

static int load(void *state) {
  extraction *x = state;
  CLI_TRY(cli_frames_open(x->path, &x->sound, false, &x->frames));
  x->frames.check = x->job.common.check;
  return x->frames.sound ? CLI_OK
                         : cli_fail(CLI_INPUT, "%s: expected sound, found a .npy file", x->frames.name);
}

static int run(void *state) {
  extraction *x = state;
  for (int64_t got = 1; got > 0;) {
    cli_progress_at(&x->job.progress, seconds_of(x, x->frames.at), cli_frames_seconds(&x->frames),
                    "seconds of sound");
    CLI_TRY(cli_frames_append(&x->frames, &x->features, &got));
  }
  x->job.seconds.median = x->frames.seconds;
  return CLI_OK;
}

/* A transform in float loses eps times the logarithm of its length; the reference works in double. */
static int check(void *state, cli_check *check) {
  const extraction *x = state;
  const double eps = cli_epsilon(CLI_F4);
  *check =
      (cli_check){.measure = "|f - f_ref| / (power of the frame and the next) <= 4 eps (log2(frame) + 4)",
                  .error = x->frames.error,
                  .bound = 4 * eps * (log2((double)x->sound.frame) + 4)};
  return CLI_OK;
}

static void report(cli_json *json, const void *state) {
  const extraction *x = state;
  cli_json_integer(json, "frames", x->features.shape[0]);
  cli_json_integer(json, "width", x->features.shape[1]);
  cli_json_real(json, "rate", x->sound.rate);
  cli_json_integer(json, "frame", x->sound.frame);
  cli_json_string(json, "binning", cli_choice_name(cli_binnings, (int)x->sound.binning));
  cli_json_real(json, "sound_seconds", seconds_of(x, x->features.shape[0]));
}

static void release(void *state) {
  extraction *x = state;
  cli_frames_close(&x->frames);
}

const cli_command cli_command_features = {
    .name = "features",
    .summary = "feature vectors of a sound",
    .description = "Computes the audio spectrum envelope of each frame (31 bands) and its change (31 more): "
                   "frames x 62 float32, in C order.",
    .examples = "davit features door.wav -o door.npy\n"
                "davit features stream.wav --frame 2048 --json -o stream.npy\n",
    .operands = CLI_PLACES(
        CLI_PLACE(extraction, path, "SOUND", "anything that libsndfile reads; channels are averaged")),
    .options = CLI_OPTIONS(CLI_OPTION(OUTPUT, extraction, job.output, "-o", "F", .required = true,
                                      .help = "write the features: " CLI_ARRAY_FORMATS),
                           CLI_SOUND_OPTIONS(extraction, .otherwise = NULL)),
    .common = CLI_COMMON_THREADS | CLI_COMMON_RUN | CLI_COMMON_CHECK | CLI_COMMON_FORCE,
    .state = sizeof(extraction),
    .arrays = CLI_ARRAYS(CLI_FREED(extraction, features)),
    .result = offsetof(extraction, features),
    .defaults = set_defaults,
    .read = load,
    .run = run,
    .check = check,
    .report = report,
    .release = release,
};
