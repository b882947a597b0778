/* SPDX-License-Identifier: Apache-2.0 */
/* Extreme arguments of every public function are refused or harmless, with a status and a sentence. */
#include "tests/interface.h"

/* Each argument of each function at its extremes: nothing crashes, and what fails says why. */
CASE(test_extreme_arguments) {
  for (int mode = OPTIONS_NULL; mode <= OPTIONS_ZERO; mode++)
    EACH_ROW(r) {
      options_mode = (options_choice)mode;
      if (perform(r, -1, 0) != DAVIT_SUCCESS && !strstr(r->name, "tuning") &&
          !strstr(r->name, "card_describe") && !strstr(r->name, "finalize"))
        fail_msg("%s: %s", r->name, davit_last_error());
      const int arguments = now.position;
      for (int argument = 0; argument < arguments; argument++) {
        int count = 1;
        for (int which = 0; which < count; which++) {
          if (which && which != now.refused_from && left_out())
            continue;
          const davit_status status = perform(r, argument, which);
          if (status == DAVIT_SUCCESS && which >= now.refused_from)
            fail_msg("%s: argument %d takes extreme %d", r->name, argument, which);
          if (status != DAVIT_SUCCESS)
            expect_named(r, argument, status);
          count = now.extremes;
        }
      }
    }
}

/* Offsets that are no sequences, with and without symbols. */
CASE(test_offsets_of_sequences) {
  static const uint8_t some_symbols[8] = {0};
  static const int64_t wrong[][3] = {
      {0, 2, 0}, {2, 0, 0}, {-1, 0, 0}, {0, INT64_MAX, 0}, {INT64_MIN, INT64_MAX, 0}, {0, 0, INT64_MAX}};
  for (int i = 0; i < COUNT(wrong); i++)
    for (int symbols = 0; symbols < 2; symbols++) {
      const davit_align_sequences bad = {2, wrong[i], symbols ? some_symbols : NULL};
      davit_align_database *made = NULL;
      REFUSED(davit_align_database_create(&bad, 2, &made, NULL), "targets->");
      assert_null(made);
    }
}

int main(void) {
  return run_cases(open_calls, close_calls);
}
