/* davit features: feature vectors of sound. */
#include <davit/features.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/cli/formats/frames.h"
#include "src/cli/frame/old_job.h"
#include "src/cli/frame/progress.h"

typedef struct extraction {
  cli_old_job job;
  davit_features_options options;
  cli_frames sound;
  cli_array features;
} extraction;

/* ---- check ---- */

/* A transform in float loses eps times the logarithm of its length; the reference works in double. */
static cli_check check_of(const extraction *x) {
  const double eps = 1.1920929e-07;
  return (cli_check){.measure = "|f - f_ref| / (power of the frame and the next) <= 4 eps (log2(frame) + 4)",
                     .error = x->sound.error,
                     .bound = 4 * eps * (log2((double)x->options.frame) + 4)};
}

/* ---- report ---- */

static double sound_seconds(const extraction *x) {
  return (double)x->features.shape[0] * (double)x->options.frame / x->options.rate;
}

static void print_text(FILE *file, const void *state) {
  const extraction *x = state;
  fprintf(file, "%" PRId64 " frames of %" PRId64 " samples, %g a second: %.3f s of sound\n%.6g s\n",
          x->features.shape[0], x->options.frame, x->options.rate, sound_seconds(x), x->job.seconds);
}

static void print_json(cli_json *json, const void *state) {
  const extraction *x = state;
  cli_json_integer(json, "frames", x->features.shape[0]);
  cli_json_integer(json, "width", x->features.shape[1]);
  cli_json_real(json, "rate", x->options.rate);
  cli_json_integer(json, "frame", x->options.frame);
  cli_json_string(json, "binning", x->options.binning == DAVIT_FEATURES_BINNING_HARD ? "hard" : "shared");
  cli_json_real(json, "sound_seconds", sound_seconds(x));
}

/* ---- command ---- */

static int open_sound(extraction *x, const char *path) {
  const int code = cli_frames_open(path, &x->options, &x->sound);
  x->sound.check = x->job.common.check;
  if (code == CLI_OK && !x->sound.sound)
    return cli_fail(CLI_INPUT, "%s: expected sound, found a .npy file", x->sound.name);
  return code;
}

static int extract(extraction *x) {
  cli_progress progress;
  cli_progress_start(&progress, x->job.command->name, x->job.common.quiet);
  const int code = cli_frames_read_all(&x->sound, &x->features);
  cli_progress_stop(&progress);
  x->job.seconds = x->sound.seconds;
  if (x->job.common.check)
    x->job.check = check_of(x);
  return code;
}

static int compute(extraction *x, const cli_command *self, const char *path, const char *output) {
  static const cli_old_job_report report = {print_text, print_json};
  x->job.common.devices = "cpu";
  int code = cli_old_job_open(&x->job, self, output);
  if (code == CLI_OK)
    code = open_sound(x, path);
  if (code == CLI_OK)
    code = extract(x);
  return code == CLI_OK ? cli_old_job_finish(&x->job, &x->features, &report, x) : code;
}

static int run(const cli_command *self, int argc, char **argv) {
  extraction x = {0};
  cli_frames_options given = {0};
  const char *path, *output = NULL;
  const cli_old_option options[] = {{"o", CLI_OLD_TEXT, &output},
                                    {"rate", CLI_OLD_REAL, &given.rate},
                                    {"frame", CLI_OLD_SIZE, &given.frame},
                                    {"binning", CLI_OLD_TEXT, &given.binning},
                                    {0}};
  int code = cli_old_parse(self, options, argc, argv, &x.job.common, &path, 1);
  if (code == CLI_OK && !output)
    code = cli_fail(CLI_USAGE, "-o is missing");
  if (code == CLI_OK)
    code = cli_frames_options_read(&given, &x.options);
  if (code == CLI_OK)
    code = compute(&x, self, path, output);
  cli_old_job_close(&x.job);
  cli_frames_close(&x.sound);
  cli_array_free(&x.features);
  return code;
}

const cli_command cli_command_features = {
    .name = "features",
    .summary = "feature vectors of sound",
    .usage =
        "davit features SOUND -o F [options]\n\n"
        "The audio spectrum envelope of each frame (31 bands) and its change (31 more): frames x 62 "
        "float32, in C\n"
        "order. SOUND is anything that libsndfile reads; channels are averaged, and the rate is brought to "
        "--rate.\n\n"
        "  -o F             the file (.npy, or .mtx when the name ends so)\n"
        "  --rate R         samples a second (default 22050)\n"
        "  --frame N        samples of a frame (default 1024)\n"
        "  --binning B      spectral lines on the edge of two bands: shared (default) or hard, all to "
        "one\n",
    .common = CLI_COMMON_JSON | CLI_COMMON_CHECK | CLI_COMMON_QUIET,
    .old_run = run,
};
