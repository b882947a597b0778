/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning files. If the first byte of an input is odd, the line that names this version comes first. Every
 * file can be loaded; its entries are in range, those of one device and parameter once, and come back
 * unchanged when the table is saved. A pipe is refused. */
#include <davit/tuning.h>
#include <davit/version.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

enum { MOST = 512 };
static davit_tuning_parameter parameters[MOST];
static int parameter_count;
static char saved[64];

static void remove_saved(void) {
  unlink(saved);
}

static void prepare(void) {
  if (*saved)
    return;
  snprintf(saved, sizeof saved, "%s/davit-fuzz-%d.tsv", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm",
           (int)getpid());
  FUZZ_REQUIRE(!atexit(remove_saved));
  FUZZ_REQUIRE(davit_tuning_parameters(MOST, parameters, &parameter_count) == DAVIT_SUCCESS);
  FUZZ_REQUIRE(parameter_count <= MOST);
}

static int list(davit_tuning_entry *entries) {
  int count;
  FUZZ_REQUIRE(davit_tuning_list(MOST, entries, &count) == DAVIT_SUCCESS);
  FUZZ_REQUIRE(count >= 0 && count <= MOST);
  return count;
}

static void check_entry(const davit_tuning_entry *e) {
  int found = 0;
  FUZZ_REQUIRE(*e->device && memchr(e->device, 0, sizeof e->device));
  for (int i = 0; i < parameter_count; i++)
    if (!strcmp(e->capability, parameters[i].capability) && !strcmp(e->parameter, parameters[i].parameter)) {
      FUZZ_REQUIRE(e->value >= parameters[i].minimum && e->value <= parameters[i].maximum);
      found++;
    }
  FUZZ_REQUIRE(found == 1 && e->seconds >= 0);
}

static bool is_same_key(const davit_tuning_entry *a, const davit_tuning_entry *b) {
  return !strcmp(a->device, b->device) && !strcmp(a->capability, b->capability) &&
         !strcmp(a->parameter, b->parameter);
}

static void check_saved(const davit_tuning_entry *entries, int count) {
  static davit_tuning_entry again[MOST];
  char text[1024];
  FUZZ_REQUIRE(davit_tuning_save(saved) == DAVIT_SUCCESS);
  FUZZ_REQUIRE(davit_tuning_load(saved) == DAVIT_SUCCESS);
  FUZZ_REQUIRE(list(again) == count);
  for (int i = 0; i < count; i++)
    FUZZ_REQUIRE(is_same_key(&entries[i], &again[i]) && entries[i].value == again[i].value &&
                 fabs(entries[i].seconds - again[i].seconds) <= 1e-15 * entries[i].seconds);
  FUZZ_REQUIRE(davit_tuning_warning(sizeof text, text) == DAVIT_SUCCESS);
  FUZZ_REQUIRE(!strstr(text, "malformed") && !strstr(text, "not know") && !strstr(text, "only the first"));
}

static fuzz_text with_version(bool wanted, fuzz_text text) {
  static const char line[] = "davit-tuning\t" DAVIT_VERSION "\n";
  static unsigned char bytes[sizeof line + FUZZ_BYTES];
  if (!wanted)
    return text;
  memcpy(bytes, line, sizeof line - 1);
  memcpy(bytes + sizeof line - 1, text.bytes, text.size);
  return (fuzz_text){bytes, sizeof line - 1 + text.size};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static davit_tuning_entry entries[MOST];
  const bool versioned = fuzz_byte(&data, &size) % 2;
  const fuzz_text text = with_version(versioned, fuzz_expand(data, size));
  char warning[1024];
  prepare();
  FUZZ_REQUIRE(davit_tuning_load(fuzz_file(text)) == DAVIT_SUCCESS);
  const int count = list(entries);
  for (int i = 0; i < count; i++) {
    check_entry(&entries[i]);
    for (int k = 0; k < i; k++)
      FUZZ_REQUIRE(!is_same_key(&entries[i], &entries[k]));
  }
  FUZZ_REQUIRE(davit_tuning_warning(sizeof warning, warning) == DAVIT_SUCCESS);
  FUZZ_REQUIRE(memchr(warning, 0, sizeof warning));
  FUZZ_REQUIRE(davit_tuning_load(fuzz_pipe(text)) == DAVIT_INVALID_ARGUMENT);
  if (count > 0)
    check_saved(entries, count);
  fuzz_accept(0);
  return 0;
}
