/* SPDX-License-Identifier: Apache-2.0 */
/* Failures made on purpose in the tool: every sub-command, with the n-th allocation, thread, command or file
 * operation failing, for every n that it reaches.
 *
 * Whatever fails, the tool ends with an exit code, one line on standard error, and the folder of its outputs
 * as it was; or it does without what failed, and its outputs are those of an undisturbed run. LeakSanitizer
 * looks at memory, this file at descriptors. A run is a child of this process, which has started no runtime
 * and no thread.
 *
 * Files fail in the kernel's place: a filter passes their system calls to this process (seccomp_unotify(2)),
 * which answers the n-th on a file of the test with EIO. So what the C library, zlib and libsndfile do is
 * reached as well. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/tool.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* ---- commands ---- */

/* Run in a folder `out` beside the folder `in`; `input` is a file for standard input. */
typedef struct command {
  const char *words, *input;
  bool varies; /* its outputs differ from run to run */
} command;

static const command commands[] = {
    {.words = "version"},
    {.words = "help gemm"},
    {.words = "devices --json"},
    {.words = "demo --size 8 --json"},
    {.words = "gemm ../in/m.npy ../in/m.mtx -o o.npy --check --quiet"},
    {.words = "gemm - ../in/m.npy --c0 ../in/m.npy --beta 1 -o - --devices cpu", .input = "m.npy"},
    {.words = "gemv ../in/m.npy ../in/v.npy -o o.mtx --check --quiet"},
    {.words = "axpy ../in/v.npy ../in/v.npy -o o.csv --check --quiet"},
    {.words = "dot ../in/v.npy ../in/v.npy --check --quiet"},
    {.words = "reduce ../in/m.npy --op max --json"},
    {.words = "scan ../in/v.npy --flags ../in/f.npy -o o.npy --check --quiet"},
    {.words = "stencil ../in/m.npy -o o.npy --check --quiet"},
    {.words = "atax ../in/m.npy ../in/v.npy -o o.npy --check --quiet"},
    {.words = "covariance ../in/m.npy -o o.npy --mean p.npy --check --quiet"},
    {.words = "solve ../in/d.npy ../in/v.npy -o o.npy --check --quiet"},
    {.words = "factor ../in/d.npy -o o.mtx --check --quiet"},
    {.words = "align ../in/q.fa ../in/t.fq -o o.tsv --cigar --check --quiet"},
    {.words = "features ../in/s.wav -o o.npy --check --quiet"},
    {.words = "features ../in/s.wav --rate 8000 -o o.npy"},
    {.words =
         "detect ../in/s.wav --effect ../in/e.wav --permutations 20 -o o.tsv --plot p.svg --check --quiet"},
    {.words = "closest ../in/p.csv --json --check --quiet"},
    {.words = "neighbors ../in/p.csv --k 3 -o o.npy --distances p.npy --check --quiet"},
    {.words = "neighbors ../in/p.csv --queries ../in/p.csv --radius 1 --offsets o.csv --json"},
    {.words = "cluster ../in/p.csv --emst --json --check --quiet"},
    {.words = "cluster ../in/p.csv --eps 1 --min-points 2 -o o.npy --check --quiet"},
    {.words = "points -n 200 -o o.csv --dim 3"},
    {.words = "occupancy --threads 256 --card A100 --sweep shared"},
    {.words = "tune stencil --size 500 --budget 0 --repeat 1 --devices host -o o.tsv", .varies = true},
    {.words = "bench fake --json", .varies = true},
    {.words = "bench rows --report o.html"},
    {.words = "bench --from ../in/r.json --compare ../in/r.json --report o.html"},
    {.words = "bench --from ../in/r.json --compare ../in/r.json --json", .varies = true},
};

/* ---- folders ---- */

/* One channel of 16-bit noise at 22,050 Hz, the same for the same seed. */
static void write_sound(const char *name, uint64_t seed, int16_t *samples, uint32_t count) {
  const uint32_t size = 2 * count;
  unsigned char header[44] = "RIFF....WAVEfmt \x10\0\0\0\1\0\1\0\x22\x56\0\0\x44\xac\0\0\2\0\x10\0data";
  for (uint32_t i = 0; i < count; i++)
    samples[i] = (int16_t)(random_below(&seed, 20000) - 10000);
  memcpy(header + 4, &(uint32_t){36 + size}, 4);
  memcpy(header + 40, &size, 4);
  FILE *file = fopen(path_of(name), "wb");
  assert_true(file && fwrite(header, 44, 1, file) == 1 && fwrite(samples, size, 1, file) == 1 &&
              !fclose(file));
}

