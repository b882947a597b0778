/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: what is said of them is true, on machines with many and with none. */
#include "tests/support.h"

#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

#include "offload/runtime/device.h"

static char own_file[] = "/tmp/tmpfile_XXXXXX"; /* mapped before the library starts */

CASE(test_count_is_the_runtimes) {
  assert_int_equal(device_count(), omp_get_num_devices());
}

/* The architecture that a target region was compiled for. */
static davit_device_kind kind_of_region(int device) {
  int kind = DAVIT_DEVICE_OTHER;
#pragma omp target device(device) map(tofrom : kind)
  {
#if defined(__NVPTX__)
    kind = DAVIT_DEVICE_NVIDIA;
#elif defined(__AMDGCN__)
    kind = DAVIT_DEVICE_AMD;
#else
    kind = omp_is_initial_device() ? DAVIT_DEVICE_CPU : DAVIT_DEVICE_HOST_OFFLOAD;
#endif
  }
  return (davit_device_kind)kind;
}

CASE(test_descriptions_are_true) {
  EACH_DEVICE(device) {
    davit_device_info info;
    memset(&info, 0xee, sizeof info);
    CHECK(davit_device_describe(device, &info));
    assert_int_equal(info.device, device);
    assert_true(info.name[0] != '\0' && memchr(info.name, '\0', sizeof info.name));
    assert_true(memchr(info.bus, '\0', sizeof info.bus) != NULL);
    if (device == DAVIT_HOST)
      assert_int_equal(info.kind, DAVIT_DEVICE_CPU);
    else
      assert_int_equal(info.kind, simulates_amd() ? DAVIT_DEVICE_AMD : kind_of_region(device));
    bool nvidia = info.kind == DAVIT_DEVICE_NVIDIA;
    assert_true(nvidia ? info.compute_capability >= 50 : info.compute_capability == 0);
    assert_true(nvidia == (info.bus[0] != '\0'));
    const bool known = info.kind != DAVIT_DEVICE_OTHER && info.kind != DAVIT_DEVICE_AMD;
    assert_true(!known || (info.memory_bytes > 0 && info.compute_units > 0));
  }
}

/* A host-offload device's memory is the host's: written there, read here. */
CASE(test_host_offload_shares_memory) {
  for (int i = 0; i < device_count(); i++) {
    if (!place_is_host(i))
      continue;
    int *cell = kept_at(sizeof *cell, i);
    *cell = 1;
#pragma omp target device(i) is_device_ptr(cell)
    *cell += 41;
    assert_int_equal(*cell, 42);
  }
}

CASE(test_kind_names) {
  static const char *const names[] = {"cpu", "host-offload", "nvidia", "amd", "other"};
  for (int i = 0; i < COUNT(names); i++)
    assert_string_equal(davit_device_kind_string((davit_device_kind)i), names[i]);
  assert_string_equal(davit_device_kind_string((davit_device_kind)5), "unknown");
  assert_string_equal(davit_device_kind_string((davit_device_kind)-1), "unknown");
}

CASE(test_unknown_devices) {
  const int unknown[] = {device_count(), 1000, DAVIT_PINNED, DAVIT_PAGEABLE, -5, -99, INT_MAX, INT_MIN};
  davit_device_info info;
  davit_link_kind link;
  davit_queue *queue = NULL;
  size_t unused = 7, total = 8;
  void *memory = &total;
  for (int i = 0; i < COUNT(unknown); i++) {
    int d = unknown[i];
    char number[16];
    snprintf(number, sizeof number, "%d", d);
    CHECK_FAILS(davit_device_describe(d, &info), DAVIT_UNKNOWN_DEVICE, number);
    CHECK_FAILS(davit_device_memory(d, &unused, &total), DAVIT_UNKNOWN_DEVICE, number);
    CHECK_FAILS(davit_device_link(d, DAVIT_HOST, &link), DAVIT_UNKNOWN_DEVICE, number);
    CHECK_FAILS(davit_device_link(DAVIT_HOST, d, &link), DAVIT_UNKNOWN_DEVICE, number);
    CHECK_FAILS(davit_device_select(d), DAVIT_UNKNOWN_DEVICE, number);
    CHECK_FAILS(davit_device_synchronize(d), DAVIT_UNKNOWN_DEVICE, number);
    CHECK_FAILS(davit_device_check(d), DAVIT_UNKNOWN_DEVICE, number);
    CHECK_FAILS(davit_queue_create(d, &queue, NULL), DAVIT_UNKNOWN_DEVICE, number);
    if (d != DAVIT_PINNED && d != DAVIT_PAGEABLE) {
      CHECK_FAILS(davit_malloc(1, d, &memory), DAVIT_UNKNOWN_DEVICE, number);
      CHECK_FAILS(davit_memory_trim(d), DAVIT_UNKNOWN_DEVICE, number);
    }
  }
  assert_true(unused == 7 && total == 8 && memory == &total && !queue); /* outputs are untouched */
}

