/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/formats/sound_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/allocate.h"
#include "src/base/buffer.h"
#include "src/cli/fail.h"
#include "src/cli/formats/input.h"

/* Of a pipe: its header, with tags, must fit, to be read as it comes. */
enum { PIPE_HEAD = DVT_BUFFER(1 << 16, 4096) };

/* Formats that consist of chunks, each after its name and size. */
typedef struct container {
  char magic[5];
  int first;       /* where the first chunk begins */
  int name, size;  /* their bytes; names differ in the first four */
  bool big;        /* sizes are big-endian */
  bool inclusive;  /* sizes include name and size */
  int align;       /* of chunks */
  char samples[5]; /* the name of their chunk */
} container;

static const container containers[] = {
    {"RIFF", 12, 4, 4, false, false, 2, "data"}, {"RIFX", 12, 4, 4, true, false, 2, "data"},
    {"RF64", 12, 4, 4, false, false, 2, "data"}, {"FORM", 12, 4, 4, true, false, 2, "SSND"},
    {"caff", 8, 4, 8, true, false, 1, "data"},   {"riff", 40, 16, 8, false, true, 8, "data"},
};

typedef struct chunk {
  int64_t at;    /* its first byte after name and size */
  uint64_t size; /* without these */
  bool open;     /* the header leaves it open */
} chunk;

/* From the pipe, no more than is asked for: the next bytes may take long to come. */
static int64_t take(cli_sound_file *f, void *bytes, int64_t count) {
  const size_t got = fread(bytes, 1, (size_t)count, f->pipe);
  if (ferror(f->pipe))
    f->error = errno;
  f->taken += (int64_t)got;
  return (int64_t)got;
}

/* What lies neither in the head nor next in the pipe reads as the end. */
static int64_t pipe_bytes_at(cli_sound_file *f, int64_t at, char *bytes, int64_t count) {
  const int64_t most = f->size - at < count ? f->size - at : count,
                wanted = at + most < PIPE_HEAD ? at + most : PIPE_HEAD;
  int64_t got = 0;
  if (most < 1)
    return 0;
  if (wanted > f->head_bytes)
    f->head_bytes += take(f, f->head + f->head_bytes, wanted - f->head_bytes);
  if (at < f->head_bytes) {
    got = f->head_bytes - at < most ? f->head_bytes - at : most;
    memcpy(bytes, f->head + at, (size_t)got);
  }
  if (got < most && at + got == f->taken && f->head_bytes == PIPE_HEAD)
    got += take(f, bytes + got, most - got);
  return got;
}

static int64_t bytes_at(cli_sound_file *f, int64_t at, void *bytes, int64_t count) {
  if (f->pipe)
    return pipe_bytes_at(f, at, bytes, count);
  const int64_t left = f->size - at;
  const ssize_t got =
      left < 1 ? 0 : pread(f->descriptor, bytes, (size_t)(count < left ? count : left), f->start + at);
  if (got < 0)
    f->error = errno;
  return got;
}

static uint64_t number(const unsigned char *bytes, int count, bool big) {
  uint64_t value = 0;
  for (int i = 0; i < count; i++)
    value = value << 8 | bytes[big ? i : count - 1 - i];
  return value;
}

/* Programs that write to pipes leave 0 or about the largest number, signed or unsigned. */
static bool is_open(uint64_t size, int bytes) {
  if (bytes == 8)
    return size == 0 || size > INT64_MAX;
  return size == 0 || (size >= 0x7ffff000 && size <= 0x80001000) || size >= 0xffff0000;
}

/* ---- chunks ---- */

static const container *container_of(const unsigned char *magic) {
  for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
    if (!memcmp(magic, containers[i].magic, 4))
      return &containers[i];
  return NULL;
}

/* Reads the head of the chunk at c->at, and moves c->at to its content. */
static bool read_chunk(cli_sound_file *f, const container *form, chunk *c, unsigned char *head) {
  const int before = form->name + form->size;
  if (bytes_at(f, c->at, head, before) != before)
    return false;
  c->at += before;
  c->size = number(head + form->name, form->size, form->big);
  c->open = is_open(c->size, form->size);
  if (form->inclusive)
    c->size = c->size < (uint64_t)before ? 0 : c->size - (uint64_t)before;
  return true;
}

/* Finds the chunk of the samples, if the chunks before it are complete. RF64 has its size in a chunk of its
 * own, as the second of two numbers of 8 bytes. */
