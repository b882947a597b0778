/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges for profilers, as a tool that NVTX has loaded sees them (tests/outside/nvtx_tool.c). */
#include <dlfcn.h>

#include "tests/support.h"

static int (*count_of)(const char *name, int *open);

static void *tool(const char *symbol) {
  const char *path = getenv("NVTX_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
  if (!library)
    fail_msg("NVTX has not loaded the tool");
  return dlsym(library, symbol);
}

static int count(const char *name) {
  int open;
  return count_of(name, &open);
}

static davit_status end_thread(void *unused) {
  (void)unused;
  pthread_exit(NULL);
}

static davit_status no_regions(const davit_region_site *site, void *argument) {
  (void)site, (void)argument;
  return DAVIT_SUCCESS;
}

static davit_status end_generator(const davit_region_site *site, void *argument) {
  (void)site;
  return end_thread(argument);
}

CASE(commands_are_ranges) {
  if (!getenv("NVTX_INJECTION64_PATH"))
    skip(); /* built without CUDA */
  enum { N = 4096 };
  atomic_int ran = 0;
  double *x = kept_at(N * sizeof *x, DAVIT_CURRENT), *y = kept(N * sizeof *y);
  davit_queue *queue = new_queue(DAVIT_CURRENT, 1);
  CHECK(davit_queue_fill(queue, N * sizeof *x, 0, x));
  CHECK(davit_queue_daxpy(queue, N, 2, x, 1, x, 1, NULL));
  CHECK(davit_queue_copy(queue, N * sizeof *x, x, y));
  CHECK(davit_queue_host_function(queue, add_one, &ran));
  CHECK(davit_queue_region_nowait(queue, no_regions, NULL));
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_queue_host_function(queue, end_thread, NULL));
  CHECK_FAILS(davit_queue_synchronize(queue), DAVIT_WORK_FAILED, "");
  CHECK(davit_queue_region_nowait(queue, end_generator, NULL));
  CHECK_FAILS(davit_queue_synchronize(queue), DAVIT_WORK_FAILED, "");
  count_of = (__typeof__(count_of))tool("nvtx_tool_count");
  assert_string_equal(((const char *(*)(void))tool("nvtx_tool_domain"))(), "davit");
  assert_int_equal(count("fill"), 1);
  assert_int_equal(count("axpy"), 1);
  assert_int_equal(count("copy"), 1);
  assert_int_equal(count("host function"), 2);
  assert_int_equal(count("nowait region"), 2);
  finish(queue);
  double sum = 0;
  const int before = count(NULL);
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, N, y, &sum, NULL));
  assert_true(count(NULL) > before && count("reduce") > 0);
}

/* What has begun ends, also in a function that ends its thread, and where copies are staged on a GPU. */
CASE(ranges_end) {
  if (!getenv("NVTX_INJECTION64_PATH"))
    skip();
  int open = -1;
  count_of("", &open);
  assert_int_equal(open, 0);
}