/* ---- the current device ---- */

static int current(void) {
  int device = INT_MIN;
  CHECK(davit_device_current(&device));
  return device;
}

static int device_of_new_queue(void) {
  davit_queue *queue = new_queue(DAVIT_CURRENT, 1);
  int device = INT_MIN;
  CHECK(davit_queue_device(queue, &device));
  CHECK(davit_queue_destroy(queue));
  return device;
}

static void *first_choice(void *found) {
  davit_device_current(found);
  davit_device_select(DAVIT_HOST); /* of this thread alone */
  return NULL;
}

CASE(test_select_round_trip) {
  int devices[MAX_PLACES], count = all_devices(devices);
  int first = count > 1 ? 0 : DAVIT_HOST;
  assert_int_equal(current(), first);
  for (int i = count - 1; i >= 0; i--) {
    CHECK(davit_device_select(devices[i]));
    assert_int_equal(current(), devices[i]);
    CHECK_FAILS(davit_device_select(count), DAVIT_UNKNOWN_DEVICE, "device");
    assert_int_equal(current(), devices[i]);
    assert_int_equal(device_of_new_queue(), devices[i]);
    davit_device_info info;
    CHECK(davit_device_describe(DAVIT_CURRENT, &info));
    assert_int_equal(info.device, devices[i]);
    int elsewhere = INT_MIN;
    join_thread(start_thread(first_choice, &elsewhere));
    assert_int_equal(elsewhere, first);
    assert_int_equal(current(), devices[i]);
    CHECK(davit_device_select(DAVIT_CURRENT)); /* changes nothing */
    assert_int_equal(current(), devices[i]);
  }
  CHECK(davit_device_select(first));
}

/* The peer `cuda` makes its calls on the caller's thread, and leaves the device that they were for. */
static bool changes_cuda(void) {
  const char *backend = getenv("DAVIT_BACKEND");
  return backend && !strcmp(backend, "cuda");
}

static void reduce_scan_and_time(davit_queue *queue, int device, double *numbers) {
  double sum, ms;
  davit_event_state state;
  davit_event *event = new_event();
  davit_timer *timer;
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, 1000, numbers, &sum, ON(davit_reduce_options, &device, 1)));
  CHECK(davit_scan(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, 1000, numbers, numbers,
                   ON(davit_scan_options, &device, 1)));
  CHECK(davit_timer_create(&timer));
  CHECK(davit_timer_start(timer, queue));
  CHECK(davit_queue_reduce(queue, DAVIT_SUM, DAVIT_DOUBLE, 1000, numbers, &sum, NULL));
  CHECK(davit_timer_stop(timer, queue));
  CHECK(davit_event_record(event, queue));
  CHECK(davit_event_query(event, &state));
  CHECK(davit_event_synchronize(event));
  CHECK(davit_timer_elapsed(timer, &ms));
  CHECK(davit_timer_destroy(timer));
}

/* Neither queues nor memory nor copies nor waiting change the caller's choice, davit's, OpenMP's or CUDA's. */
CASE(test_work_leaves_the_choice_alone) {
  enum { BYTES = 1 << 20 }; /* enough for a copy in pieces */
  int devices[MAX_PLACES], count = all_devices(devices), chosen = devices[count - 1];
  int openmp = omp_get_default_device(), cuda = dvt_cuda_current();
  void *pageable = kept_zeros(BYTES);
  CHECK(davit_device_select(chosen));
  for (int i = 0; i < count; i++) {
    davit_queue *queue = new_queue(devices[i], 2);
    double *memory = new_memory(BYTES, place_for(devices[i]));
    CHECK(davit_queue_fill(queue, BYTES, 0, memory));
    CHECK(davit_random(DAVIT_DOUBLE, 100, 1, memory));
    CHECK(davit_device_synchronize(devices[i]));
    CHECK(davit_copy(BYTES, pageable, memory));
    setenv("DAVIT_BLAS", "target", 1);
    CHECK(davit_dgemm('N', 'N', 8, 8, 8, 1, memory, 8, memory + 64, 8, 0, memory + 128, 8,
                      &(davit_level3_options){.devices = &devices[i], .device_count = 1}));
    unsetenv("DAVIT_BLAS");
    reduce_scan_and_time(queue, devices[i], memory);
    CHECK(davit_queue_destroy(queue));
    CHECK(davit_free(memory));
    assert_int_equal(current(), chosen);
    assert_int_equal(omp_get_default_device(), openmp);
    assert_true(changes_cuda() || dvt_cuda_current() == cuda);
  }
  CHECK(davit_device_select(devices[count > 1]));
}