static void write_inputs(void) {
  enum { N = 12, SAMPLES = 30000 };
  static int16_t samples[SAMPLES];
  double m[N * N];
  char text[4096];
  int used = snprintf(text, sizeof text, "%%%%MatrixMarket matrix array real general\n%d %d\n", N, N);
  for (int i = 0; i < N * N; i++) {
    m[i] = i * 7 % 11 - 5;
    used += snprintf(text + used, sizeof text - (size_t)used, "%g\n", m[i]);
  }
  write_text("in/m.mtx", text);
  write_npy("in/m.npy", "<f8", "(12, 12)", m, sizeof m);
  write_npy("in/v.npy", "<f8", "(12,)", m, N * sizeof *m);
  for (int i = 0; i < N; i++)
    m[i * (N + 1)] = 100; /* so much that the matrix is positive definite */
  write_npy("in/d.npy", "<f8", "(12, 12)", m, sizeof m);
  write_npy("in/f.npy", "|u1", "(12,)", "\1\0\0\1\0\0\0\0\1\0\0\0", N);
  write_text("in/p.csv", "0,0\n1,5\n2,9\n7,7\n3,2\n8,1\n2.5,2\n");
  write_text("in/q.fa", ">one\nACGTACGTTAGC\n>two\nGGGTTTACG\n");
  write_text("in/t.fq", "@a\nACGTACGTTAGC\n+\nIIIIIIIIIIII\n@b\nTTTACGTAC\n+\nIIIIIIIII\n");
  write_sound("in/s.wav", 1, samples, SAMPLES);
  write_sound("in/e.wav", 2, samples, SAMPLES / 6);
  write_text("in/r.json",
             "{\"benchmark\": \"a\", \"machine\": {\"devices\": [{\"device\": 0, \"kind\": \"cpu\"}]}, "
             "\"rows\": [{\"device\": 0, \"operation\": \"o\", \"n\": 1, \"us\": 2, \"peer_us\": 3}, "
             "{\"device\": 0, \"operation\": \"o\", \"n\": 2, \"us\": 2, \"floor_us\": 1}]}");
  write_text("in/bench_rows", "#!/bin/sh\ncat ../in/r.json\n");
  assert_int_equal(chmod(path_of("in/bench_rows"), 0755), 0);
  write_text("in/bench_fake", "#!/bin/sh\necho '{\"time\": 1}'\n");
  assert_int_equal(chmod(path_of("in/bench_fake"), 0755), 0);
}

static int is_file(const struct dirent *entry) {
  return entry->d_name[0] != '.' || entry->d_name[1];
}

/* Calls visit(path, name) for each file of `out`, in the order of the names. */
static void each_output(void (*visit)(const char *path, const char *name)) {
  struct dirent **entries;
  const int count = scandir(path_of("out"), &entries, is_file, alphasort);
  for (int i = 0; i < count; i++) {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "out/%s", entries[i]->d_name);
    if (strcmp(entries[i]->d_name, ".."))
      visit(path_of(name), entries[i]->d_name);
    free(entries[i]);
  }
  if (count >= 0)
    free(entries);
}

static void remove_output(const char *path, const char *name) {
  (void)name;
  assert_int_equal(unlink(path), 0);
}

static char description[2048];

static void describe_output(const char *path, const char *name) {
  struct stat about;
  assert_int_equal(stat(path, &about), 0);
  const size_t used = strlen(description);
  snprintf(description + used, sizeof description - used, "%s %lld %llx\n", name, (long long)about.st_size,
           (unsigned long long)digest_of(path));
}

/* Names, sizes and hashes of all outputs. */
static char *describe_outputs(void) {
  description[0] = 0;
  each_output(describe_output);
  return strdup(description);
}

