/* SPDX-License-Identifier: Apache-2.0 */
/* Files that gzip or bgzip have compressed, read by zlib. */
#define _GNU_SOURCE /* fopencookie() */
#include "src/cli/formats/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "src/base/allocate.h"
#include "src/base/buffer.h"

enum { PACKED_BYTES = DVT_BUFFER(1 << 16, 1024), GZIP_WINDOW = 15 + 16, EXTRA_BYTES = 4 };

/* Invariant: `z.next_in` points to `z.avail_in` bytes of `bytes` that are still to be read. */
typedef struct packed {
  FILE *file;
  z_stream z;
  bool between; /* members: the next byte begins one, or padding */
  bool ended;
  bool open; /* the last member is a block of bgzip's with contents: a last one without has to follow */
  gz_header header;
  unsigned char extra[EXTRA_BYTES]; /* of the header */
  unsigned char bytes[PACKED_BYTES];
} packed;

bool cli_gzip_begins(const unsigned char *bytes, size_t count) {
  return count > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == Z_DEFLATED;
}

/* False at the end of the file. */
static bool fill(packed *p) {
  if (p->z.avail_in)
    return true;
  p->z.next_in = p->bytes;
  p->z.avail_in = (uInt)fread(p->bytes, 1, sizeof p->bytes, p->file);
  return p->z.avail_in > 0;
}

static ssize_t fail(const packed *p, int error) {
  if (!ferror(p->file))
    errno = error;
  return -1;
}

static ssize_t damaged(const packed *p) {
  return fail(p, EBADMSG);
}

/* zlib fills in the header of the member that begins. */
static bool begin_member(packed *p) {
  memset(p->extra, 0, sizeof p->extra);
  p->header = (gz_header){.extra = p->extra, .extra_max = sizeof p->extra};
  return inflateGetHeader(&p->z, &p->header) == Z_OK;
}

static void end_member(packed *p) {
  static const unsigned char of_bgzip[EXTRA_BYTES] = {'B', 'C', 2, 0};
  p->open = p->z.total_out && !memcmp(p->extra, of_bgzip, sizeof of_bgzip);
  p->between = true;
}

static ssize_t end(packed *p) {
  p->ended = !ferror(p->file) && p->between && !p->open;
  return p->ended ? 0 : fail(p, p->between ? ENODATA : EBADMSG);
}

/* Nothing but zero bytes up to the end. */
static ssize_t skip_padding(packed *p) {
  while (fill(p))
    for (; p->z.avail_in; p->z.avail_in--)
      if (*p->z.next_in++)
        return damaged(p);
  return end(p);
}

static ssize_t read_packed(void *cookie, char *bytes, size_t count) {
  packed *p = cookie;
  p->z.next_out = (unsigned char *)bytes;
  p->z.avail_out = (uInt)count;
  while (!p->ended && p->z.avail_out == count) {
    if (!fill(p))
      return end(p);
    if (p->between && !*p->z.next_in)
      return skip_padding(p);
    if (p->between && (inflateReset(&p->z) != Z_OK || !begin_member(p)))
      return damaged(p);
    p->between = false;
    const int status = inflate(&p->z, Z_NO_FLUSH);
    if (status == Z_STREAM_END)
      end_member(p);
    if (status != Z_OK && status != Z_STREAM_END)
      return damaged(p);
  }
  return (ssize_t)(count - p->z.avail_out);
}

static int close_packed(void *cookie) {
  packed *p = cookie;
  inflateEnd(&p->z);
  if (p->file != stdin)
    fclose(p->file);
  free(p);
  return 0;
}

FILE *cli_gzip_open(FILE *file, const unsigned char *head, size_t count) {
  const cookie_io_functions_t functions = {.read = read_packed, .close = close_packed};
  packed *p = dvt_allocate(1, sizeof *p);
  if (!p)
    return NULL;
  p->file = stdin; /* which stays open */
  if (inflateInit2(&p->z, GZIP_WINDOW) != Z_OK || !begin_member(p)) {
    close_packed(p);
    return NULL;
  }
  if (count)
    memcpy(p->bytes, head, count);
  p->z.next_in = p->bytes;
  p->z.avail_in = (uInt)count;
  FILE *stream = fopencookie(p, "r", functions);
  if (stream)
    p->file = file;
  else
    close_packed(p);
  return stream;
}
