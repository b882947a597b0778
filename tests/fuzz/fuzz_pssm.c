/* SPDX-License-Identifier: Apache-2.0 */
/* Position-specific scoring matrices. What is accepted as a file is accepted from a pipe, and comes back unchanged when
 * it is written. */
#include <inttypes.h>
#include <string.h>

#include "src/cli/fail.h"
#include "src/cli/formats/pssm.h"
#include "tests/fuzz/fuzz.h"

static const char amino[] = "ARNDCQEGHILKMFPSTWYV";

typedef struct found {
  cli_pssm pssm;
  cli_sequences query;
} found;

static int read_from(const char *path, const davit_align_matrix *alphabet, found *f) {
  *f = (found){0};
  return fuzz_code(cli_pssm_read(path, alphabet, &f->pssm, &f->query));
}

static void release(found *f) {
  cli_pssm_free(&f->pssm);
  cli_sequences_free(&f->query);
}

static bool is_sane(const cli_pssm_statistics *s) {
  return (s->k > 0 && s->lambda > 0) || (s->k == 0 && s->lambda == 0);
}

static void check(const found *f, const davit_align_matrix *alphabet) {
  const cli_sequences *query = &f->query;
  FUZZ_REQUIRE(query->count == 1 && f->pssm.length > 0);
  FUZZ_REQUIRE(cli_sequences_length(query, 0) == f->pssm.length && *cli_sequences_name(query, 0));
  for (int64_t j = 0; j < f->pssm.length; j++)
    FUZZ_REQUIRE(query->symbols[j] < alphabet->symbols);
  FUZZ_REQUIRE(is_sane(&f->pssm.standard) && is_sane(&f->pssm.own));
}

static void check_same(const found *a, const found *b, const davit_align_matrix *alphabet) {
  const size_t length = (size_t)a->pssm.length;
  FUZZ_REQUIRE(a->pssm.length == b->pssm.length);
  FUZZ_REQUIRE(!memcmp(a->query.symbols, b->query.symbols, length));
  FUZZ_REQUIRE(!memcmp(a->pssm.scores, b->pssm.scores, length * (size_t)alphabet->symbols));
  FUZZ_REQUIRE(!memcmp(&a->pssm.own, &b->pssm.own, sizeof a->pssm.own));
}

/* Letters in another order than the file's may have been, without percentages. */
static void check_written(const found *f, const davit_align_matrix *alphabet) {
  FILE *file = fuzz_create();
  found again;
  fputs("Last position-specific scoring matrix computed\n", file);
  for (int k = 19; k >= 0; k--)
    fprintf(file, "  %c", amino[k]);
  for (int64_t j = 0; j < f->pssm.length; j++) {
    fprintf(file, "\n%" PRId64 " %c", j + 1, alphabet->letters[f->query.symbols[j]]);
    for (int k = 19; k >= 0; k--)
      fprintf(file, " %d", f->pssm.scores[j + alphabet->code[(unsigned char)amino[k]] * f->pssm.length]);
  }
  fprintf(
      file,
      "\n\nStandard Ungapped 1 1\nPSI Ungapped 1 1\nStandard Gapped %.17g %.17g\nPSI Gapped %.17g %.17g\n",
      f->pssm.standard.k, f->pssm.standard.lambda, f->pssm.own.k, f->pssm.own.lambda);
  FUZZ_REQUIRE(read_from(fuzz_written(file), alphabet, &again) == CLI_OK);
  check_same(f, &again, alphabet);
  release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const fuzz_text text = fuzz_expand(data, size);
  davit_align_matrix alphabet;
  found file, pipe;
  FUZZ_REQUIRE(davit_align_matrix_find("BLOSUM62", &alphabet) == DAVIT_SUCCESS);
  const int code = read_from(fuzz_file(text), &alphabet, &file);
  FUZZ_REQUIRE(read_from(fuzz_pipe(text), &alphabet, &pipe) == code);
  if (code == CLI_OK) {
    check(&file, &alphabet);
    check_same(&file, &pipe, &alphabet);
    check_written(&file, &alphabet);
  }
  release(&file);
  release(&pipe);
  return 0;
}
