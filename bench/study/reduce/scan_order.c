/* SPDX-License-Identifier: Apache-2.0 */
/* What the scans' members may be, and the scans' kernels on words. */
#include "bench/study/common/kernel.h"
#include "bench/study/reduce/scan.h"

#define TEXT "bench/study/reduce/scan.inc"
#define FORMS study_scan_forms
#define WANTED(block) ((block) >= 32)
#define T study_printed_word
#define COMBINE(left, right) study_printed_join(left, right)
#define IDENTITY ((study_printed_word){""})
#define GROUP word
#include "bench/study/common/forms.inc"

davit_status study_scan_check(const study_scan *s) {
  STUDY_REQUIRE((unsigned)s->op < STUDY_OPERATORS, "op is %d, which is no operator", (int)s->op);
  STUDY_REQUIRE((unsigned)s->form < STUDY_SCAN_FORMS, "form is %d, which is no form", (int)s->form);
  STUDY_REQUIRE(word_forms(s->block), "block is %d, which has no kernel", s->block);
  if (s->exclusive && s->form == STUDY_NAIVE)
    return davit_fail(DAVIT_UNSUPPORTED, "the naive scan is inclusive");
  return DAVIT_SUCCESS;
}

davit_status study_scan_words(const study_scan *s, int64_t n, study_printed_word *words) {
  const study_site on_cpu = {.gpu = false};
  DVT_TRY(study_scan_check(s));
  STUDY_REQUIRE(n >= 1 && n <= s->block, "n is %lld, a block takes 1 to %d", (long long)n, s->block);
  word_forms(s->block)->form[s->form](&on_cpu, 1, 0, n, words, words, NULL, s->exclusive);
  return DAVIT_SUCCESS;
}
