/* SPDX-License-Identifier: Apache-2.0 */
/* Texts from outside, such as names of files, in messages. */
#ifndef DAVIT_SRC_BASE_TEXT_H
#define DAVIT_SRC_BASE_TEXT_H

#include <stddef.h>

/* The first control character of a text in UTF-8, NULL if it has none. */
static inline char *dvt_find_control(char *text) {
  for (unsigned char *c = (unsigned char *)text; *c; c++)
    if (*c < ' ' || *c == 127 || (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0))
      return (char *)c;
  return NULL;
}

/* Replaces every byte of control characters by '?', so that a message is one line and cannot command a
 * terminal. */
static inline void dvt_make_printable(char *text) {
  for (char *c = text; (c = dvt_find_control(c)) != NULL; *c++ = '?')
    if ((unsigned char)*c == 0xc2)
      *c++ = '?';
}

#endif
