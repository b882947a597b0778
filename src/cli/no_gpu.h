/* SPDX-License-Identifier: Apache-2.0 */
/* Why no GPU was found. */
#ifndef DAVIT_SRC_CLI_NO_GPU_H
#define DAVIT_SRC_CLI_NO_GPU_H

/* What davit was built for and with, as `davit version -v` prints it, and the file of NVIDIA's driver. */
typedef struct cli_gpu_build {
  const char *targets, *cuda, *driver;
} cli_gpu_build;

enum { CLI_NO_GPU_TEXT = 512 };

/* The reason in words, after "no GPU: ", where the runtime has named none. */
void cli_no_gpu(const cli_gpu_build *build, char text[static CLI_NO_GPU_TEXT]);

#endif
