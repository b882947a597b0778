/* SPDX-License-Identifier: Apache-2.0 */
/* The small programs of the introduction to GPUs, each against the CPU, on the CPU and on a device; the
 * streams on all devices in both orders of issue. */
#include "bench/study/tests/study.h"

#include <omp.h>

#include "bench/study/closest/background.h"

static float *numbers(int64_t n, uint64_t seed) {
  float *x = host_memory(n, sizeof *x);
  for (int64_t i = 0; i < n; i++)
    x[i] = (float)(random_below(&seed, 2001) - 1000) * 0.125f;
  return x;
}

/* ---- shapes ---- */

CASE(test_shapes) {
  int64_t across, down;
  study_shape shape = study_shape_for(1000, 256);
  assert_int_equal(shape.blocks, 4);
  assert_int_equal(study_shape_idle(shape, 1000), 24);
  assert_int_equal(study_shape_for(4000, 256).blocks, 16);
  study_shape_2d(76, 62, 16, &across, &down);
  assert_int_equal(across, 5);
  assert_int_equal(down, 4);
  assert_int_equal(across * 16, 80);
  assert_int_equal(down * 16, 64);
  study_shape_2d(2000, 1500, 16, &across,
                 &down); /* three million pixels; the source prints 150 × 94 blocks */
  assert_int_equal(across, 125);
  assert_int_equal(down, 94);
}

/* ---- kernels ---- */

static void adds(int device, study_shape shape, int64_t n) {
  const int64_t bytes = n * (int64_t)sizeof(float);
  SCOPE;
  float *a = numbers(n, 1), *b = numbers(n, 2), *on_c = there(device, NULL, bytes);
  CHECK(study_vector_add(device, shape, n, there(device, a, bytes), there(device, b, bytes), on_c));
  const float *c = taken(on_c, bytes);
  for (int64_t i = 0; i < n; i++)
    assert_true(c[i] == a[i] + b[i]);
}

CASE(test_vector_add) {
  static const int64_t sizes[] = {1, 255, 256, 257, 1000, 4000, 100003};
  EACH_PLACE(device) {
    EACH(int64_t, n, sizes)
      adds(device, study_shape_for(n, 256), n);
    adds(device, (study_shape){1, 77}, 77); /* one block of N threads */
    adds(device, (study_shape){1, 1024}, 1024);
    adds(device, (study_shape){99, 32}, 50); /* whole blocks have nothing to do */
  }
}

/* With blocks and threads in each other's places, as the source has them three times, small examples still
 * run, which hides the mistake; beyond 1024 blocks there is no such launch. */
CASE(test_swapped_shape) {
  float x[1] = {0};
  for (int64_t n = 1000; n <= 4000; n += 3000) {
    study_shape right = study_shape_for(n, 256), swapped = {right.threads, (int)right.blocks};
    adds(first_device(), swapped, n);
  }
  study_shape right = study_shape_for(1 << 20, 256);
  REFUSED(study_vector_add(first_device(), (study_shape){right.threads, (int)right.blocks}, 1 << 20, x, x, x),
          "threads is 4096");
  REFUSED(study_vector_add(first_device(), (study_shape){3, 256}, 1000, x, x, x), "blocks is 3");
  REFUSED(study_vector_add(first_device(), (study_shape){1, 0}, 0, x, x, x), "threads is 0");
}

CASE(test_picture) {
  static const int64_t sizes[][2] = {{76, 62}, {4, 4}, {1, 100}, {100, 1}, {64, 48}};
  static const int sides[] = {8, 16, 32};
  EACH_PLACE(device)
    EACH(const int64_t *, size, sizes)
      EACH(int, side, sides) {
        const int64_t n = size[0] * size[1];
        const int64_t bytes = n * (int64_t)sizeof(float);
        float *in = numbers(n, 3), *on_out = there(device, NULL, bytes);
        CHECK(study_picture(device, side, size[0], size[1], there(device, in, bytes), on_out));
        const float *out = taken(on_out, bytes);
        for (int64_t i = 0; i < n; i++)
          assert_true(out[i] == 2 * in[i]);
      }
  REFUSED(study_picture(DAVIT_HOST, 4, 4, 4, NULL, NULL), "side is 4");
}

