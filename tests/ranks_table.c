/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/ranks_table.h"

#include <davit/davit.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ref/ref.h"
#include "src/base/allocate.h"
#include "src/base/inject.h"
#include "src/cli/ranks_table.h"

ranks_outcome *outcome;
int me;
int to[RANKS];
bool without_table;

/* What a rank calls, as it is sent to rank 0; data follow. */
typedef enum kind { CALL_AGREE, CALL_SHARE, CALL_SEND, CALL_REDUCE, CALL_SCAN, CALL_MAXIMA, CALL_CLOSE } kind;
static const char *const kind_names[] = {"agree", "share", "send", "reduce", "scan", "maxima", "close"};

typedef struct message {
  kind call;
  int64_t length;      /* of the data, or elements */
  int detail[3];       /* code; operator, type, kind of a scan */
  davit_status status; /* of what this rank did before */
  char text[TEXT];
} message;

static _Noreturn void give_up(int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(outcome->why, sizeof outcome->why, format, arguments);
  va_end(arguments);
  _exit(code);
}

static void give(int rank, const void *data, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    const ssize_t now = send(to[rank], (const char *)data + at, bytes - at, MSG_NOSIGNAL);
    if (now <= 0)
      give_up(ALONE, "rank %d has gone before rank %d", rank, me);
    at += (size_t)now;
  }
}

static void take(int rank, void *data, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    const ssize_t now = recv(to[rank], (char *)data + at, bytes - at, 0);
    if (now <= 0)
      give_up(ALONE, "rank %d has gone before rank %d", rank, me);
    at += (size_t)now;
  }
}

/* Rank 0 takes the call of a rank, which has to be its own. */
static message take_call(int rank, kind call) {
  message m;
  take(rank, &m, sizeof m);
  if (m.call != call)
    give_up(UNLIKE, "rank %d calls %s, rank 0 %s", rank, kind_names[m.call], kind_names[call]);
  return m;
}

static davit_status open_ranks(int *rank, int *count, int *local_rank, int *local_count) {
  *rank = *local_rank = me;
  *count = *local_count = RANKS;
  return DAVIT_SUCCESS;
}

static void close_ranks(void) {
  for (int k = 0; k < DVT_INJECTIONS; k++) {
    const int left = dvt_inject((dvt_injection)k, 0);
    outcome->passages[me][k] = INT_MAX - left;
    if (left)
      outcome->fired = false;
  }
  if (me > 0)
    give(0, &(message){.call = CALL_CLOSE}, sizeof(message));
  for (int rank = 1; rank < RANKS && me == 0; rank++)
    (void)take_call(rank, CALL_CLOSE);
  outcome->closed[me] = true;
}

static int agree(int code, size_t bytes, char *text, int *first) {
  message m = {.call = CALL_AGREE, .detail = {code, code ? me : RANKS}};
  snprintf(m.text, sizeof m.text, "%.*s", (int)bytes, text);
  if (me > 0) {
    give(0, &m, sizeof m);
    take(0, &m, sizeof m);
  }
  for (int rank = 1; rank < RANKS && me == 0; rank++) {
    const message other = take_call(rank, CALL_AGREE);
    if (m.detail[0] == 0)
      m = other;
  }
  for (int rank = 1; rank < RANKS && me == 0; rank++)
    give(rank, &m, sizeof m);
  *first = m.detail[1];
  if (me == 0)
    snprintf(text, bytes, "%s", m.text);
  return m.detail[0];
}

static void share(size_t bytes, void *data) {
  if (me > 0) {
    give(0, &(message){.call = CALL_SHARE, .length = (int64_t)bytes}, sizeof(message));
    take(0, data, bytes);
  }
  for (int rank = 1; rank < RANKS && me == 0; rank++) {
    const message m = take_call(rank, CALL_SHARE);
    if (m.length != (int64_t)bytes)
      give_up(UNLIKE, "rank %d shares %lld bytes, rank 0 %zu", rank, (long long)m.length, bytes);
    give(rank, data, bytes);
  }
}

static void send_data(size_t bytes, const void *data) {
  give(0, &(message){.call = CALL_SEND, .length = (int64_t)bytes}, sizeof(message));
  give(0, data, bytes);
}

static void receive_data(int rank, size_t bytes, void *data) {
  const message m = take_call(rank, CALL_SEND);
  if (m.length != (int64_t)bytes)
    give_up(UNLIKE, "rank %d sends %lld bytes, rank 0 wants %zu", rank, (long long)m.length, bytes);
  take(rank, data, bytes);
}

/* The pieces of all ranks on rank 0, one behind the other: elements, then flags. */
typedef struct whole {
  int64_t n, of[RANKS];
  char *x, *flags;
} whole;

