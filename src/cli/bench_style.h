/* SPDX-License-Identifier: Apache-2.0 */
/* The style sheet of the page of results. */
#ifndef DAVIT_SRC_CLI_BENCH_STYLE_H
#define DAVIT_SRC_CLI_BENCH_STYLE_H

extern const char bench_style[];

#endif
