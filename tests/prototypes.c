/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/prototypes.h"

#include <ctype.h>
#include <dirent.h>

#include "tests/support.h"

static char headers[1 << 18]; /* all of the library's */

/* Found once: AddressSanitizer's strstr() measures all that is left each time. */
enum { MOST = 2048 };
static const char *prototypes[MOST];
static int prototype_count;

void read_prototypes(const char *headers_folder) {
  size_t used = 0;
  if (prototype_count > 0)
    return;
  DIR *folder = opendir(headers_folder);
  assert_non_null(folder);
  for (const struct dirent *entry; (entry = readdir(folder));) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", headers_folder, entry->d_name);
    FILE *file = strstr(entry->d_name, ".h") ? fopen(path, "r") : NULL;
    used += file ? fread(headers + used, 1, sizeof headers - 1 - used, file) : 0;
    if (file)
      fclose(file);
  }
  closedir(folder);
  assert_in_range(used, 1, sizeof headers - 2);
  for (const char *at = headers; (at = strstr(at, "DAVIT_API ")); at++) {
    assert_in_range(prototype_count, 0, MOST - 1);
    prototypes[prototype_count++] = at;
  }
}

static bool is_word(char c) {
  return isalnum(c) || c == '_';
}

const char *argument_name(const char *function, int n) {
  static char name[64];
  const size_t length = strlen(function);
  for (int p = 0; p < prototype_count; p++) {
    const char *open = strchr(prototypes[p], '(');
    if (strncmp(open - length, function, length) != 0 || is_word(open[-(ptrdiff_t)length - 1]))
      continue;
    for (int i = 0; i < n; i++)
      open = strchr(open + 1, ',');
    const char *end = open + 1 + strcspn(open + 1, ",)"), *begin = end;
    while (is_word(begin[-1]))
      begin--;
    snprintf(name, sizeof name, "%.*s", (int)(end - begin), begin);
    return name;
  }
  fail_msg("%s has no prototype", function);
  return NULL;
}
