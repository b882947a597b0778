/* --rate, --frame and --binning of features and detect. */
#ifndef DAVIT_SRC_CLI_SOUND_OPTIONS_H
#define DAVIT_SRC_CLI_SOUND_OPTIONS_H

#include <davit/features.h>

#include "src/cli/frame/command.h"

static const cli_choice cli_binnings[] = {
    {"shared", DAVIT_FEATURES_BINNING_SHARED, "to both in proportion to the overlap"},
    {"hard", DAVIT_FEATURES_BINNING_HARD, "to the band in which the line lies"},
    {0}};

/* The rows; the state has davit_features_options `sound`, with cli_sound_defaults. */
#define CLI_SOUND_OPTIONS(type)                                                                              \
  {.name = "rate",                                                                                           \
   .argument = "R",                                                                                          \
   .kind = CLI_REAL,                                                                                         \
   CLI_AT(type, sound.rate),                                                                                 \
   .minimum = 1,                                                                                             \
   .maximum = 1e9,                                                                                           \
   .help = "samples per second; sound of another rate is resampled"},                                        \
      {.name = "frame",                                                                                      \
       .argument = "N",                                                                                      \
       .kind = CLI_WHOLE,                                                                                    \
       CLI_AT(type, sound.frame),                                                                            \
       .minimum = 2,                                                                                         \
       .maximum = DAVIT_FEATURES_FRAME_MAXIMUM,                                                              \
       .help = "samples in a frame"},                                                                        \
      {.name = "binning",                                                                                    \
       .argument = "B",                                                                                      \
       .kind = CLI_CHOICE,                                                                                   \
       CLI_AT(type, sound.binning),                                                                          \
       .choices = cli_binnings,                                                                              \
       .value = "shared",                                                                                    \
       .help = "power of a spectral line on the edge of two bands"}

static const davit_features_options cli_sound_defaults = {.rate = DAVIT_FEATURES_RATE,
                                                          .frame = DAVIT_FEATURES_FRAME};

#endif