/* The folder is empty, or has older files of the outputs' names. */
static void prepare_outputs(bool older) {
  static const char *const names[] = {"out/o.npy", "out/p.npy", "out/o.mtx", "out/o.csv", "out/o.tsv"};
  each_output(remove_output);
  for (int i = 0; older && i < COUNT(names); i++)
    write_text(names[i], "old\n");
}

/* ---- files that fail ---- */

enum { FILES = DVT_INJECTIONS, KINDS };

/* System calls on files, with the argument that is the path, or else the descriptor. */
typedef struct call {
  int number, path, descriptor;
} call;

static const call calls[] = {
    {SYS_openat, 1, -1},     {SYS_newfstatat, 1, 0},  {SYS_statx, 1, 0},     {SYS_faccessat, 1, -1},
    {SYS_faccessat2, 1, -1}, {SYS_readlinkat, 1, -1}, {SYS_renameat, 1, -1}, {SYS_renameat2, 1, -1},
    {SYS_linkat, 1, 0},      {SYS_fchmod, -1, 0},     {SYS_fchown, -1, 0},   {SYS_read, -1, 0},
    {SYS_pread64, -1, 0},    {SYS_readv, -1, 0},      {SYS_write, -1, 0},    {SYS_pwrite64, -1, 0},
    {SYS_writev, -1, 0},     {SYS_lseek, -1, 0},      {SYS_fstat, -1, 0},    {SYS_close, -1, 0},
    {SYS_fsync, -1, 0},      {SYS_ftruncate, -1, 0},  {SYS_mmap, -1, 4},     {SYS_dup, -1, 0},
    {SYS_fcntl, -1, 0},      {SYS_getdents64, -1, 0},
#ifdef SYS_open /* of older architectures */
    {SYS_open, 0, -1},       {SYS_stat, 0, -1},       {SYS_lstat, 0, -1},    {SYS_access, 0, -1},
    {SYS_readlink, 0, -1},   {SYS_rename, 0, -1},     {SYS_link, 0, -1},
#endif
};

/* Passes the calls to the process that reads the descriptor; -1 where the kernel forbids it. */
static int watch_calls(void) {
  struct sock_filter filter[2 + 2 * COUNT(calls)] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  unsigned short length = 1;
  for (int i = 0; i < COUNT(calls); i++) {
    filter[length++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i].number, 0, 1);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
  }
  filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {length, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    return -1;
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* A descriptor through a socket; the receiver gets -1 for none. */
static void send_descriptor(int socket, int descriptor) {
  char space[CMSG_SPACE(sizeof descriptor)] = {0}, byte = 0;
  struct iovec data = {&byte, 1};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
  if (descriptor >= 0) {
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    *CMSG_FIRSTHDR(&message) = (struct cmsghdr){CMSG_LEN(sizeof descriptor), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &descriptor, sizeof descriptor);
  }
  if (sendmsg(socket, &message, 0) != 1)
    _exit(99);
}

static int receive_descriptor(int socket) {
  char space[CMSG_SPACE(sizeof(int))] = {0}, byte;
  struct iovec data = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
  int descriptor = -1;
  if (recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message))
    memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
  return descriptor;
}

static bool is_ours(const char *path) {
  const size_t length = strlen(root);
  return !strncmp(path, root, length) && path[length] == '/';
}

static bool descriptor_is_ours(pid_t pid, uint64_t descriptor) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)pid, (int)descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  return is_ours(path);
}

/* Relative paths are in `out`. */
static bool path_is_ours(pid_t pid, uint64_t address, bool *empty) {
  char path[512] = "";
  const size_t page = 4096, first = page - address % page;
  struct iovec local = {path, sizeof path - 1},
               remote[2] = {{(void *)(uintptr_t)address, first < sizeof path ? first : sizeof path - 1},
                            {(void *)(uintptr_t)(address + first), sizeof path}};
  const bool read = process_vm_readv(pid, &local, 1, remote, first < sizeof path ? 2 : 1, 0) > 0;
  *empty = read && !path[0];
  return read && path[0] && (path[0] != '/' || is_ours(path));
}