#ifdef DAVIT_WITH_CUDA
unsigned cudaSetDevice(int device);
unsigned cudaPeekAtLastError(void);
unsigned cudaGetLastError(void);

/* The first NVIDIA device, -1 if there is none. */
static int first_nvidia(void) {
  davit_device_info info;
  for (int device = 0; device < device_count(); device++) {
    CHECK(davit_device_describe(device, &info));
    if (info.kind == DAVIT_DEVICE_NVIDIA)
      return device;
  }
  return -1;
}

/* What CUDA refuses davit is reported by that call and by no later one; an error of the program's own is
 * neither reported nor cleared. The current CUDA device stays. */
CASE(test_refused_calls_leave_nothing) {
  enum { FAR = 1 << 20 };
  const int device = first_nvidia(), cuda = dvt_cuda_current();
  static char pages[8192];
  void *pointer;
  if (device < 0)
    skip();
  CHECK(davit_pin(pages, sizeof pages));
  assert_true(davit_pin(pages, sizeof pages) != DAVIT_SUCCESS);
  CHECK(davit_unpin(pages));
  assert_true(davit_unpin(pages) != DAVIT_SUCCESS);
  assert_true(davit_pin((void *)(uintptr_t)FAR, FAR) != DAVIT_SUCCESS);
  assert_true(davit_malloc((size_t)1 << 50, device, &pointer) != DAVIT_SUCCESS);
  assert_true(davit_malloc((size_t)1 << 50, DAVIT_PINNED, &pointer) != DAVIT_SUCCESS);
  assert_int_equal(cudaPeekAtLastError(), 0);
  CHECK(davit_device_check(device));
  assert_int_equal(dvt_cuda_current(), cuda);
  const unsigned own = cudaSetDevice(FAR);
  assert_true(own != 0);
  CHECK(davit_device_check(device));
  assert_int_equal(cudaPeekAtLastError(), own);
  assert_int_equal(cudaGetLastError(), own);
}
#endif

/* The image of this library has no name any more, but a file that the program has made and mapped keeps its
 * name. */
CASE(test_image_files) {
  int devices[MAX_PLACES], unnamed = 0;
  all_devices(devices);
  FILE *maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  char line[512];
  while (fgets(line, sizeof line, maps))
    unnamed += strstr(line, "/tmp/tmpfile_") && strstr(line, " (deleted)\n");
  fclose(maps);
  print_message("%d pieces of images without a name\n", unnamed);
  davit_device_info info;
  CHECK(davit_device_describe(devices[0], &info));
  assert_true(info.kind != DAVIT_DEVICE_HOST_OFFLOAD || unnamed > 0);
  assert_int_equal(access(own_file, F_OK), 0);
  unlink(own_file);
}

/* ---- memory and links ---- */

/* A GPU that only the OpenMP runtime knows. */
static bool says_nothing(int device) {
  davit_device_info info;
  CHECK(davit_device_describe(device, &info));
  return info.memory_bytes == 0;
}

CASE(test_memory_in_numbers) {
  size_t unused = 0, total = 0;
  EACH_DEVICE(device) {
    if (says_nothing(device)) {
      unused = 7;
      CHECK_FAILS(davit_device_memory(device, &unused, &total), DAVIT_UNSUPPORTED, "how much memory");
      assert_int_equal(unused, 7);
      continue;
    }
    CHECK(davit_device_memory(device, &unused, &total));
    assert_true(unused > 0 && unused <= total);
    if (place_is_host(place_for(device)))
      continue; /* other programs come and go */
    enum { BYTES = 256 << 20, SLACK = 64 << 20 };
    size_t during = 0, after = 0;
    void *memory = new_memory(BYTES, device);
    CHECK(davit_device_memory(device, &during, &total));
    CHECK(davit_free(memory)); /* kept, and counted as free */
    CHECK(davit_device_memory(device, &after, &total));
    assert_true(during <= unused - BYTES + SLACK);
    assert_true(after >= unused - SLACK && after <= total);
  }
}

