/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the introduction of the source on the closest pair: how arrays of structures lie in memory, kinds
 * of memory, and two streams. --elements is how many pixels or points there are. */
#ifndef DAVIT_STUDY_INTRODUCTION_H
#define DAVIT_STUDY_INTRODUCTION_H

#include "bench/study/program.h"

void study_table_layouts(const study_options *o);
void study_table_memory(const study_options *o);
void study_table_streams(const study_options *o);

#endif
