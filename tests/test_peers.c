/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between devices, with peer access and without (DAVIT_PEERS=off). Host-offload devices stand in for
 * GPUs: products that treat their memory as separate copy tiles from device to device, or must not. */
#include "tests/support.h"

enum { N = 100000, M = 160 };

static void fill_host(double *x, int64_t n, double seed) {
  for (int64_t i = 0; i < n; i++)
    x[i] = (double)((int64_t)(seed + (double)i * 7) % 11 - 5);
}

/* One pair of devices, by each kind of copy. */
static void copy_between(int from, int to) {
  SCOPE;
  double *out = kept(N * sizeof *out), *back = kept(N * sizeof *back);
  double *here = kept_at(N * sizeof *here, place_for(from)),
         *there = kept_at(N * sizeof *there, place_for(to));
  davit_queue *queue = new_queue(to, 1);
  fill_host(out, N, from + 3 * to);
  CHECK(davit_copy(N * sizeof *out, out, here));
  for (int kind = 0; kind < 4; kind++) {
    CHECK(davit_fill(N * sizeof *there, 0xff, there));
    switch (kind) {
    case 0:
      CHECK(davit_copy(N * sizeof *here, here, there));
      break;
    case 1:
      CHECK(davit_queue_copy(queue, N * sizeof *here, here, there));
      break;
    case 2:
      CHECK(davit_copy_2d(N / 100, 100, sizeof *here, here, N / 100, there, N / 100));
      break;
    default:
      CHECK(davit_queue_copy_2d(queue, N / 100, 100, sizeof *here, here, N / 100, there, N / 100));
    }
    CHECK(davit_queue_synchronize(queue));
    CHECK(davit_copy(N * sizeof *back, there, back));
    assert_memory_equal(out, back, N * sizeof *back);
  }
  CHECK(davit_queue_destroy(queue));
}

static void copy_between_all(void) {
  EACH_DEVICE(from)
    EACH_DEVICE(to)
      copy_between(from, to);
}

/* The bytes that a product copies between devices; its result is right. */
static int64_t bytes_between_devices(void) {
  SCOPE;
  int devices[2];
  double *a = kept(M * M * sizeof *a), *b = kept(M * M * sizeof *b), *c = kept_zeros(M * M * sizeof *c);
  double *expected = kept_zeros(M * M * sizeof *expected);
  davit_level3_report report = {0};
  assert_true(two_devices(devices));
  fill_host(a, M * M, 1);
  fill_host(b, M * M, 2);
  CHECK(davit_dgemm(
      'N', 'N', M, M, M, 1, a, M, b, M, 0, c, M,
      &(davit_level3_options){
          .devices = devices, .device_count = 2, .tile = 40, .separate_memory = true, .report = &report}));
  for (int j = 0; j < M; j++)
    for (int k = 0; k < M; k++)
      for (int i = 0; i < M; i++)
        expected[i + j * M] += a[i + k * M] * b[k + j * M];
  assert_memory_equal(c, expected, M * M * sizeof *c); /* whole numbers: exact */
  return report.bytes_from_peers;
}

static bool any_link(davit_link_kind kind) {
  bool found = false;
  EACH_DEVICE(from)
    EACH_DEVICE(to) {
      davit_link_kind link;
      CHECK(davit_device_link(from, to, &link));
      found = found || link == kind;
    }
  return found;
}

PROBE(without_peers) {
  int devices[2];
  copy_between_all();
  assert_false(any_link(DAVIT_LINK_PEER));
  if (two_devices(devices))
    assert_int_equal(bytes_between_devices(), 0);
}

PROBE(with_peers) {
  int devices[2];
  davit_link_kind link = DAVIT_LINK_STAGED;
  copy_between_all();
  if (two_devices(devices))
    CHECK(davit_device_link(devices[0], devices[1], &link));
  if (link != DAVIT_LINK_STAGED)
    assert_true(bytes_between_devices() > 0);
}

#define REFUSES(name, sentence)                                                                              \
  PROBE(name) {                                                                                              \
    davit_queue *queue;                                                                                      \
    REFUSED(davit_queue_create(DAVIT_HOST, &queue, NULL), sentence);                                         \
  }
REFUSES(with_doubtful_peers, "DAVIT_PEERS is \"maybe\", not on or off")
REFUSES(with_doubtful_blas, "DAVIT_BLAS is \"maybe\", not target")
REFUSES(with_doubtful_devices, "DAVIT_SIMULATE is \"maybe\", not amd")

CASE(copies_between_devices_with_peer_access) {
  try_probe("with_peers", "", "DAVIT_PEERS=");
  try_probe("with_peers", "", "DAVIT_PEERS=on");
}

CASE(copies_between_devices_without_peer_access) {
  try_probe("without_peers", "", "DAVIT_PEERS=off");
  try_probe("without_peers", "", "DAVIT_PEERS=off DAVIT_BACKEND=threads");
}

CASE(other_values_are_refused) {
  try_probe("with_doubtful_peers", "", "DAVIT_PEERS=maybe");
  try_probe("with_doubtful_blas", "", "DAVIT_BLAS=maybe");
  try_probe("with_doubtful_devices", "", "DAVIT_SIMULATE=maybe");
}

int main(int argc, char **argv) {
  return run_case_or_probe(argc, argv, NULL, finalize);
}