CASE(test_links) {
  EACH_DEVICE(i)
    EACH_DEVICE(j) {
      davit_link_kind there, back;
      CHECK(davit_device_link(i, j, &there));
      CHECK(davit_device_link(j, i, &back));
      assert_int_equal(there, back);
      bool hosts = place_is_host(place_for(i)) && place_is_host(place_for(j));
      assert_int_equal(there == DAVIT_LINK_SAME, i == j || hosts);
      if (there == DAVIT_LINK_PEER) { /* only devices with memory of their own are peers */
        assert_false(place_is_host(place_for(i)));
        assert_false(place_is_host(place_for(j)));
      }
    }
}

CASE(test_default_devices) {
  int devices[MAX_PLACES], count = 0, again = 0, total = device_count(), gpus = 0;
  CHECK(davit_device_defaults(0, NULL, &count));
  assert_true(count >= 1 && count <= (total > 1 ? total : 1));
  for (int i = 0; i < MAX_PLACES; i++)
    devices[i] = 4711;
  CHECK(davit_device_defaults(count - 1, devices, &again)); /* one too few */
  assert_int_equal(again, count);
  assert_int_equal(devices[count - 1], 4711);
  CHECK(davit_device_defaults(MAX_PLACES, devices, &again));
  assert_int_equal(devices[count], 4711);
  for (int i = 0; i < total; i++)
    gpus += !place_is_host(i);
  assert_int_equal(count, gpus ? gpus : total ? total : 1);
  for (int i = 0; i < count; i++) {
    assert_true(i == 0 || devices[i] > devices[i - 1]);
    assert_true(total == 0 ? devices[i] == DAVIT_HOST : place_is_host(devices[i]) == (gpus == 0));
  }
}

/* ---- statuses and the version ---- */

static void *fail_elsewhere(void *differs) {
  *(bool *)differs = davit_last_error()[0] == '\0';
  davit_fail(DAVIT_INTERNAL_ERROR, "of another thread");
  return NULL;
}

CASE(test_statuses) {
  for (int i = 0; i < DAVIT_STATUS_COUNT; i++) {
    assert_true(davit_status_string((davit_status)i)[0] != '\0');
    for (int j = 0; j < i; j++)
      assert_string_not_equal(davit_status_string((davit_status)i), davit_status_string((davit_status)j));
  }
  assert_string_equal(davit_status_string(DAVIT_STATUS_COUNT), "unknown status");
  assert_string_equal(davit_status_string((davit_status)-1), "unknown status");
  assert_int_equal(davit_fail(DAVIT_WORK_FAILED, "line %d of %s", 3, "x"), DAVIT_WORK_FAILED);
  assert_string_equal(davit_last_error(), "line 3 of x");
  davit_fail(DAVIT_WORK_FAILED,
             "a\n\033[1m\177\302\205é\302\240"); /* no control characters, but all letters */
  assert_string_equal(davit_last_error(), "a??[1m???é\302\240");
  assert_int_equal(davit_fail(DAVIT_WORK_FAILED, "line %d of %s", 3, "x"), DAVIT_WORK_FAILED);
  bool empty = false;
  join_thread(start_thread(fail_elsewhere, &empty));
  assert_true(empty);
  assert_string_equal(davit_last_error(), "line 3 of x");
  char lengthy[2000];
  memset(lengthy, 'x', sizeof lengthy - 1);
  lengthy[sizeof lengthy - 1] = '\0';
  davit_fail(DAVIT_WORK_FAILED, "%s", lengthy); /* cut short, not overrun */
  assert_true(strlen(davit_last_error()) > 100 && strlen(davit_last_error()) < sizeof lengthy);
  assert_string_equal(davit_version(), DAVIT_VERSION);
}

int main(void) {
  const int file = mkstemp(own_file);
  if (file < 0 || write(file, "mine", 4) != 4 || mmap(NULL, 4, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED)
    return 1;
  close(file);
  return run_cases(NULL, NULL);
}
