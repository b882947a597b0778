/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/formats/names.h"

#include <stdbool.h>
#include <string.h>

#include "src/base/text.h"

static const char replacement[] = "\ufffd";

/* ---- what a format can hold ---- */

/* A byte from 0x80 to 0x9f that belongs to no character is a control character of Latin-1. Other such bytes are its
 * letters, and stand in a table as they stand in the file. */
static bool has_control(const char *name) {
  for (size_t bytes; *name; name += bytes ? bytes : 1) {
    const unsigned char c = (unsigned char)*name;
    bytes = dvt_character(name);
    if (dvt_is_control(name) || (!bytes && c >= 0x80 && c < 0xa0))
      return true;
  }
  return false;
}

static bool is_utf8(const char *name) {
  size_t bytes;
  while ((bytes = dvt_character(name)))
    name += bytes;
  return !*name;
}

static bool has_only(const char *name, const char *signs) {
  for (; *name; name++) {
    const bool letter = (*name >= 'A' && *name <= 'Z') || (*name >= 'a' && *name <= 'z'),
               digit = *name >= '0' && *name <= '9';
    if (!letter && !digit && !strchr(signs, *name))
      return false;
  }
  return true;
}

/* QNAME of the SAM specification 1.6, section 1.4: [!-?A-~]{1,254}; '*' says that there is no name. */
static bool is_sam_query(const char *name) {
  enum { MOST = 254 };
  const size_t length = strlen(name);
  for (const char *c = name; *c; c++)
    if (*c < '!' || *c > '~' || *c == '@')
      return false;
  return length > 0 && length <= MOST && strcmp(name, "*") != 0;
}

/* RNAME, section 1.2.1: [0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]* */
static bool is_sam_target(const char *name) {
  return *name && *name != '*' && *name != '=' && has_only(name, "!#$%&*+./:;=?@^_|~-");
}

const char *cli_name_refused(cli_name_format format, const char *name) {
  switch (format) {
  case CLI_NAME_SAM_QUERY:
    return is_sam_query(name)
               ? NULL
               : "a name that SAM allows, of at most 254 characters from '!' to '~' without '@', and not '*'";
  case CLI_NAME_SAM_TARGET:
    return is_sam_target(name) ? NULL
                               : "a name that SAM allows, of letters, digits and !#$%&*+./:;=?@^_|~-, which "
                                 "does not begin with '*' or '='";
  case CLI_NAME_JSON:
    return is_utf8(name) ? NULL : "a name in UTF-8, as JSON needs";
  default:
    return has_control(name) ? "a name without control characters" : NULL;
  }
}

void cli_name_clean(const char *from, char *to) {
  while (*from) {
    const size_t bytes = dvt_character(from);
    if (dvt_is_control(from))
      *to++ = '?';
    else if (bytes)
      to = (char *)memcpy(to, from, bytes) + bytes;
    else
      to = (char *)memcpy(to, replacement, sizeof replacement - 1) + (sizeof replacement - 1);
    from += bytes ? bytes : 1;
  }
  *to = 0;
}

/* ---- writing ---- */

void cli_write_plain(FILE *file, const char *text) {
  while (*text) {
    const size_t bytes = dvt_character(text);
    if (dvt_printable(text))
      fwrite(text, 1, bytes, file);
    else
      putc('?', file);
    text += bytes ? bytes : 1;
  }
}

void cli_write_quoted(FILE *file, const char *text) {
  putc('"', file);
  while (*text) {
    const size_t bytes = dvt_character(text);
    if (*text == '"' || *text == '\\')
      fprintf(file, "\\%c", *text);
    else if (dvt_is_control(text))
      fprintf(file, "\\u%04x", (unsigned char)text[bytes - 1]); /* the last byte is its code */
    else if (bytes)
      fwrite(text, 1, bytes, file);
    else
      fputs(replacement, file);
    text += bytes ? bytes : 1;
  }
  putc('"', file);
}

/* XML has no U+FFFE and U+FFFF, and of the control characters only the ends of lines and the tab. */
static bool is_allowed(const char *text, size_t bytes) {
  const bool no_character = bytes == 3 && (memcmp(text, "\uffff", 3) == 0 || memcmp(text, "\ufffe", 3) == 0);
  return *text == '\n' || *text == '\t' || (bytes && !dvt_is_control(text) && !no_character);
}

void cli_write_markup(FILE *file, const char *text) {
  static const char markup[] = "<>&\"'";
  static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
  while (*text) {
    const size_t bytes = dvt_character(text);
    const char *found = strchr(markup, *text);
    if (found)
      fputs(names[found - markup], file);
    else if (is_allowed(text, bytes))
      fwrite(text, 1, bytes, file);
    else
      fputs(replacement, file);
    text += bytes ? bytes : 1;
  }
}
