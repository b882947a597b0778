/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/frame/nearest.h"

#include <stdbool.h>
#include <string.h>

enum { MOST = 32 }; /* characters that are compared */

static int smaller(int a, int b) {
  return a < b ? a : b;
}

/* Optimal string alignment distance (Damerau 1964). */
static int distance_of(const char *a, const char *b) {
  int d[MOST + 1][MOST + 1];
  const int m = (int)strnlen(a, MOST), n = (int)strnlen(b, MOST);
  for (int i = 0; i <= m; i++)
    for (int j = 0; j <= n; j++) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = smaller(smaller(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = smaller(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[m][n];
}

/* Whether one of the two is the other and more words behind it: closest, closest_pair. */
static bool extends(const char *a, const char *b) {
  const size_t length = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
  return strlen(a) != strlen(b) && !strncmp(a, b, length) &&
         strchr("_-", strlen(a) > length ? a[length] : b[length]);
}

/* Whether the word is the beginning of the name, of three letters at least: --dev of --devices. */
static bool begins(const char *word, const char *name) {
  const size_t length = strlen(word);
  return length >= strspn(word, "-") + 3 && !strncmp(word, name, length);
}

void cli_nearest_try(cli_nearest *nearest, const char *name) {
  const bool part = extends(nearest->word, name) || begins(nearest->word, name);
  const int distance = part ? 1 : distance_of(nearest->word, name), most = (int)strlen(name) / 3;
  if (distance > (most > 1 ? most : 1) || (nearest->name && distance >= nearest->distance))
    return;
  nearest->name = name;
  nearest->distance = distance;
}
