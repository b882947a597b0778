/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder's kernels on strings, joined end to end: the result spells the order in which a block combines
 * its operands. */
#include <stdlib.h>
#include <string.h>

#include "bench/study/common/kernel.h"
#include "bench/study/reduce/printed.h"
#include "bench/study/reduce/reduce.h"

enum { LETTERS = 256 };

#define TEXT "bench/study/reduce/reduce.inc"
#define FORMS study_reduce_forms
#define WANTED(block) ((block) != 48 && (block) != 1000)
#define T study_printed_word
#define COMBINE(left, right) study_printed_join(left, right)
#define IDENTITY ((study_printed_word){""})
#define COMMUTES
#define GROUP word
#include "bench/study/common/forms.inc"

davit_status study_combination_order(const study_reduction *r, const char *letters, char *order) {
  const study_site on_cpu = {.gpu = false};
  study_reduce_form form;
  DVT_TRY(study_reduction_find(r, true, &form));
  const int64_t n = (int64_t)strlen(letters);
  STUDY_REQUIRE(n >= 1 && n <= LETTERS && study_partials(r, n) == 1,
                "letters are %lld, more than one block takes", (long long)n);
  study_printed_word *words = calloc((size_t)n + 1, sizeof *words); /* the result comes last */
  if (!words)
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for %lld words", (long long)n);
  for (int64_t i = 0; i < n; i++)
    words[i].text[0] = letters[i];
  word_forms(r->block)->form[form](&on_cpu, 1, &words[n], words, n);
  strcpy(order, words[n].text);
  free(words);
  return DAVIT_SUCCESS;
}
