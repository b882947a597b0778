/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that is mapped: where it begins, what it holds, and who has it. And arrays that grow. */
#include "tests/support.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/allocate.h"
#include "src/base/error.h"
#include "src/base/inject.h"
#include "src/base/limit.h"

static const size_t sizes[] = {
    1, 4095, 4096, 4097, DVT_LARGE_PAGE - 1, DVT_LARGE_PAGE, DVT_LARGE_PAGE + 1, (size_t)5 << 20};

/* Whether the page of that byte is mapped. */
static bool is_mapped(const char *byte) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char there;
  const int result = mincore((void *)(byte - (uintptr_t)byte % page), 1, &there);
  assert_true(result == 0 || errno == ENOMEM);
  return result == 0;
}

CASE(test_mapped_memory) {
  for (int s = 0; s < COUNT(sizes); s++) {
    const size_t bytes = sizes[s];
    char *memory = dvt_map(bytes);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % DVT_LARGE_PAGE, 0);
    assert_true(memory[0] == 0 && memory[bytes - 1] == 0);
    memset(memory, 7, bytes);
    assert_true(memory[0] == 7 && memory[bytes - 1] == 7);
    dvt_unmap(memory, bytes);
    assert_false(is_mapped(memory) || is_mapped(memory + bytes - 1));
  }
  dvt_unmap(NULL, 1);
}

/* Each is where it is asked for, though another is there, and zero, though what was there before was not. */
CASE(test_mapped_beside_each_other) {
  char *memory[COUNT(sizes)];
  for (int turn = 0; turn < 2; turn++) {
    for (int s = 0; s < COUNT(sizes); s++) {
      memory[s] = dvt_map(sizes[s]);
      assert_non_null(memory[s]);
      for (size_t i = 0; i < sizes[s]; i++)
        if (memory[s][i] != 0)
          fail_msg("byte %zu of %zu is not 0", i, sizes[s]);
      memset(memory[s], s + 1, sizes[s]);
    }
    for (int s = 0; s < COUNT(sizes); s++) {
      assert_true(memory[s][0] == s + 1 && memory[s][sizes[s] - 1] == s + 1);
      dvt_unmap(memory[s], sizes[s]);
    }
  }
}

static void expect_refused(size_t bytes, const char *words) {
  dvt_error_clear();
  assert_null(dvt_map(bytes));
  if (!strstr(davit_last_error(), words))
    fail_msg("%zu bytes: '%s', not '%s'", bytes, davit_last_error(), words);
}

CASE(test_nothing_and_too_much) {
  static const size_t most[] = {PTRDIFF_MAX - 2 * (size_t)DVT_LARGE_PAGE + 1, PTRDIFF_MAX, SIZE_MAX};
  dvt_error_clear();
  assert_null(dvt_map(0));
  assert_string_equal(davit_last_error(), "");
  for (int i = 0; i < COUNT(most); i++) {
    expect_refused(most[i], "the process may have");
    dvt_memory_allow(SIZE_MAX); /* as if it were there */
    expect_refused(most[i], "no host memory for");
    dvt_memory_allow(0);
  }
  dvt_memory_allow(1 << 26);
  expect_refused((1 << 26) + 1, "the process may have 67108864");
  dvt_memory_allow(0);
}

/* Pages of the process's addresses. */
static long pages_mapped(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%ld", &pages), 1);
  fclose(file);
  return pages;
}

/* What is mapped to find a place at a large page goes back at once. */
CASE(test_no_addresses_are_lost) {
  enum { TIMES = 1000 };
  dvt_unmap(dvt_map(1), 1);
  const long before = pages_mapped();
  for (int i = 0; i < TIMES; i++) {
    char *memory = dvt_map(DVT_LARGE_PAGE);
    assert_non_null(memory);
    dvt_unmap(memory, DVT_LARGE_PAGE);
  }
  assert_true(pages_mapped() - before < TIMES);
}

CASE(test_injected_failure) {
  dvt_inject(DVT_INJECT_HOST_MEMORY, 2);
  char *memory = dvt_map(4096);
  assert_non_null(memory);
  expect_refused(4096, "no host memory for 4096 bytes");
  assert_int_equal(dvt_inject(DVT_INJECT_HOST_MEMORY, 0), 0);
  dvt_unmap(memory, 4096);
}

/* Whether a child after fork() can read the byte: one that cannot ends by SIGSEGV, or as a sanitizer has it. */
static bool child_has(const volatile char *byte) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL); /* cmocka catches it */
    (void)*byte;
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(!WIFSIGNALED(status) || WTERMSIG(status) == SIGSEGV);
  return status == 0;
}

CASE(test_child_does_not_have_it) {
  const char local = 7;
  assert_true(child_has(&local));
  for (int s = 0; s < COUNT(sizes); s++) {
    char *memory = dvt_map(sizes[s]);
    assert_non_null(memory);
    memset(memory, 7, sizes[s]);
    assert_false(child_has(memory));
    assert_false(child_has(memory + sizes[s] - 1));
    assert_true(memory[0] == 7 && memory[sizes[s] - 1] == 7);
    dvt_unmap(memory, sizes[s]);
  }
}

/* What an array had stays, whether it grows by one or by many; room is at least doubled, so that it is rarely asked. */
CASE(test_array_grows) {
  int64_t *array = NULL, room = 0, count = 0, grown = 0;
  for (int64_t more = 1; count < 100000; more = more % 7 + 1) {
    const int64_t before = room;
    assert_true(dvt_grow(&array, &room, count + more, 3, sizeof *array));
    assert_true(room >= count + more && (room == before || (room >= 2 * before && room >= 3)));
    grown += room != before;
    for (int64_t i = 0; i < more; i++, count++)
      array[count] = count * count;
  }
  assert_true(grown < 20);
  assert_true(dvt_grow(&array, &room, 5 * count, 3, sizeof *array)); /* by more than double */
  assert_true(room >= 5 * count);
  for (int64_t i = 0; i < count; i++)
    assert_int_equal(array[i], i * i);
  free(array);
}

CASE(test_array_that_cannot_grow_stays) {
  char *array = NULL;
  int64_t room = 0;
  assert_true(dvt_grow(&array, &room, 10, 0, 1));
  memset(array, 7, 10);
  const char *const before = array;
  assert_false(dvt_grow(&array, &room, INT64_MAX / 4, 0, 64));
  dvt_inject(DVT_INJECT_HOST_MEMORY, 1);
  assert_false(dvt_grow(&array, &room, 11, 0, 1));
  dvt_inject(DVT_INJECT_HOST_MEMORY, 0);
  assert_true(array == before && room == 10 && array[0] == 7 && array[9] == 7);
  free(array);
}
