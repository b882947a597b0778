/* SPDX-License-Identifier: Apache-2.0 */
/* --rate, --frame and --binning of features and detect. */
#ifndef DAVIT_SRC_CLI_SOUND_OPTIONS_H
#define DAVIT_SRC_CLI_SOUND_OPTIONS_H

#include <davit/features.h>

#include "src/cli/frame/command.h"

static const cli_choice cli_binnings[] = {
    {"shared", DAVIT_FEATURES_BINNING_SHARED, "in both, in proportion to the overlap"},
    {"hard", DAVIT_FEATURES_BINNING_HARD, "in the band that contains the line"},
    {0}};

/* The rows; the state has davit_features_options `sound`, with cli_sound_defaults. What follows belongs to
 * the row of --frame. */
#define CLI_SOUND_OPTIONS(type, ...)                                                                         \
  CLI_OPTION(REAL, type, sound.rate, "--rate", "R", .minimum = 1, .maximum = 1e9,                            \
             .help = "samples per second; other rates are resampled"),                                       \
      CLI_OPTION(WHOLE, type, sound.frame, "--frame", "N", .minimum = 2,                                     \
                 .maximum = DAVIT_FEATURES_FRAME_MAXIMUM, .help = "samples in a frame", __VA_ARGS__),        \
      CLI_OPTION(CHOICE, type, sound.binning, "--binning", "B", .choices = cli_binnings, .value = "shared",  \
                 .help = "where the power of a spectral line at the edge of two bands counts")

static const davit_features_options cli_sound_defaults = {.rate = DAVIT_FEATURES_RATE,
                                                          .frame = DAVIT_FEATURES_FRAME};

#endif
