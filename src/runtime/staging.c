/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/staging.h"

#include <davit/memory.h>
#include <stdbool.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "offload/runtime/stream.h"
#include "src/base/error.h"
#include "src/runtime/memory.h"
#include "src/runtime/tuning.h"

enum { BUFFERS = 2, BUFFER_BYTES = 4 << 20 };

typedef struct stage {
  size_t bytes; /* of a buffer */
  dvt_stream *stream;
  char *buffers[BUFFERS];
  dvt_mark *marks[BUFFERS];
} stage;

/* A piece of the matrix that fits a buffer: some whole columns, or a part of one column. */
typedef struct piece {
  size_t row, col, rows, cols; /* rows in bytes */
} piece;

static davit_status open_stage(stage *s, int device) {
  *s = (stage){.bytes = (size_t)dvt_tuned(device, DVT_TUNE_COPY_STAGE_BYTES, BUFFER_BYTES)};
  DVT_TRY(dvt_stream_acquire(device, &s->stream));
  for (int i = 0; i < BUFFERS; i++)
    DVT_TRY(dvt_malloc(s->bytes, DAVIT_PINNED, (void **)&s->buffers[i]));
  return DAVIT_SUCCESS;
}

static void close_stage(stage *s) {
  for (int i = 0; i < BUFFERS; i++) {
    dvt_mark_free(s->marks[i]);
    davit_free(s->buffers[i]);
  }
  if (s->stream)
    dvt_stream_release(s->stream);
}

/* The next piece, false at the end. Start with all zero. */
static bool next_piece(const stage *s, piece *p, size_t row_bytes, size_t cols) {
  if (p->rows == 0) {
    p->row = p->col = 0;
  } else if (p->row + p->rows < row_bytes) {
    p->row += p->rows;
  } else {
    p->row = 0;
    p->col += p->cols;
  }
  if (p->col >= cols)
    return false;
  size_t most = row_bytes <= s->bytes ? s->bytes / row_bytes : 1;
  p->cols = most < cols - p->col ? most : cols - p->col;
  p->rows = row_bytes - p->row < s->bytes ? row_bytes - p->row : s->bytes;
  return true;
}

static void pack(char *destination, size_t destination_pitch, const char *source, size_t source_pitch,
                 size_t row_bytes, size_t cols) {
  for (size_t j = 0; j < cols; j++)
    memcpy(destination + j * destination_pitch, source + j * source_pitch, row_bytes);
}

static davit_status await(stage *s, int i) {
  if (!s->marks[i])
    return DAVIT_SUCCESS;
  davit_status status = dvt_mark_wait(s->marks[i]);
  dvt_mark_free(s->marks[i]);
  s->marks[i] = NULL;
  return status;
}

static davit_status up(stage *s, char *destination, size_t destination_pitch, const char *source,
                       size_t source_pitch, size_t row_bytes, size_t cols) {
  piece p = {0};
  for (int i = 0; next_piece(s, &p, row_bytes, cols); i = (i + 1) % BUFFERS) {
    DVT_TRY(await(s, i));
    pack(s->buffers[i], p.rows, source + p.col * source_pitch + p.row, source_pitch, p.rows, p.cols);
    DVT_TRY(dvt_stream_copy(s->stream, destination + p.col * destination_pitch + p.row, destination_pitch,
                            s->buffers[i], p.rows, p.rows, p.cols));
    DVT_TRY(dvt_stream_mark(s->stream, &s->marks[i]));
  }
  return DAVIT_SUCCESS;
}

/* One copy travels while the one before it is unpacked. */
static davit_status down(stage *s, char *destination, size_t destination_pitch, const char *source,
                         size_t source_pitch, size_t row_bytes, size_t cols) {
  piece p = {0}, last = {0};
  int i = 0;
  for (bool more = true; more || last.rows;) {
    more = next_piece(s, &p, row_bytes, cols);
    if (more) {
      DVT_TRY(dvt_stream_copy(s->stream, s->buffers[i], p.rows, source + p.col * source_pitch + p.row,
                              source_pitch, p.rows, p.cols));
      DVT_TRY(dvt_stream_mark(s->stream, &s->marks[i]));
    }
    i = (i + 1) % BUFFERS;
    if (last.rows) {
      DVT_TRY(await(s, i));
      pack(destination + last.col * destination_pitch + last.row, destination_pitch, s->buffers[i], last.rows,
           last.rows, last.cols);
    }
    last = more ? p : (piece){0};
  }
  return DAVIT_SUCCESS;
}

typedef davit_status (*direction)(stage *, char *, size_t, const char *, size_t, size_t, size_t);

static davit_status run(direction way, int device, char *destination, size_t destination_pitch,
                        const char *source, size_t source_pitch, size_t row_bytes, size_t cols) {
  stage s;
  const int current = dvt_cuda_current();
  davit_status status = open_stage(&s, device);
  if (status == DAVIT_SUCCESS)
    status = way(&s, destination, destination_pitch, source, source_pitch, row_bytes, cols);
  if (s.stream) {
    davit_status end = dvt_stream_synchronize(s.stream);
    status = status == DAVIT_SUCCESS ? end : status;
  }
  close_stage(&s);
  dvt_cuda_restore(current);
  return status;
}

davit_status dvt_stage_up(int device, void *destination, size_t destination_pitch, const void *source,
                          size_t source_pitch, size_t row_bytes, size_t cols) {
  return run(up, device, destination, destination_pitch, source, source_pitch, row_bytes, cols);
}

davit_status dvt_stage_down(int device, void *destination, size_t destination_pitch, const void *source,
                            size_t source_pitch, size_t row_bytes, size_t cols) {
  return run(down, device, destination, destination_pitch, source, source_pitch, row_bytes, cols);
}