CASE(test_matrix_product) {
  static const int64_t sizes[] = {1, 15, 16, 17, 50, 64};
  EACH_PLACE(device)
    EACH(int64_t, n, sizes)
      for (int tiled = 0; tiled < 2; tiled++) {
        const int64_t bytes = n * n * (int64_t)sizeof(float);
        float *a = numbers(n * n, 4), *b = numbers(n * n, 5), *on_c = there(device, NULL, bytes);
        /* The guards of the zones are NaN: a product that reads on is no number. */
        CHECK(study_square_product(device, tiled, n, there(device, a, bytes), there(device, b, bytes), on_c));
        const float *c = taken(on_c, bytes);
        for (int64_t i = 0; i < n; i++)
          for (int64_t j = 0; j < n; j++) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k < n; k++) {
              sum += (double)a[i * n + k] * (double)b[k * n + j];
              size += fabs((double)a[i * n + k] * (double)b[k * n + j]);
            }
            assert_true(fabs((double)c[i * n + j] - sum) <= 1e-5 * size);
          }
      }
  assert_true(study_square_product_ratio(false) == 1);
  assert_true(study_square_product_ratio(true) == 16);
}

CASE(test_scalar_add) {
  EACH_PLACE(device) {
    int32_t c = 0;
    int32_t *on_c = there(device, &c, sizeof c);
    CHECK(study_scalar_add(device, 2, 7, on_c));
    take(on_c, sizeof c, &c);
    assert_int_equal(c, 9);
  }
}

/* ---- atomics ---- */

CASE(test_cas) {
  uint32_t word = 5;
  assert_int_equal(study_cas(&word, 4, 9), 5);
  assert_int_equal(word, 5);
  assert_int_equal(study_cas(&word, 5, 9), 5);
  assert_int_equal(word, 9);
}

CASE(test_atomic_minimum) {
  static const int64_t sizes[] = {1, 100, 4096, 30001};
  EACH_PLACE(device)
    EACH(int64_t, n, sizes) {
      float *x = numbers(n, 6), right = INFINITY;
      for (int64_t i = 0; i < n; i++)
        right = fminf(right, x[i]);
      uint32_t minimum = study_bits(INFINITY);
      float *on_x = there(device, x, n * (int64_t)sizeof *x);
      uint32_t *on_minimum = there(device, &minimum, sizeof minimum);
      for (int i = 0; i < 2; i++) /* the second time nothing is less */
        CHECK(study_atomic_minimum(device, n, on_x, on_minimum));
      take(on_minimum, sizeof minimum, &minimum);
      assert_true(study_float(minimum) == right);
    }
}

/* Another thread writes between an attempt's look and its exchange. */
CASE(test_atomic_minimum_in_between) {
  uint32_t word = study_bits(7), assumed = study_bits(9);
  assert_false(study_atomic_min_try(&word, 5, &assumed));
  assert_true(study_float(word) == 7 && study_float(assumed) == 7);
  assert_true(study_atomic_min_try(&word, 5, &assumed));
  assert_true(study_float(word) == 5);
  assert_true(study_atomic_min_try(&word, 6, &word)); /* what is there is smaller */
  assert_true(study_float(word) == 5);
  word = study_bits(4);
  assumed = study_bits(9);
  assert_false(study_atomic_min_try(&word, 5, &assumed));
  assert_true(study_atomic_min_try(&word, 5, &assumed)); /* the other one was smaller */
  assert_true(study_float(word) == 4);
}

/* Host threads that meet at many words one after another: no minimum is lost. */
CASE(test_atomic_minimum_of_threads) {
  enum { WORDS = 1000, ROUNDS = 200, THREADS = 4 };
  static uint32_t words[WORDS];
  for (int round = 0; round < ROUNDS; round++) {
    for (int w = 0; w < WORDS; w++)
      words[w] = study_bits(INFINITY);
#pragma omp parallel num_threads(THREADS)
    for (int w = 0; w < WORDS; w++)
      for (int step = THREADS; step >= 0; step--)
        study_atomic_min(&words[w], (float)(THREADS * step + (omp_get_thread_num() + w) % THREADS));
    for (int w = 0; w < WORDS; w++)
      assert_true(study_float(words[w]) == 0);
  }
}

/* ---- layouts ---- */

