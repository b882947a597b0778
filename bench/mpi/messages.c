/* SPDX-License-Identifier: Apache-2.0 */
/* What the model takes from the network: latency and bandwidth between two ranks, broadcasts, and the sum of
 * 8 bytes over all ranks. Messages lie in pinned memory, as those of libdavit_mpi do. */
#include <string.h>

#include "bench/mpi/measure.h"

enum { PANEL = 512 };

typedef struct message {
  const world *w;
  int64_t bytes, other; /* of a second message */
  int calls;
  char *data, *second;
} message;

/* `calls` times there and back, between rank 0 and the last one. */
static davit_status ping_pong(void *argument) {
  const message *m = argument;
  const int last = m->w->ranks - 1, count = (int)m->bytes;
  for (int i = 0; i < m->calls; i++)
    if (m->w->me == 0) {
      MPI_Send(m->data, count, MPI_BYTE, last, 0, MPI_COMM_WORLD);
      MPI_Recv(m->data, count, MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (m->w->me == last) {
      MPI_Recv(m->data, count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(m->data, count, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
  return DAVIT_SUCCESS;
}

static davit_status broadcast(void *argument) {
  const message *m = argument;
  MPI_Request request;
  for (int i = 0; i < m->calls; i++) {
    MPI_Ibcast(m->data, (int)m->bytes, MPI_BYTE, i % m->w->ranks, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return DAVIT_SUCCESS;
}

/* A panel of A along the process row and one of B along the process column, at the same time. */
static davit_status panels(void *argument) {
  const message *m = argument;
  const world *w = m->w;
  for (int i = 0; i < m->calls; i++) {
    MPI_Request requests[2];
    MPI_Ibcast(m->data, (int)m->bytes, MPI_BYTE, i % w->cols, w->line[1], &requests[0]);
    MPI_Ibcast(m->second, (int)m->other, MPI_BYTE, i % w->rows, w->line[0], &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  return DAVIT_SUCCESS;
}

static davit_status sum(void *argument) {
  const message *m = argument;
  for (int i = 0; i < m->calls; i++)
    MPI_Allreduce(MPI_IN_PLACE, m->data, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  return DAVIT_SUCCESS;
}

/* Seconds a message; `per_call` messages follow each other in a call. */
static double report(message *m, const char *operation, const char *variant, world_work work, int per_call,
                     double bandwidth) {
  bench_time time;
  world_time(m->w, 1, &work, NULL, m, &time);
  time.median /= m->calls * per_call;
  time.best /= m->calls * per_call;
  const double bytes = (double)(m->bytes + m->other);
  const bench_case what = {
      .operation = operation, .variant = variant, .form = "mpi", .rows = (int64_t)bytes, .bytes = bytes};
  world_report(m->w, &what, m->w->ranks, bandwidth > 0 ? bytes / bandwidth : 0, &time, NULL, NULL);
  return time.median;
}

void measure_messages(const world *w, int64_t n, double *bandwidth) {
  static const int64_t sizes[] = {8,       64,      512,     4096,    16384,  65536,
                                  1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  if (w->ranks == 1)
    return;
  const int64_t left = (n + w->rows - 1) / w->rows * PANEL * (int64_t)sizeof(double),
                right = (n + w->cols - 1) / w->cols * PANEL * (int64_t)sizeof(double);
  const int64_t largest = left > sizes[SIZES - 1] ? left : sizes[SIZES - 1];
  message m = {.w = w, .data = world_memory(DAVIT_PINNED, (size_t)largest)};
  m.second = world_memory(DAVIT_PINNED, (size_t)right);
  memset(m.data, 0, (size_t)largest);
  memset(m.second, 0, (size_t)right);
  for (int i = 0; i < SIZES; i++) {
    m.bytes = sizes[i];
    m.calls = sizes[i] <= 4096 ? 100 : 4;
    const double seconds = report(&m, "ping-pong", NULL, ping_pong, 2, 0);
    *bandwidth = (double)sizes[i] / seconds > *bandwidth ? (double)sizes[i] / seconds : *bandwidth;
  }
  m.bytes = 8;
  m.calls = 100;
  report(&m, "allreduce", NULL, sum, 1, 0);
  report(&m, "broadcast", "all ranks", broadcast, 1, 0);
  m.calls = 4;
  m.bytes = left;
  report(&m, "broadcast", "all ranks", broadcast, 1, *bandwidth);
  m.other = w->rows > 1 ? right : 0; /* a process column of one has it already */
  report(&m, "broadcast", "panels", panels, 1, *bandwidth);
  davit_free(m.data);
  davit_free(m.second);
}
