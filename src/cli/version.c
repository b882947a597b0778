/* SPDX-License-Identifier: Apache-2.0 */
/* davit version: the versions of davit and of what it is built with and runs on. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <blis.h>
#include <davit/version.h>
#include <link.h>
#include <string.h>

#include "src/cli/frame/job.h"

typedef struct versions {
  cli_job job;
  bool verbose;
} versions;

typedef struct library {
  const char *name, *path;
} library;

static int find_library(struct dl_phdr_info *loaded, size_t size, void *state) {
  library *wanted = state;
  (void)size;
  if (!strstr(loaded->dlpi_name, wanted->name))
    return 0;
  wanted->path = loaded->dlpi_name;
  return 1;
}

/* The file of a library that this process has loaded; its name ends in the version. */
static const char *path_of(const char *name) {
  library wanted = {.name = name, .path = "-"};
  dl_iterate_phdr(find_library, &wanted);
  return wanted.path;
}

static void report(cli_json *json, const void *state) {
  (void)state;
  cli_json_string(json, "version", davit_version());
  cli_json_string(json, "built_for", DAVIT_BUILT_FOR);
  cli_json_string(json, "cuda", DAVIT_BUILT_WITH_CUDA);
  cli_json_string(json, "compiler", __VERSION__);
  cli_json_string(json, "offload_runtime", path_of("/libomptarget.so"));
  cli_json_string(json, "openmp_runtime", path_of("/libomp.so"));
  cli_json_string(json, "blis", bli_info_get_version_str());
}

static void print(const void *state) {
  const versions *v = state;
  cli_json lines = {.file = stdout, .lines = true};
  printf("davit %s\n", davit_version());
  if (!v->verbose)
    return;
  cli_json_open_object(&lines, NULL);
  report(&lines, state);
  cli_json_close_object(&lines);
}

const cli_command cli_command_version = {
    .name = "version",
    .summary = "version of davit, and of what it was built with",
    .description = "Prints the version of davit, as 'davit --version' does.",
    .examples = "davit version -v\n",
    .options = CLI_OPTIONS(CLI_OPTION(FLAG, versions, verbose, "-v", NULL, .also = "--verbose",
                                      .help = "also print the targets, the versions of CUDA, the compiler "
                                              "and BLIS, and the paths of the runtimes")),
    .common = CLI_COMMON_JSON,
    .state = sizeof(versions),
    .print = print,
    .report = report,
};