static bool call_is_ours(const struct seccomp_notif *request, pid_t tool) {
  char task[64];
  snprintf(task, sizeof task, "/proc/%d/task/%d", (int)tool, (int)request->pid);
  if (access(task, F_OK)) /* a benchmark that the tool runs */
    return false;
  const pid_t pid = (pid_t)request->pid;
  const call *c = calls;
  while (c->number != request->data.nr)
    c++;
  bool empty = true;
  if (c->path >= 0 && path_is_ours(pid, request->data.args[c->path], &empty))
    return true;
  return empty && c->descriptor >= 0 && descriptor_is_ours(pid, request->data.args[c->descriptor]);
}

/* What the child tells beside its exit code. */
static struct outcome {
  bool fired;
  int opened;   /* descriptors of our files that are left */
  int unclosed; /* by the failure */
  int passages[DVT_INJECTIONS];
} *outcome;

/* Answers until all watched threads have ended; whether the n-th call came. */
static bool fail_call(int listener, pid_t tool, int n) {
  int count = 0;
  struct pollfd ready = {.fd = listener, .events = POLLIN};
  while (poll(&ready, 1, -1) == 1 && ready.revents & POLLIN) {
    struct seccomp_notif request = {.id = 0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request))
      continue; /* a signal has ended the thread meanwhile */
    struct seccomp_notif_resp answer = {.id = request.id};
    if (call_is_ours(&request, tool) && ++count == n) {
      answer.error = -EIO;
      outcome->unclosed = request.data.nr == SYS_close;
    } else
      answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
  return n > 0 && count >= n;
}

/* ---- one run ---- */

typedef struct ending {
  int status;
  bool fired;
  char words[4096]; /* on standard error */
} ending;

static char *error_file(void) {
  static char path[PATH_MAX + 8];
  snprintf(path, sizeof path, "%s.error", root);
  return path;
}

static int open_descriptors(void) {
  int count = 0;
  for (unsigned i = 0; i < 256; i++)
    count += descriptor_is_ours(getpid(), i);
  return count;
}

static void be_the_tool(const command *c, int kind, int n, int socket) {
  char words[512], input[64], *argv[MOST_WORDS];
  const int argc = split(c->words, words, sizeof words, argv);
  snprintf(input, sizeof input, "in/%s", c->input ? c->input : "");
  redirect(STDIN_FILENO, c->input ? path_of(input) : "/dev/null", O_RDONLY);
  redirect(STDOUT_FILENO, path_of("standard"), O_WRONLY | O_CREAT | O_TRUNC);
  redirect(STDERR_FILENO, error_file(), O_WRONLY | O_CREAT | O_TRUNC);
  setenv("DAVIT_BENCH_DIR", path_of("in"), 1);
  begin_tool();
  const int before = open_descriptors();
  if (kind == FILES)
    send_descriptor(socket, watch_calls());
  else if (n == 0)
    count_passages();
  else
    dvt_inject((dvt_injection)kind, n);
  const int code = davit_main(argc, argv);
  for (int k = 0; k < DVT_INJECTIONS && n == 0; k++)
    outcome->passages[k] = INT_MAX - dvt_inject((dvt_injection)k, 0);
  bool armed = n == 0;
  for (int i = 0; kind != FILES && i < n && !armed; i++)
    armed = dvt_injected((dvt_injection)kind);
  outcome->fired = !armed;
  outcome->opened = open_descriptors() - before;
  if (outcome->unclosed) /* libraries may lose their memory then */
    _exit(code);
  exit(code);
}

static ending run_tool(const command *c, int kind, int n) {
  int pair[2];
  ending e = {.fired = false};
  assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  *outcome = (struct outcome){.fired = true};
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0)
    be_the_tool(c, kind, n, pair[1]);
  close(pair[1]);
  bool fired = false;
  if (kind == FILES) {
    const int listener = receive_descriptor(pair[0]);
    fired = listener >= 0 && fail_call(listener, child, n);
    close(listener);
  }
  close(pair[0]);
  assert_int_equal(waitpid(child, &e.status, 0), child);
  e.fired = kind == FILES ? fired : outcome->fired;
  read_text(error_file(), e.words, sizeof e.words);
  return e;
}

/* ---- all runs ---- */

static bool is_one_line(const char *words) {
  const char *end = strchr(words, '\n');
  return !strncmp(words, "davit", 5) && end && !end[1];
}

