/* SPDX-License-Identifier: Apache-2.0 */
/* Texts from outside, such as names of files: what is a character of UTF-8, and what may reach a terminal. */
#ifndef DAVIT_SRC_BASE_TEXT_H
#define DAVIT_SRC_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* How many bytes the character of UTF-8 at `text` has; 0 where none is well-formed, and at the end of the text. */
static inline size_t dvt_character(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  const size_t bytes = *c < 0x80 ? *c > 0 : *c < 0xc2 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : *c < 0xf5 ? 4 : 0;
  for (size_t i = 1; i < bytes; i++)
    if ((c[i] & 0xc0) != 0x80)
      return 0;
  const bool too_long = (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xf0 && c[1] < 0x90);
  const bool no_character = (*c == 0xed && c[1] >= 0xa0) || (*c == 0xf4 && c[1] >= 0x90);
  return too_long || no_character ? 0 : bytes;
}

/* Whether a control character begins at `text`: C0, DEL, or C1, which begins commands of a terminal too. */
static inline bool dvt_is_control(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  return (*c > 0 && *c < ' ') || *c == 127 || (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0);
}

/* How many bytes the character at `text` has if it may be shown; 0 for a control character, for a byte that is not
 * UTF-8 (a terminal may take 0x9b alone for a command), and at the end of the text. */
static inline size_t dvt_printable(const char *text) {
  return dvt_is_control(text) ? 0 : dvt_character(text);
}

/* The first byte of a text that dvt_printable() refuses, NULL if there is none. */
static inline char *dvt_find_unprintable(char *text) {
  for (size_t bytes; *text; text += bytes)
    if (!(bytes = dvt_printable(text)))
      return text;
  return NULL;
}

/* Replaces every byte that may not be shown by '?', so that a message is one line and cannot command a terminal. */
static inline void dvt_make_printable(char *text) {
  for (char *c = text; (c = dvt_find_unprintable(c)) != NULL; *c++ = '?')
    if (dvt_is_control(c) && (unsigned char)*c == 0xc2)
      *c++ = '?';
}

#endif
