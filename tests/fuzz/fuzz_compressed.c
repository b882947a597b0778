/* SPDX-License-Identifier: Apache-2.0 */
/* FASTA and FASTQ, compressed. An input is
 *
 *   alphabet, form, block, kind of damage, its place (2 bytes), text
 *
 * The text is compressed in the form, gzip or bgzip, in blocks of at most `block` times 256 bytes. It must
 * give what it gives without compression; damaged, it must give the same or be refused. In the form RAW the
 * text is the compressed file itself. A pipe must give what the file gives. */
#include <htslib/bgzf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "src/cli/fail.h"
#include "tests/fuzz/sequences.h"

typedef enum form { RAW, GZIP, BGZIP, FORMS } form;
typedef enum damage { NONE, CUT, FLIP, DROP, TWICE, INSERT, DAMAGES } damage;

enum { COMPRESSED_BYTES = 2 * FUZZ_BYTES + 4096 };
static unsigned char packed[COMPRESSED_BYTES];

/* ---- compression ---- */

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Members one after the other, which are one file. */
static size_t gzip(fuzz_text text, size_t block) {
  size_t used = 0, done = 0;
  do {
    z_stream z = {.next_in = (unsigned char *)text.bytes + done,
                  .avail_in = (uInt)smaller(block, text.size - done),
                  .next_out = packed + used,
                  .avail_out = (uInt)(sizeof packed - used)};
    done += z.avail_in;
    FUZZ_REQUIRE(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    FUZZ_REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
    used += z.total_out;
    FUZZ_REQUIRE(deflateEnd(&z) == Z_OK);
  } while (done < text.size);
  return used;
}

/* The last block is empty. */
static size_t bgzip(fuzz_text text, size_t block) {
  size_t used = 0;
  for (size_t done = 0; done <= text.size; done += block) {
    size_t room = sizeof packed - used;
    FUZZ_REQUIRE(
        !bgzf_compress(packed + used, &room, text.bytes + done, smaller(block, text.size - done), 1));
    used += room;
  }
  if (text.size % block) {
    size_t room = sizeof packed - used;
    FUZZ_REQUIRE(!bgzf_compress(packed + used, &room, "", 0, -1));
    used += room;
  }
  return used;
}

static size_t compress_text(form form, fuzz_text text, size_t block) {
  if (form == GZIP)
    return gzip(text, block > 4096 ? block : 4096);
  if (form == BGZIP)
    return bgzip(text, block);
  memcpy(packed, text.bytes, text.size);
  return text.size;
}

/* ---- damage ---- */

/* Applies it at `place`; returns the new size. */
static size_t apply(damage damage, size_t place, size_t size) {
  const size_t at = size ? place / 8 % size : 0;
  unsigned char *byte = packed + at;
  if (damage == NONE || !size)
    return size;
  if (damage == CUT)
    return at;
  if (damage == FLIP)
    *byte ^= (unsigned char)(1 << place % 8);
  if (damage == DROP)
    memmove(byte, byte + 1, --size - at);
  if (damage == TWICE || damage == INSERT)
    memmove(byte + 1, byte, size++ - at);
  if (damage == INSERT)
    *byte = (unsigned char)place;
  return size;
}

/* ---- runs ---- */

/* Whether the text is read as a compressed one. */
static bool is_compressed(fuzz_text text) {
  return text.size > 1 && text.bytes[0] == 0x1f && text.bytes[1] == 0x8b;
}

/* Requires what the intact text gives. */
static void check_same(int code, const cli_sequences *found, fuzz_text text,
                       const davit_align_matrix *alphabet, damage damage) {
  cli_sequences plain;
  const int right = fuzz_sequences(fuzz_file(text), alphabet, &plain);
  FUZZ_REQUIRE(code == right || (damage != NONE && code == CLI_INPUT));
  if (code == CLI_OK)
    fuzz_same_sequences(found, &plain);
  cli_sequences_free(&plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const davit_align_matrix *alphabet = fuzz_alphabet(fuzz_byte(&data, &size));
  const form form = fuzz_byte(&data, &size) % FORMS;
  const size_t block = 256 * smaller(1 + (size_t)fuzz_byte(&data, &size), 254);
  const damage damage = fuzz_byte(&data, &size) % DAMAGES;
  const size_t high = fuzz_byte(&data, &size), place = 256 * high + fuzz_byte(&data, &size);
  const fuzz_text text = fuzz_expand(data, size);
  const fuzz_text whole = {packed, apply(damage, place, compress_text(form, text, block))};
  cli_sequences file, pipe;
  const int code = fuzz_sequences(fuzz_file(whole), alphabet, &file);
  FUZZ_REQUIRE(fuzz_sequences(fuzz_pipe(whole), alphabet, &pipe) == code);
  if (code == CLI_OK)
    fuzz_same_sequences(&file, &pipe);
  if (form != RAW && !is_compressed(text))
    check_same(code, &file, text, alphabet, damage);
  cli_sequences_free(&file);
  cli_sequences_free(&pipe);
  return 0;
}