static whole gather_pieces(message *m, size_t bytes, const void *x, const uint8_t *flags) {
  static char room[2][1 << 20];
  whole w = {.x = room[0], .flags = room[1]};
  for (int rank = 0; rank < RANKS; rank++) {
    message other = *m;
    if (rank > 0)
      other = take_call(rank, m->call);
    w.of[rank] = other.length;
    const size_t at = (size_t)w.n, count = (size_t)other.length;
    if (rank == 0 && count)
      memcpy(w.x, x, count * bytes);
    if (rank == 0 && count && flags)
      memcpy(w.flags, flags, count);
    if (rank > 0)
      take(rank, w.x + at * bytes, count * bytes);
    if (rank > 0 && flags)
      take(rank, w.flags + at, count);
    w.n += other.length;
    if (m->status == DAVIT_SUCCESS && other.status != DAVIT_SUCCESS) {
      m->status = other.status;
      snprintf(m->text, sizeof m->text, "rank %d: %s", rank, other.text);
    }
  }
  return w;
}

/* A library's call allocates memory, and agrees on whether all have it. */
static message begin(kind call, int64_t n, unsigned op, unsigned type, unsigned scan) {
  message m = {.call = call, .length = n, .detail = {(int)op, (int)type, (int)scan}};
  void *memory = dvt_allocate(1, 8);
  if (!memory) {
    m.status = davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "not enough memory for 8 bytes");
    snprintf(m.text, sizeof m.text, "%s", davit_last_error());
  }
  free(memory);
  return m;
}

static davit_status reduce(davit_operator op, davit_type type, int64_t n, const void *x, void *result) {
  const size_t bytes = davit_type_bytes(type);
  message m = begin(CALL_REDUCE, n, op, type, 0);
  if (me > 0) {
    give(0, &m, sizeof m);
    give(0, x, (size_t)n * bytes);
    take(0, &m, sizeof m);
    take(0, result, bytes);
  } else {
    const whole w = gather_pieces(&m, bytes, x, NULL);
    dvt_ref_reduce(op, type, w.n, w.x, result);
    for (int rank = 1; rank < RANKS; rank++) {
      give(rank, &m, sizeof m);
      give(rank, result, bytes);
    }
  }
  return m.status == DAVIT_SUCCESS ? m.status : davit_fail(m.status, "%s", m.text);
}

static davit_status scan(davit_operator op, davit_type type, davit_scan_kind how, int64_t n, const void *x,
                         const uint8_t *flags, void *y) {
  static char result[1 << 20];
  const size_t bytes = davit_type_bytes(type);
  message m = begin(CALL_SCAN, n, op, type, how);
  if (me > 0) {
    give(0, &m, sizeof m);
    give(0, x, (size_t)n * bytes);
    give(0, flags, flags ? (size_t)n : 0);
    take(0, &m, sizeof m);
    take(0, y, (size_t)n * bytes);
  } else {
    const whole w = gather_pieces(&m, bytes, x, flags);
    dvt_ref_scan(op, type, how, w.n, w.x, flags ? (const uint8_t *)w.flags : NULL, result);
    memcpy(y, result, (size_t)n * bytes);
    for (int64_t rank = 1, at = n; rank < RANKS; at += w.of[rank++]) {
      give((int)rank, &m, sizeof m);
      give((int)rank, result + (size_t)at * bytes, (size_t)w.of[rank] * bytes);
    }
  }
  return m.status == DAVIT_SUCCESS ? m.status : davit_fail(m.status, "%s", m.text);
}

static void maxima(void *context, int count, double *values) {
  (void)context;
  double others[16];
  if (me > 0) {
    give(0, &(message){.call = CALL_MAXIMA, .length = count}, sizeof(message));
    give(0, values, (size_t)count * sizeof *values);
    take(0, values, (size_t)count * sizeof *values);
  }
  for (int rank = 1; rank < RANKS && me == 0; rank++) {
    (void)take_call(rank, CALL_MAXIMA);
    take(rank, others, (size_t)count * sizeof *values);
    for (int i = 0; i < count; i++)
      values[i] = others[i] > values[i] ? others[i] : values[i];
  }
  for (int rank = 1; rank < RANKS && me == 0; rank++)
    give(rank, values, (size_t)count * sizeof *values);
}

/* Exported, because the tool looks it up by its name. */
extern const cli_ranks_table cli_ranks_mpi;
__attribute__((visibility("default"))) const cli_ranks_table cli_ranks_mpi = {
    DAVIT_VERSION, open_ranks, close_ranks, agree, share, send_data, receive_data, reduce, scan, maxima};

/* The linker puts these in place of dlopen() in what this program is linked of. */
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
  const bool asked = name && !strcmp(name, CLI_RANKS_LIBRARY);
  return __real_dlopen(!asked ? name : without_table ? "libdavit_absent.so" : NULL, flags);
}
