/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that use the same devices at the same time, as those of MPI do: each has its own memory there,
 * and its own results. And the tool as a process among others: where nobody reads what it writes, and where it may not
 * write so much. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/support.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 3, N = 10000, ROUNDS = 100 };

/* Sums that only this process's data give, on memory that comes and goes, while the others do the same. */
static void use(int device, int seed) {
  double host[N], *sum = kept_at(sizeof *sum, DAVIT_PINNED);
  for (int i = 0; i < N; i++)
    host[i] = seed;
  davit_queue *queue = new_queue(device, 1);
  for (int round = 0; round < scaled(ROUNDS); round++) {
    void *there;
    CHECK(davit_malloc(sizeof host, device, &there));
    CHECK(davit_queue_copy(queue, sizeof host, host, there));
    CHECK(davit_queue_reduce(queue, DAVIT_SUM, DAVIT_DOUBLE, N, there, sum, NULL));
    CHECK(davit_queue_synchronize(queue));
    assert_true(*sum == (double)(seed * N));
    CHECK(davit_free(there));
  }
  finish(queue);
}

/* The processes begin when the pipe at standard input is closed. */
PROBE(use_all_devices) {
  char none;
  int devices[MAX_PLACES];
  const int count = all_devices(devices);
  while (read(STDIN_FILENO, &none, 1) > 0) {
  }
  for (int i = 0; i < count; i++)
    use(devices[i], atoi(probe_argument));
}

static pid_t start_process(const int start[2], int seed) {
  char argument[16];
  snprintf(argument, sizeof argument, "%d", seed);
  const pid_t child = fork();
  if (child != 0)
    return child;
  dup2(start[0], STDIN_FILENO);
  close(start[0]);
  close(start[1]);
  execl("/proc/self/exe", "test_processes", "use_all_devices", argument, (char *)NULL);
  _exit(127);
}

CASE(processes_share_the_devices) {
  pid_t children[PROCESSES];
  int start[2], wrong = 0;
  assert_int_equal(pipe(start), 0);
  for (int i = 0; i < PROCESSES; i++)
    children[i] = start_process(start, i + 1);
  close(start[0]);
  close(start[1]);
  for (int i = 0; i < PROCESSES; i++) {
    int status = 1;
    waitpid(children[i], &status, 0);
    wrong += status != 0;
  }
  assert_int_equal(wrong, 0);
}

/* ---- memory of another process ---- */

enum { LARGE = 4 << 20, SMALL = 1000 };

typedef struct message {
  davit_memory_handle large, small;
  int device;
} message;

static void check_bytes(const unsigned char *there, size_t bytes, int value) {
  unsigned char *host = kept(bytes);
  CHECK(davit_copy(bytes, there, host));
  for (size_t i = 0; i < bytes; i++)
    assert_int_equal(host[i], value);
}

/* Every GPU that copies to the exporting one directly reads what is there; then that writes. */
PROBE(import_memory) {
  message m;
  int devices[MAX_PLACES], place;
  const int count = all_devices(devices);
  assert_int_equal(read(STDIN_FILENO, &m, sizeof m), sizeof m);
  for (int i = 0; i < count; i++) {
    davit_link_kind link;
    void *large = NULL, *small = NULL;
    if (!is_gpu(devices[i]))
      continue;
    CHECK(davit_device_link(devices[i], m.device, &link));
    if (link == DAVIT_LINK_STAGED)
      continue;
    CHECK(davit_memory_import(&m.large, devices[i], &large));
    CHECK(davit_memory_import(&m.small, devices[i], &small));
    CHECK(davit_pointer_place((char *)large + LARGE - 1, &place));
    assert_int_equal(place, devices[i]);
    check_bytes(large, LARGE, 3);
    check_bytes(small, SMALL, 5);
    assert_int_equal(davit_memory_export(large, &m.large),
                     DAVIT_INVALID_ARGUMENT); /* it is not this process's */
    CHECK(davit_free(small));
    CHECK(davit_free(large));
    assert_int_equal(davit_free(large), DAVIT_INVALID_ARGUMENT);
  }
  void *large = NULL;
  CHECK(davit_memory_import(&m.large, m.device, &large));
  CHECK(davit_fill(LARGE, 4, large));
  CHECK(davit_free(large));
}

static void export_memory(int device) {
  message m = {.device = device};
  int way[2], status = 1;
  unsigned char *large = kept_at(LARGE, device), *other = kept_at(SMALL, device),
                *small = kept_at(SMALL, device);
  CHECK(davit_fill(SMALL, 9, other));
  CHECK(davit_fill(SMALL, 5, small));
  CHECK(davit_fill(LARGE, 3, large));
  CHECK(davit_memory_export(large, &m.large));
  CHECK(davit_memory_export(small, &m.small));
  assert_int_equal(davit_memory_export(large + 1, &m.large), DAVIT_INVALID_ARGUMENT);
  assert_int_equal(pipe(way), 0);
  assert_int_equal(write(way[1], &m, sizeof m), sizeof m);
  const pid_t child = fork();
  if (child == 0) {
    dup2(way[0], STDIN_FILENO);
    execl("/proc/self/exe", "test_processes", "import_memory", "", (char *)NULL);
    _exit(127);
  }
  close(way[0]);
  close(way[1]);
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  check_bytes(large, LARGE, 4);
  check_bytes(small, SMALL, 5);
  check_bytes(other, SMALL, 9);
}

