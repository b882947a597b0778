/* SPDX-License-Identifier: Apache-2.0 */
/* The environment variables that the OpenMP runtimes read when they are loaded, which is before main(). LLVM's ends the
 * process by an assertion, crashes or hangs with some values of them, or prints where results belong. The tool takes such
 * variables out of its environment before that, so that defaults take their places, and those of its children (davit
 * bench) too. */
#ifndef DAVIT_SRC_CLI_FRAME_OPENMP_ENVIRONMENT_H
#define DAVIT_SRC_CLI_FRAME_OPENMP_ENVIRONMENT_H

/* Prints a sentence on standard error for each variable that was taken out. */
void cli_openmp_environment_report(void);

#endif
