/* SPDX-License-Identifier: Apache-2.0 */
/* Texts from outside: what is a character of UTF-8, what may reach a terminal, and what JSON, XML and tables hold. */
#include "src/base/text.h"

#include <string.h>

#include "src/cli/formats/names.h"
#include "tests/support.h"

/* As RFC 3629 has it. */
static size_t encode(unsigned code, char text[static 5]) {
  const size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  static const unsigned first[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = bytes - 1; i > 0; i--, code >>= 6)
    text[i] = (char)(0x80 | (code & 0x3f));
  text[0] = (char)(first[bytes] | code);
  text[bytes] = 0;
  return bytes;
}

CASE(every_character_has_its_length) {
  char text[5];
  for (unsigned code = 1; code < 0x110000; code++) {
    const size_t bytes = encode(code, text);
    const bool surrogate = code >= 0xd800 && code < 0xe000,
               control = code < ' ' || (code >= 0x7f && code < 0xa0);
    assert_int_equal(dvt_character(text), surrogate ? 0 : bytes);
    assert_int_equal(dvt_is_control(text), control);
    assert_int_equal(dvt_printable(text), surrogate || control ? 0 : bytes);
    if (bytes > 1) {
      text[bytes - 1] = 0; /* cut */
      assert_int_equal(dvt_character(text), 0);
    }
  }
  assert_int_equal(dvt_character(""), 0);
}

/* The others of all beginnings of three bytes. */
CASE(nothing_else_is_a_character) {
  static const char *const wrong[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xe0\x9f\xbf",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "\xfe",
                                      "\xc3(",
                                      "\xe2\x82(",
                                      "\xf0\x9f\x98(",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf"};
  for (int i = 0; i < COUNT(wrong); i++)
    assert_int_equal(dvt_character(wrong[i]), 0);
}

static const char *const texts[][2] = {
    {"plain \xc3\xa9 \xf0\x9f\x98\x80", "plain \xc3\xa9 \xf0\x9f\x98\x80"},
    {"\x1b[31m\n\t\x7f", "?[31m???"},
    {"\x9b"
     "31m\x85\xe9",
     "?31m??"},
    {"\xc2\x9b"
     "31m",
     "??31m"},
    {"\xc4\x9b", "\xc4\x9b"}, /* a letter whose last byte is that of a control */
    {"\xc2", "?"},
    {"\xe2\x82", "??"},
    {"", ""}};

CASE(messages_are_printable) {
  for (int i = 0; i < COUNT(texts); i++) {
    char text[64];
    strcpy(text, texts[i][0]);
    dvt_make_printable(text);
    assert_string_equal(text, texts[i][1]);
    assert_null(dvt_find_unprintable(text));
  }
}

static void expect_written(void (*write)(FILE *, const char *), const char *text, const char *wanted) {
  char *found = NULL;
  size_t bytes;
  FILE *file = open_memstream(&found, &bytes);
  assert_non_null(file);
  write(file, text);
  assert_int_equal(fclose(file), 0);
  assert_string_equal(found, wanted);
  free(found);
}

CASE(names_are_written_as_each_format_needs) {
  static const char name[] = "a\"\\<&>'\x1b\x7f\xc2\x9b\xe9\xc3\xa9\xef\xbf\xbf\n";
  expect_written(cli_write_plain, name, "a\"\\<&>'????\xc3\xa9\xef\xbf\xbf?");
  expect_written(cli_write_quoted, name,
                 "\"a\\\"\\\\<&>'\\u001b\\u007f\\u009b\xef\xbf\xbd\xc3\xa9\xef\xbf\xbf\\u000a\"");
  expect_written(
      cli_write_markup, name,
      "a&quot;\\&lt;&amp;&gt;&#39;\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\n");
  char clean[3 * sizeof name];
  cli_name_clean(name, clean);
  assert_string_equal(clean, "a\"\\<&>'???\xef\xbf\xbd\xc3\xa9\xef\xbf\xbf?");
}

CASE(formats_refuse_names) {
  static const struct {
    const char *name;
    bool column, json, query, target; /* can hold it */
  } cases[] = {{"chr1", 1, 1, 1, 1}, {"@r", 1, 1, 0, 1},       {"r@", 1, 1, 0, 1},       {"*", 1, 1, 0, 0},
               {"**", 1, 1, 1, 0},   {"a*", 1, 1, 1, 1},       {"=x", 1, 1, 1, 0},       {"x=", 1, 1, 1, 1},
               {"(x)", 1, 1, 1, 0},  {"a,b", 1, 1, 1, 0},      {"\xc3\xa9", 1, 1, 0, 0}, {"\xe9", 1, 0, 0, 0},
               {"\x9b", 0, 0, 0, 0}, {"\xc2\x9b", 0, 1, 0, 0}, {"\x1b[m", 0, 1, 0, 0},   {"\t", 0, 1, 0, 0},
               {"\x7f", 0, 1, 0, 0}, {"\xc4\x9b", 1, 1, 0, 0}, {"a b", 1, 1, 0, 0}};
  for (int i = 0; i < COUNT(cases); i++) {
    assert_int_equal(!cli_name_refused(CLI_NAME_COLUMN, cases[i].name), cases[i].column);
    assert_int_equal(!cli_name_refused(CLI_NAME_JSON, cases[i].name), cases[i].json);
    assert_int_equal(!cli_name_refused(CLI_NAME_SAM_QUERY, cases[i].name), cases[i].query);
    assert_int_equal(!cli_name_refused(CLI_NAME_SAM_TARGET, cases[i].name), cases[i].target);
  }
  char long_name[256];
  memset(long_name, 'x', 255);
  long_name[255] = 0;
  assert_non_null(cli_name_refused(CLI_NAME_SAM_QUERY, long_name));
  assert_null(cli_name_refused(CLI_NAME_SAM_TARGET, long_name));
  assert_null(cli_name_refused(CLI_NAME_SAM_QUERY, long_name + 1));
}
