/* SPDX-License-Identifier: Apache-2.0 */
/* FASTA and FASTQ without compression. The first byte of an input chooses the alphabet. What is accepted as
 * a file is accepted from a pipe, and comes back unchanged when it is written in either format. */
#include <ctype.h>
#include <string.h>

#include "src/cli/fail.h"
#include "tests/fuzz/sequences.h"

enum { LINE = 61 /* letters of a line that is written */ };

static void check(const cli_sequences *s, const davit_align_matrix *alphabet) {
  FUZZ_REQUIRE(s->count > 0 && s->offsets[0] == 0);
  for (int64_t k = 0; k < s->count; k++) {
    FUZZ_REQUIRE(s->offsets[k + 1] > s->offsets[k]);
    FUZZ_REQUIRE(*cli_sequences_name(s, k));
    for (const char *c = cli_sequences_name(s, k); *c; c++)
      FUZZ_REQUIRE(!isspace((unsigned char)*c));
  }
  for (int64_t i = 0; i < s->offsets[s->count]; i++) {
    FUZZ_REQUIRE(s->symbols[i] < alphabet->symbols && !islower((unsigned char)s->letters[i]));
    FUZZ_REQUIRE(alphabet->code[(unsigned char)s->letters[i]] == s->symbols[i]);
  }
}

static void check_uses(const cli_sequences *s, const davit_align_matrix *alphabet) {
  int64_t all = 0;
  for (int symbol = 0; symbol < alphabet->symbols; symbol++) {
    const cli_symbol_use *use = &s->uses[symbol];
    FUZZ_REQUIRE(!use->count || (s->symbols[use->first] == symbol && use->line > 0));
    all += use->count;
  }
  FUZZ_REQUIRE(all == s->offsets[s->count]);
}

/* A name that JSON cannot hold is none that SAM can; a cleaned one suits all but SAM. */
static void check_names(const cli_sequences *s) {
  static char clean[3 * FUZZ_BYTES + 1];
  (void)fuzz_code(cli_sequences_check_distinct(s));
  for (cli_name_format format = CLI_NAME_COLUMN; format <= CLI_NAME_SAM_TARGET; format++)
    (void)fuzz_code(cli_sequences_check_names(s, format));
  for (int64_t k = 0; k < s->count; k++) {
    const char *name = cli_sequences_name(s, k);
    FUZZ_REQUIRE(!cli_name_refused(CLI_NAME_JSON, name) || cli_name_refused(CLI_NAME_SAM_QUERY, name));
    cli_name_clean(name, clean);
    FUZZ_REQUIRE(!cli_name_refused(CLI_NAME_JSON, clean) && !cli_name_refused(CLI_NAME_COLUMN, clean));
  }
}

static void write_letters(FILE *file, const cli_sequences *s, int64_t k, const char *letters) {
  for (int64_t i = s->offsets[k]; i < s->offsets[k + 1]; i++) {
    putc_unlocked(letters ? letters[s->symbols[i]] : '@', file);
    if ((i - s->offsets[k]) % LINE == LINE - 1)
      putc_unlocked('\n', file);
  }
  putc_unlocked('\n', file);
}

static void check_written(const cli_sequences *s, const davit_align_matrix *alphabet, bool qualities) {
  FILE *file = fuzz_create();
  for (int64_t k = 0; k < s->count; k++) {
    fprintf(file, "%c%s description\n", qualities ? '@' : '>', cli_sequences_name(s, k));
    write_letters(file, s, k, alphabet->letters);
    if (qualities)
      fputs("+\n", file);
    if (qualities)
      write_letters(file, s, k, NULL);
  }
  cli_sequences again;
  FUZZ_REQUIRE(fuzz_sequences(fuzz_written(file), alphabet, &again) == CLI_OK);
  fuzz_same_sequences(s, &again);
  cli_sequences_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const davit_align_matrix *alphabet = fuzz_alphabet(fuzz_byte(&data, &size));
  const fuzz_text text = fuzz_expand(data, size);
  cli_sequences file, pipe;
  const int code = fuzz_sequences(fuzz_file(text), alphabet, &file);
  FUZZ_REQUIRE(fuzz_sequences(fuzz_pipe(text), alphabet, &pipe) == code);
  if (code == CLI_OK) {
    check(&file, alphabet);
    check_uses(&file, alphabet);
    check_names(&file);
    fuzz_same_sequences(&file, &pipe);
    check_written(&file, alphabet, false);
    check_written(&file, alphabet, true);
  }
  cli_sequences_free(&file);
  cli_sequences_free(&pipe);
  return 0;
}