CASE(test_pixels) {
  enum { N = 1000 };
  uint64_t seed = 7;
  uint8_t colours[N][3];
  for (int i = 0; i < N; i++)
    for (int c = 0; c < 3; c++)
      colours[i][c] = (uint8_t)random_below(&seed, 256);
  assert_int_equal(study_pixels_bytes(STUDY_AOS, N), 3 * N);
  assert_int_equal(study_pixels_bytes(STUDY_AOS_PADDED, N), 4 * N);
  assert_int_equal(study_pixels_bytes(STUDY_SOA, N), 3 * N);
  EACH_PLACE(device)
    for (study_layout layout = 0; layout < STUDY_LAYOUTS; layout++) {
      study_layout l = (study_layout)layout;
      uint8_t *pixels = host_memory(study_pixels_bytes(l, N), 1);
      for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++)
          pixels[study_pixel_at(l, N, i, c)] = colours[i][c];
      uint8_t *in = there(device, pixels, study_pixels_bytes(l, N)), *on_grey = there(device, NULL, N),
              *on_red = there(device, NULL, N);
      CHECK(study_grey(device, l, N, in, on_grey));
      CHECK(study_red(device, l, N, in, on_red));
      const uint8_t *grey = taken(on_grey, N), *red = taken(on_red, N);
      for (int i = 0; i < N; i++) {
        assert_int_equal(grey[i], (colours[i][0] + colours[i][1] + colours[i][2]) / 3);
        assert_int_equal(red[i], colours[i][0]);
      }
    }
  REFUSED(study_grey(DAVIT_HOST, STUDY_LAYOUTS, 0, NULL, NULL), "layout is 3");
}

CASE(test_norms) {
  enum { N = 1003 };
  float *aos = numbers(2 * N, 8), soa[2 * N], out[2][N] = {{0}};
  for (int i = 0; i < N; i++) {
    soa[i] = aos[2 * i];
    soa[N + i] = aos[2 * i + 1];
  }
  EACH_PLACE(device) {
    for (int s = 0; s < 2; s++) {
      float *on_out = there(device, NULL, sizeof out[s]);
      CHECK(study_norms(device, s, N, there(device, s ? soa : aos, sizeof soa), on_out));
      take(on_out, sizeof out[s], out[s]);
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    for (int i = 0; i < N; i++)
      assert_true(out[0][i] == fabsf(aos[2 * i]) + fabsf(aos[2 * i + 1]));
  }
}

/* ---- unified memory ---- */

/* The device reads what the host wrote, and the host what the device wrote, under one address. */
CASE(test_unified_memory) {
  enum { N = 1003 };
  float *x = numbers(2 * N, 9);
  EACH_PLACE(device) {
    float *points = study_unified_memory(device, sizeof(float) * 3 * N);
    if (!points)
      continue; /* an OpenMP runtime without offload */
    float *out = points + 2 * N;
    for (int round = 0; round < 2; round++) {
      for (int i = 0; i < 2 * N; i++)
        points[i] = x[i] + (float)round;
      CHECK(study_norms(device, false, N, points, out));
      for (int i = 0; i < N; i++)
        assert_true(out[i] == fabsf(points[2 * i]) + fabsf(points[2 * i + 1]));
    }
    study_unified_free(device, points);
  }
}

/* ---- streams ---- */

CASE(test_streams) {
  static const int64_t sizes[] = {2, 3, 1000, 100 * 512 * 2 + 5};
  int devices[MAX_PLACES], count = all_devices(devices);
  for (int d = 0; d < count; d++)
    EACH(int64_t, n, sizes)
      for (int breadth = 0; breadth < 2; breadth++) {
        size_t bytes = (size_t)n * sizeof(int32_t);
        int32_t *input = kept_at(bytes, DAVIT_PINNED), *output = kept_at(bytes, DAVIT_PINNED);
        study_streams streams = {.queue = new_queue(devices[d], 2),
                                 .breadth_first = breadth,
                                 .n = n,
                                 .input = input,
                                 .output = output,
                                 .device_input = kept_at(bytes, place_for(devices[d])),
                                 .device_output = kept_at(bytes, place_for(devices[d]))};
        double elapsed = -1;
        for (int64_t i = 0; i < n; i++) {
          input[i] = (int32_t)(i * 7 - 3);
          output[i] = 0;
        }
        CHECK(study_streams_run(&streams, &elapsed));
        for (int64_t i = 0; i < n; i++)
          assert_int_equal(output[i], study_streams_kernel(input[i]));
        assert_true(elapsed >= 0);
        CHECK(davit_queue_destroy(streams.queue));
      }
}

/* A queue with one sub-queue has no second stream; a failure leaves the queue usable. */
CASE(test_streams_need_two) {
  int32_t x[2] = {0};
  double elapsed = 5;
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  study_streams streams = {queue, false, 2, x, x, x, x};
  REFUSED(study_streams_run(&streams, &elapsed), "");
  assert_true(elapsed == 5);
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_queue_destroy(queue));
}
