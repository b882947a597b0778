/* SPDX-License-Identifier: Apache-2.0 */
/* How a tuning file begins: this word, a tab, the version of davit that wrote it, the end of the line. */
#ifndef DAVIT_SRC_BASE_TUNING_FILE_H
#define DAVIT_SRC_BASE_TUNING_FILE_H

#define DVT_TUNING_FILE "davit-tuning"

#endif