/* What is wrong with a run, NULL if nothing is. */
static const char *judge(const command *c, const ending *e, const char *before, const char *right) {
  char *after = describe_outputs();
  const bool kept = !strcmp(after, before), is_right = c->varies || !strcmp(after, right);
  free(after);
  if (!WIFEXITED(e->status))
    return "ended by a signal";
  const int code = WEXITSTATUS(e->status);
  if (code > 4)
    return "a sanitizer's exit code";
  if ((code > 0 || *e->words) && !is_one_line(e->words))
    return "expected one line";
  if (outcome->opened > outcome->unclosed)
    return "a file was left open";
  if (code > 0 && !kept && !(is_right && strstr(e->words, "standard output"))) /* the report comes last */
    return "outputs were touched";
  if (code == 0 && !is_right)
    return "success with other outputs";
  return NULL;
}

/* An undisturbed run: its outputs, and how often it passes what may fail. */
typedef struct reference {
  char *outputs;
  int passages[DVT_INJECTIONS];
} reference;

static const reference *reference_of(const command *c, bool older) {
  static reference of[COUNT(commands)][2];
  reference *r = &of[c - commands][older];
  if (r->outputs)
    return r;
  prepare_outputs(older);
  const ending e = run_tool(c, DVT_INJECT_RUN, 0);
  if (e.status)
    fail_msg("davit %s: %s", c->words, e.words);
  memcpy(r->passages, outcome->passages, sizeof r->passages);
  r->outputs = describe_outputs();
  return r;
}

/* The first n, up to 8, then a sample: as many as there are, of files until a run ends before it comes to the failure.
 * How many runs were wrong. */
static int fail_command(const command *c, int kind, bool older, int *failures) {
  const int all = scaled(8), step = 100 / scaled(scaled(100));
  uint64_t seed = 1;
  int wrong = 0;
  bool fired = true;
  const reference *right = reference_of(c, older);
  for (int n = 1; fired && (kind == FILES || n <= right->passages[kind]);
       n += n < all ? 1 : 1 + random_below(&seed, 2 * step - 1)) {
    prepare_outputs(older);
    char *before = describe_outputs();
    const ending e = run_tool(c, kind, n);
    const char *complaint = judge(c, &e, before, right->outputs);
    if (complaint)
      print_error("davit %s\n  kind %d, passage %d, status %x: %s\n  %s\n", c->words, kind, n,
                  (unsigned)e.status, complaint, e.words);
    wrong += complaint != NULL;
    fired = e.fired;
    *failures += fired;
    free(before);
  }
  return wrong;
}

static void fail_all(int kind) {
  int failures = 0, wrong = 0;
  for (const command *c = commands; c < commands + COUNT(commands); c++) {
    wrong += fail_command(c, kind, false, &failures);
    if (kind == FILES && strstr(c->words, "-o o") && !c->varies)
      wrong += fail_command(c, kind, true, &failures);
  }
  print_message("%d failures\n", failures);
  assert_int_equal(wrong, 0);
  assert_true(failures > 0);
}

CASE(test_device_memory) {
  fail_all(DVT_INJECT_DEVICE_MEMORY);
}

CASE(test_pinned_memory) {
  fail_all(DVT_INJECT_PINNED_MEMORY);
}

CASE(test_host_memory) {
  fail_all(DVT_INJECT_HOST_MEMORY);
}

CASE(test_thread) {
  fail_all(DVT_INJECT_THREAD);
}

CASE(test_unpack) {
  fail_all(DVT_INJECT_UNPACK);
}

CASE(test_run) {
  fail_all(DVT_INJECT_RUN);
}

CASE(test_files) {
  const pid_t child = fork();
  int status = 1;
  if (child == 0)
    _exit(watch_calls() < 0);
  if (waitpid(child, &status, 0) != child || status) {
    print_message("the kernel does not pass on system calls: files are not tried\n");
    skip();
  }
  fail_all(FILES);
}

static int set_up(void **state) {
  (void)state;
  outcome = mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (outcome == MAP_FAILED || make_folders())
    return -1;
  write_inputs();
  return 0;
}

int main(void) {
  return run_cases(set_up, remove_folders);
}
