/* What the scans' members may be, and the scans' kernels on words. */
#include <string.h>

#include "bench/study/phase.h"
#include "bench/study/scan.h"

const int dvt_study_scan_blocks[DVT_STUDY_SCAN_BLOCKS] = {32, 48, 64, 128, 256, 512, 1000, 1024};

davit_status dvt_study_scan_find(const dvt_study_scan *s, int *block_number) {
  if ((unsigned)s->op >= DVT_STUDY_OPERATORS)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "op is %d, which is no operator", (int)s->op);
  if ((unsigned)s->form >= DVT_STUDY_SCAN_FORMS)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "form is %d, which is no form", (int)s->form);
  for (*block_number = 0; *block_number < DVT_STUDY_SCAN_BLOCKS; ++*block_number)
    if (s->block == dvt_study_scan_blocks[*block_number])
      break;
  if (*block_number == DVT_STUDY_SCAN_BLOCKS)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "block is %d, which has no kernel", s->block);
  if (s->exclusive && s->form == DVT_STUDY_NAIVE)
    return davit_fail(DAVIT_UNSUPPORTED, "the naive scan is inclusive");
  return DAVIT_SUCCESS;
}

static dvt_study_printed_word join(dvt_study_printed_word left, dvt_study_printed_word right) {
  strncat(left.text, right.text, sizeof left.text - 1 - strlen(left.text));
  return left;
}

#define ELEMENT dvt_study_printed_word
#define COMBINE(left, right) join(left, right)
#define IDENTITY ((dvt_study_printed_word){""})
#define TYPE_NAME(name) scan_word_##name
#define TABLE word_table
#define HOST_ONLY
#include "bench/study/scan_sizes.h"

davit_status dvt_study_scan_words(const dvt_study_scan *s, int64_t n, dvt_study_printed_word *words) {
  int block_number;
  davit_status status = dvt_study_scan_find(s, &block_number);
  if (status != DAVIT_SUCCESS)
    return status;
  if (n < 1 || n > s->block)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "n is %lld, a block takes 1 to %d", (long long)n, s->block);
  word_table[block_number]->form[s->form].block(0, n, words, words, NULL, s->exclusive);
  return DAVIT_SUCCESS;
}