static bool find_samples(cli_sound_file *f, const container *form, chunk *c) {
  enum { LONG_SIZES = 16 };
  unsigned char head[24], sizes[LONG_SIZES];
  uint64_t long_size = UINT64_MAX;
  for (*c = (chunk){.at = form->first}; read_chunk(f, form, c, head);) {
    if (!memcmp(head, form->samples, 4)) {
      if (c->size == UINT32_MAX && form->size == 4)
        *c = (chunk){c->at, long_size, is_open(long_size, 8)};
      return true;
    }
    if (!memcmp(head, "ds64", 4) && bytes_at(f, c->at, sizes, LONG_SIZES) == LONG_SIZES)
      long_size = number(sizes + 8, 8, false);
    if (c->size > (uint64_t)(f->size - c->at))
      return false;
    c->at += (int64_t)c->size;
    c->at = (c->at + form->align - 1) / form->align * form->align;
  }
  return false;
}

static void put_size(cli_sound_file *f, int64_t at, int64_t size, bool big) {
  f->put[f->sizes].at = at;
  for (int i = 0; i < 4; i++)
    f->put[f->sizes].bytes[big ? 3 - i : i] = (unsigned char)(size >> 8 * i);
  f->sizes++;
}

/* The samples of a WAV file that was written to a pipe go to its end. A size of 0 may also be true: then the
 * size of the whole file, at its beginning, counts chunks after it. */
static int close_sizes(const char *name, cli_sound_file *f, const container *form, const unsigned char *head,
                       const chunk *samples) {
  const uint64_t whole = number(head + 4, 4, form->big);
  const int64_t left = f->size - samples->at;
  if (memcmp(head, "RIF", 3) || !samples->open ||
      (samples->size == 0 && !is_open(whole, 4) && (int64_t)whole + 8 > samples->at))
    return CLI_OK;
  if (left > UINT32_MAX - samples->at)
    return cli_fail(CLI_INPUT,
                    "%s: offset %" PRId64
                    ": expected at most 4 GiB where the size was left open, found %" PRId64 " bytes",
                    name, samples->at - form->size, left);
  put_size(f, 4, f->size - 8, form->big);
  put_size(f, samples->at - form->size, left, form->big);
  return CLI_OK;
}

static int cut(const char *name, int64_t found, uint64_t promised) {
  return cli_fail(CLI_INPUT,
                  "%s: offset %" PRId64 ": expected %" PRIu64
                  " bytes as the header says, found the end of the file",
                  name, found, promised);
}

static int check_samples(const char *name, cli_sound_file *f, const unsigned char *head) {
  const container *form = container_of(head);
  chunk samples;
  if (!form || !find_samples(f, form, &samples))
    return CLI_OK;
  const int64_t left = f->size - samples.at;
  if (samples.size > (uint64_t)left && !samples.open)
    return cut(name, f->size, (uint64_t)samples.at + samples.size);
  return close_sizes(name, f, form, head, &samples);
}

/* ---- wholes ---- */

/* Checks the size at the beginning of the file; some writers leave out the last byte, which is padding. */
static int check_size(const char *name, cli_sound_file *f, const unsigned char *head) {
  const bool riff = !memcmp(head, "RIFF", 4), sun = !memcmp(head, ".snd", 4);
  if (!riff && !sun && memcmp(head, "FORM", 4) && memcmp(head, "RIFX", 4))
    return CLI_OK;
  const uint64_t body = number(head + (sun ? 8 : 4), 4, !riff),
                 promised = body + (sun ? number(head + 4, 4, true) : 8);
  return is_open(body, 4) || (uint64_t)f->size + 1 >= promised ? CLI_OK : cut(name, f->size, promised);
}

/* Whether the last page in these last bytes of an Ogg file is complete and ends its stream. */
static bool ogg_ends(const unsigned char *tail, int64_t got) {
  enum { HEADER = 27, END = 4 };
  for (int64_t at = got - HEADER; at >= 0; at--) {
    const unsigned char *page = tail + at;
    if (memcmp(page, "OggS", 4))
      continue;
    int64_t length = HEADER + page[26];
    for (int64_t i = 0; i < page[26] && at + HEADER + i < got; i++)
      length += page[HEADER + i];
    return at + length <= got && (page[5] & END);
  }
  return false;
}

static int check_ogg(const char *name, cli_sound_file *f, const unsigned char *head) {
  enum { PAGE = 65307 }; /* the longest */
  if (memcmp(head, "OggS", 4))
    return CLI_OK;
  unsigned char *tail = dvt_allocate_raw(PAGE);
  if (!tail)
    return cli_status(DAVIT_OUT_OF_HOST_MEMORY);
  const int64_t got = bytes_at(f, f->size > PAGE ? f->size - PAGE : 0, tail, PAGE);
  const bool whole = ogg_ends(tail, got);
  free(tail);
  return whole ? CLI_OK
               : cli_fail(CLI_INPUT,
                          "%s: offset %" PRId64
                          ": expected the last page of the stream, found the end of the file",
                          name, f->size);
}