CASE(memory_of_another_process) {
  int devices[MAX_PLACES];
  const int count = all_devices(devices);
  for (int i = 0; i < count; i++) {
    SCOPE;
    davit_memory_handle handle;
    if (is_gpu(devices[i]))
      export_memory(devices[i]);
    else
      assert_int_equal(davit_memory_export(kept_at(SMALL, devices[i]), &handle), DAVIT_UNSUPPORTED);
  }
}

/* ---- the tool ---- */

/* The tool beside this program, or false. */
static bool find_tool(char path[PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
  assert_true(length > 0);
  path[length] = '\0';
  strcpy(strrchr(path, '/'), "/davit");
  return access(path, X_OK) == 0;
}

/* Runs the tool with `file` as its output, and `ignored` ignored if it is a signal; how it ended, as wait() says, and
 * what it wrote to standard error. */
static int write_points(const char *tool, const char *file, int ignored, char *said, size_t bytes) {
  enum { LIMIT = 4096 };
  int closed[2], errors[2], status = -1;
  assert_true(pipe(closed) == 0 && pipe2(errors, O_CLOEXEC) == 0);
  close(closed[0]);
  const pid_t child = fork();
  if (child == 0) {
    for (int number = 1; number < NSIG; number++)
      signal(number, number == ignored ? SIG_IGN : SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setenv("LLVM_PROFILE_FILE", "/dev/null", 1); /* the counters of lines of all programs would be cut off */
    if (strcmp(file, "-") != 0)
      setrlimit(RLIMIT_FSIZE, &(struct rlimit){LIMIT, LIMIT});
    dup2(closed[1], STDOUT_FILENO);
    dup2(errors[1], STDERR_FILENO);
    close(closed[1]);
    execl(tool, "davit", "points", "-n", "10000", "-f", "-o", file, (char *)NULL);
    _exit(127);
  }
  close(closed[1]);
  close(errors[1]);
  size_t length = 0;
  for (ssize_t more; (more = read(errors[0], said + length, bytes - 1 - length)) > 0;)
    length += (size_t)more;
  said[length] = '\0';
  close(errors[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

static void check_end(const char *tool, const char *file, int number, const char *sentence) {
  char said[1000];
  int status = write_points(tool, file, 0, said, sizeof said);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == number);
  assert_string_equal(said, "");
  status = write_points(tool, file, number, said, sizeof said);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  assert_non_null(strstr(said, sentence));
}

/* The signal ends it, with nothing said and nothing left behind; where the signal is ignored, a sentence does. */
CASE(the_tool_ends_where_it_cannot_write) {
  char tool[PATH_MAX], folder[] = "/tmp/davit_limit_XXXXXX", file[64];
  if (!find_tool(tool))
    skip();
  check_end(tool, "-", SIGPIPE, "cannot be written: Broken pipe");
  assert_non_null(mkdtemp(folder));
  snprintf(file, sizeof file, "%s/points.npy", folder);
  check_end(tool, file, SIGXFSZ, "points.npy: cannot be written: File too large");
  assert_int_equal(rmdir(folder), 0); /* it is empty */
}

/* ---- what a killed process leaves ---- */

/* The file by which LLVM's OpenMP says that process `number` has it, empty, as after a kill. */
static void leave_file(pid_t number) {
  char path[64];
  snprintf(path, sizeof path, "/dev/shm/__KMP_REGISTERED_LIB_%d_%d", (int)number, (int)getuid());
  const int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
  assert_true(file >= 0);
  close(file);
}

static void await_close(int file) {
  char none;
  while (read(file, &none, 1) > 0) {
  }
}

static void expect_success(pid_t child) {
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

CASE(a_number_of_a_killed_process_is_used_again) {
  char tool[PATH_MAX], table[] = "/tmp/davit_number_XXXXXX";
  int ready[2];
  if (!find_tool(tool))
    skip();
  const int file = mkstemp(table);
  assert_true(file >= 0 && write(file, "1,2,3\n", 6) == 6);
  close(file);
  assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ready[1]);
    await_close(ready[0]);
    execl(tool, "davit", "reduce", "--quiet", table, (char *)NULL);
    _exit(127);
  }
  leave_file(child);
  close(ready[0]);
  close(ready[1]);
  expect_success(child);
  unlink(table);
}

int main(int argc, char **argv) {
  return run_case_or_probe(argc, argv, NULL, NULL);
}
