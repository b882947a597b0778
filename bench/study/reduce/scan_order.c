/* SPDX-License-Identifier: Apache-2.0 */
/* What the scans' members may be, and the scans' kernels on words. */
#include <string.h>

#include "bench/study/common/kernel.h"
#include "bench/study/reduce/scan.h"

const int study_scan_blocks[STUDY_SCAN_BLOCKS] = {32, 48, 64, 128, 256, 512, 1000, 1024};

davit_status study_scan_find(const study_scan *s, int *block_number) {
  if ((unsigned)s->op >= STUDY_OPERATORS)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "op is %d, which is no operator", (int)s->op);
  if ((unsigned)s->form >= STUDY_SCAN_FORMS)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "form is %d, which is no form", (int)s->form);
  for (*block_number = 0; *block_number < STUDY_SCAN_BLOCKS; ++*block_number)
    if (s->block == study_scan_blocks[*block_number])
      break;
  if (*block_number == STUDY_SCAN_BLOCKS)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "block is %d, which has no kernel", s->block);
  if (s->exclusive && s->form == STUDY_NAIVE)
    return davit_fail(DAVIT_UNSUPPORTED, "the naive scan is inclusive");
  return DAVIT_SUCCESS;
}

static study_printed_word join(study_printed_word left, study_printed_word right) {
  strncat(left.text, right.text, sizeof left.text - 1 - strlen(left.text));
  return left;
}

#define ELEMENT study_printed_word
#define COMBINE(left, right) join(left, right)
#define IDENTITY ((study_printed_word){""})
#define TYPE_NAME(name) scan_word_##name
#define TABLE word_table
#define HOST_ONLY
#include "bench/study/reduce/scan_sizes.inc"

davit_status study_scan_words(const study_scan *s, int64_t n, study_printed_word *words) {
  int block_number;
  davit_status status = study_scan_find(s, &block_number);
  if (status != DAVIT_SUCCESS)
    return status;
  if (n < 1 || n > s->block)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "n is %lld, a block takes 1 to %d", (long long)n, s->block);
  word_table[block_number]->form[s->form].block(0, n, words, words, NULL, s->exclusive);
  return DAVIT_SUCCESS;
}