/* The first frame of MPEG audio may describe the whole file instead of sound: after the header and the side
 * information "Xing" or "Info", flags, the number of frames if flag 1 is set, and the number of bytes from
 * this frame on if flag 2 is. */
static int check_mpeg(const char *name, cli_sound_file *f, const unsigned char *head) {
  enum { TAG = 10, MOST = 4 + 32, NOTE = 16 };
  unsigned char frame[MOST + NOTE];
  int64_t at = 0;
  if (!memcmp(head, "ID3", 3)) /* a tag comes first; its size has 7 bits a byte, and it may have a footer */
    at = TAG + ((int64_t)head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9]) + (head[5] & 0x10 ? TAG : 0);
  if (bytes_at(f, at, frame, sizeof frame) != sizeof frame || frame[0] != 0xff || (frame[1] & 0xe0) != 0xe0)
    return CLI_OK;
  const bool first_version = (frame[1] & 0x18) == 0x18, mono = frame[3] >> 6 == 3;
  const unsigned char *note = frame + 4 + (first_version ? (mono ? 17 : 32) : mono ? 9 : 17);
  if ((memcmp(note, "Xing", 4) && memcmp(note, "Info", 4)) || !(note[7] & 2))
    return CLI_OK;
  const uint64_t promised = (uint64_t)at + number(note + (note[7] & 1 ? 12 : 8), 4, true);
  return (uint64_t)f->size < promised ? cut(name, f->size, promised) : CLI_OK;
}

/* ---- files ---- */

int cli_sound_file_open(const char *name, int descriptor, cli_sound_file *f) {
  unsigned char head[12] = {0};
  const off_t start = lseek(descriptor, 0, SEEK_CUR), end = lseek(descriptor, 0, SEEK_END);
  *f = (cli_sound_file){.descriptor = descriptor, .start = start, .size = end - start};
  if (start < 0 || end < 0)
    return cli_input_unreadable(name, errno);
  if (f->size < 1)
    return cli_fail(CLI_INPUT, "%s: expected sound, found an empty file", name);
  if (bytes_at(f, 0, head, sizeof head) < 0)
    return cli_input_unreadable(name, errno);
  CLI_TRY(check_size(name, f, head));
  CLI_TRY(check_samples(name, f, head));
  CLI_TRY(check_ogg(name, f, head));
  return check_mpeg(name, f, head);
}

/* A WAV file's size goes up to 4 GiB, and one that is left open becomes about that. */
static int open_wav(const char *name, cli_sound_file *f, const unsigned char *head, bool *fits) {
  const container *form = container_of(head);
  chunk samples;
  *fits = find_samples(f, form, &samples);
  if (!*fits)
    return CLI_OK;
  const int64_t most = (UINT32_MAX - samples.at) & ~INT64_C(0xffff);
  f->size = samples.at + (samples.open ? most : (int64_t)samples.size);
  const int code = close_sizes(name, f, form, head, &samples);
  f->open = f->sizes > 0;
  f->size = f->open || !samples.open ? f->size : samples.at;
  return code;
}

static void open_sun(cli_sound_file *f, const unsigned char *head) {
  const uint64_t body = number(head + 8, 4, true);
  f->open = is_open(body, 4);
  f->size = (int64_t)number(head + 4, 4, true) + (f->open ? INT64_C(1) << 48 : (int64_t)body);
}

int cli_sound_file_open_pipe(const char *name, FILE *pipe, cli_sound_file *f, bool *fits) {
  unsigned char head[12] = {0};
  int code = CLI_OK;
  *f = (cli_sound_file){.descriptor = -1, .pipe = pipe, .size = INT64_MAX / 2};
  f->head = dvt_allocate_raw(PIPE_HEAD);
  if (!f->head)
    return cli_status(DAVIT_OUT_OF_HOST_MEMORY);
  bytes_at(f, 0, head, sizeof head);
  *fits = !memcmp(head, "RIFF", 4) || !memcmp(head, "RIFX", 4) || !memcmp(head, ".snd", 4);
  if (*fits && head[0] == 'R')
    code = open_wav(name, f, head, fits);
  else if (*fits)
    open_sun(f, head);
  return code;
}

void cli_sound_file_close(cli_sound_file *f) {
  free(f->head);
}

int64_t cli_sound_file_read(cli_sound_file *f, void *bytes, int64_t count) {
  const int64_t got = bytes_at(f, f->at, bytes, count), first = f->at;
  if (got < 0)
    return 0;
  for (int i = 0; i < f->sizes; i++)
    for (int64_t k = 0; k < 4; k++) {
      const int64_t to = f->put[i].at + k - first;
      if (to >= 0 && to < got)
        ((unsigned char *)bytes)[to] = f->put[i].bytes[k];
    }
  f->at += got;
  return got;
}
