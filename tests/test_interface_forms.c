/* SPDX-License-Identifier: Apache-2.0 */
/* Options of every public function are NULL or {0} for the defaults, and their reserved words are 0; queue forms take
 * no devices. */
#include "tests/interface.h"

/* Reserved words are 0. */
CASE(test_reserved_words) {
  int words = 0;
  options_mode = OPTIONS_RESERVED;
  EACH_ROW(r) {
    reserved_word = 0;
    do {
      char sentence[64];
      const davit_status status = perform(r, -1, 0);
      if (seen.words == 0)
        break;
      snprintf(sentence, sizeof sentence, "options->reserved[%d] is 7", reserved_word);
      if (status != DAVIT_INVALID_ARGUMENT || !strstr(davit_last_error(), sentence))
        fail_msg("%s: \"%s\"", r->name, davit_last_error());
      words++;
    } while (++reserved_word < seen.words);
  }
  assert_true(words > 100);
}

/* The same for structs that are arguments. */
CASE(test_reserved_words_of_arguments) {
  static const int8_t matrix[4] = {1, -1, -1, 1};
  static const uint8_t symbols[8] = {1, 0, 0, 1};
  static const int64_t offsets[3] = {0, 3, 8};
  const davit_align_sequences targets = {.count = 2, .offsets = offsets, .symbols = symbols};
  davit_align_scoring scoring = {.symbols = 2, .matrix = matrix, .gap_open = 2, .gap_extend = 1};
  davit_align_database *database = NULL;
  davit_occupancy_card card;
  const davit_occupancy_block block = {.threads = 128};
  davit_occupancy_result result;
  int32_t scores[2];
  CHECK(davit_align_database_create(&targets, 2, &database, NULL));
  CHECK(davit_occupancy_card_find("A100", &card));
  CHECK(davit_align_scores(database, &scoring, 4, symbols, scores));
  CHECK(davit_occupancy(&card, &block, &result, NULL));
  for (int k = 0; k < 3; k++) {
    char words[64];
    snprintf(words, sizeof words, "scoring->reserved[%d] is 1", k);
    scoring.reserved[k] = 1;
    REFUSED(davit_align_scores(database, &scoring, 4, symbols, scores), words);
    scoring.reserved[k] = 0;
  }
  for (int k = 0; k < 4; k++) {
    char words[64];
    snprintf(words, sizeof words, "card->reserved[%d] is 1", k);
    card.reserved[k] = 1;
    REFUSED(davit_occupancy(&card, &block, &result, NULL), words);
    card.reserved[k] = 0;
  }
  CHECK(davit_align_database_destroy(database));
}

/* A queue has its device. */
CASE(test_queue_forms_take_no_devices) {
  int forms = 0;
  options_mode = OPTIONS_DEVICES;
  EACH_ROW(r) {
    const davit_status status = perform(r, -1, 0);
    if (seen.words == 0 || seen.device_count == 0)
      continue;
    if (is_queue_form(r) &&
        (status != DAVIT_INVALID_ARGUMENT || !strstr(davit_last_error(), "options->devices")))
      fail_msg("%s: \"%s\"", r->name, davit_last_error());
    if (!is_queue_form(r) && status != DAVIT_SUCCESS)
      fail_msg("%s on the host: \"%s\"", r->name, davit_last_error());
    forms += is_queue_form(r);
  }
  assert_int_equal(forms, 122);
}

/* {0} is the default. */
CASE(test_default_options) {
  EACH_ROW(r) {
    options_mode = OPTIONS_NULL;
    const davit_status status = perform(r, -1, 0);
    remember_results();
    options_mode = OPTIONS_ZERO;
    if (perform(r, -1, 0) != status || (seen.words > 0 && !results_are_as_remembered()))
      fail_msg("%s: {0} and NULL differ", r->name);
  }
}

int main(void) {
  return run_cases(open_calls, close_calls);
}
