/* SPDX-License-Identifier: Apache-2.0 */
/* The tuning table and its file: what is read and what is left out, files written whole or not at all, values
 * that operations use; and the search of `davit tune`, on made-up machines. */
#include "tests/support.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cli/tune_search.h"
#include "src/monoid.h"
#include "src/runtime/tuning.h"

#define HEAD "davit-tuning\t" DAVIT_VERSION "\n"

static char folder[64], file[128];

static int open_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/davit-tuning-XXXXXX");
  if (!mkdtemp(folder))
    return -1;
  snprintf(file, sizeof file, "%s/file.tsv", folder);
  return 0;
}

static int close_folder(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

static void write_bytes(const char *path, const char *bytes, size_t count) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, count, f), count);
  assert_int_equal(fclose(f), 0);
}

static void write_text(const char *text) {
  write_bytes(file, text, strlen(text));
}

static const char *warning(void) {
  static char text[1024];
  CHECK(davit_tuning_warning(sizeof text, text));
  return text;
}

static void expect_warning(const char *words) {
  if (*words ? !strstr(warning(), words) : *warning() != '\0')
    fail_msg("\"%s\" does not say \"%s\"", warning(), words);
}

/* The table has one entry. */
static void set_one(void) {
  CHECK(davit_tuning_clear());
  CHECK(davit_tuning_set(DAVIT_HOST, "axpy", "chunk", 4096, 0));
}

static int entry_count(void) {
  int count = -1;
  CHECK(davit_tuning_list(0, NULL, &count));
  return count;
}

/* The key of DAVIT_HOST, as davit_tuning_set() makes it. */
static const char *host_key(void) {
  static davit_tuning_entry entry;
  int count;
  if (!*entry.device) {
    set_one();
    CHECK(davit_tuning_list(1, &entry, &count));
    CHECK(davit_tuning_clear());
  }
  return entry.device;
}

/* A file with lines in which %s stands for the host. */
static void load_lines(const char *lines) {
  char text[4096];
  size_t used = (size_t)snprintf(text, sizeof text, HEAD);
  for (const char *at = lines; *at; at++)
    if (at[0] == '%' && at[1] == 's' && at++)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s", host_key());
    else
      text[used++] = *at;
  text[used] = '\0';
  write_text(text);
  CHECK(davit_tuning_load(file));
}

/* ---- reading ---- */

CASE(test_values) {
  load_lines("# a comment\n\n%s\taxpy\tchunk\t65536\t1500000\n%s\tstencil\tthreads\t3\t0");
  expect_warning("");
  assert_int_equal(entry_count(), 2);
  assert_int_equal(dvt_tuned(DAVIT_HOST, DVT_TUNE_AXPY_CHUNK, 1), 65536);
  assert_int_equal(dvt_tuned(DAVIT_HOST, DVT_TUNE_STENCIL_THREADS, 1), 3);
  assert_int_equal(dvt_tuned(DAVIT_HOST, DVT_TUNE_GEMV_CHUNK, 77), 77);
  davit_tuning_entry entries[2];
  int count;
  CHECK(davit_tuning_list(2, entries, &count));
  assert_string_equal(entries[0].device, host_key());
  assert_string_equal(entries[0].capability, "axpy");
  assert_string_equal(entries[0].parameter, "chunk");
  assert_true(fabs(entries[0].seconds - 1.5e-3) < 1e-12);
  /* A device of another kind has values of its own. */
  int devices = 0;
  CHECK(davit_device_count(&devices));
  if (devices > 0)
    assert_int_equal(dvt_tuned(0, DVT_TUNE_AXPY_CHUNK, 5), 5);
}

CASE(test_bad_lines) {
  static const char *const malformed[] = {"%s",
                                          "%s\taxpy\tchunk\t65536",
                                          "%s\taxpy\tchunk\t65536\t1\t2",
                                          "%s\taxpy\tchunk\t65536\t",
                                          "%s\taxpy\tchunk\t\t1",
                                          "%s\taxpy\tchunk\t-65536\t1",
                                          "%s\taxpy\tchunk\t65536.0\t1",
                                          "%s\taxpy\tchunk\t 65536\t1",
                                          "%s\taxpy\tchunk\t65536x\t1",
                                          "%s\taxpy\tchunk\t0x10000\t1",
                                          "%s\taxpy\tchunk\t99999999999999999999\t1",
                                          "%s\taxpy\tchunk\t65536\t1e3",
                                          "%s\taxpy\tchunk\t65536\t1000000000000000000",
                                          "\taxpy\tchunk\t65536\t1",
                                          "%s\taxpy\tchunk\t65536\t1\r",
                                          " ",
                                          "\033[2Jhost\taxpy\tchunk\t65536\t1",
                                          "host\302\233\taxpy\tchunk\t65536\t1",
                                          "{\"json\": 1}"};
  static const char *const unknown[] = {"%s\taxpy\tchunks\t65536\t1", "%s\tAXPY\tchunk\t65536\t1",
                                        "%s\taxpy\tchunk\t4095\t1",   "%s\taxpy\tchunk\t67108865\t1",
                                        "%s\taxpy\tchunk\t0\t1",      "%s\t\t\t65536\t1"};
  char lines[512];
  for (int i = 0; i < COUNT(malformed) + COUNT(unknown); i++) {
    bool bad = i < COUNT(malformed);
    snprintf(lines, sizeof lines, "%%s\tgemv\tchunk\t8192\t1\n%s\n%%s\taxpy\tchunk\t8192\t1\n",
             bad ? malformed[i] : unknown[i - COUNT(malformed)]);
    load_lines(lines);
    expect_warning(bad ? "1 malformed lines are ignored, the first is line 3"
                       : "does not know are ignored, the first is line 3");
    /* The lines around it count. */
    assert_int_equal(entry_count(), 2);
    assert_int_equal(dvt_tuned(DAVIT_HOST, DVT_TUNE_GEMV_CHUNK, 1), 8192);
    assert_int_equal(dvt_tuned(DAVIT_HOST, DVT_TUNE_AXPY_CHUNK, 1), 8192);
  }
  load_lines("%s\taxpy\tchunk\t8192\t1\n%s\taxpy\tchunk\t4096\t1\n");
  expect_warning("malformed");
  assert_int_equal(dvt_tuned(DAVIT_HOST, DVT_TUNE_AXPY_CHUNK, 1), 8192);
}

CASE(test_long_lines_and_zeros) {
  char text[4096];
  size_t used = (size_t)snprintf(text, sizeof text, HEAD "%s\taxpy\tchunk\t8192\t1\n", host_key());
  memset(text + used, 'x', 2000);
  used += 2000;
  used += (size_t)snprintf(text + used, sizeof text - used, "\n%s\tgemv\tchunk\t8192\t1\n", host_key());
  size_t zero = used + strlen(host_key());
  used += (size_t)snprintf(text + used, sizeof text - used, "%s\tatax\tthreads\t2\t1\n", host_key());
  text[zero] = '\0';
  write_bytes(file, text, used);
  CHECK(davit_tuning_load(file));
  expect_warning("2 malformed lines are ignored, the first is line 3");
  assert_int_equal(entry_count(), 2);
}

CASE(test_versions) {
  static const char *const heads[] = {"davit-tuning\t0.0.9\n",
                                      "davit-tuning\t" DAVIT_VERSION ".1\n",
                                      "davit-tuning " DAVIT_VERSION "\n",
                                      "davit-tuning\n",
                                      "Davit-tuning\t" DAVIT_VERSION "\n",
                                      "",
                                      "\n",
                                      "\177ELF",
                                      "secret\n",
                                      "davit-tuning\tsecret\n"};
  char text[512];
  for (int i = 0; i < COUNT(heads); i++) {
    CHECK(davit_tuning_set(DAVIT_HOST, "axpy", "chunk", 4096, 0));
    snprintf(text, sizeof text, "%s%s\taxpy\tchunk\t65536\t1\n", heads[i], host_key());
    write_text(text);
    CHECK(davit_tuning_load(file));
    expect_warning("line 1: the file is not of davit " DAVIT_VERSION);
    assert_null(strstr(warning(), "secret"));
    assert_int_equal(entry_count(), 0);
    assert_int_equal(dvt_tuned(DAVIT_HOST, DVT_TUNE_AXPY_CHUNK, 9), 9);
  }
  write_text(HEAD);
  CHECK(davit_tuning_load(file));
  expect_warning("");
}

CASE(test_other_devices) {
  load_lines("nvidia NVIDIA Nothing 9000\taxpy\tchunk\t65536\t1\n%s\taxpy\tchunk\t8192\t1\n");
  expect_warning("1 entries are for devices that are not here");
  assert_int_equal(dvt_tuned(DAVIT_HOST, DVT_TUNE_AXPY_CHUNK, 1), 8192);
  /* They are kept for the machine that has them. */
  CHECK(davit_tuning_save(file));
  CHECK(davit_tuning_load(file));
  assert_int_equal(entry_count(), 2);
}

CASE(test_unreadable) {
  set_one();
  REFUSED(davit_tuning_load("/nowhere/at/all"), "No such file");
  REFUSED(davit_tuning_load(folder), "Is a directory");
  REFUSED(davit_tuning_load("/dev/zero"), "cannot be read");
  assert_int_equal(dvt_tuned(DAVIT_HOST, DVT_TUNE_AXPY_CHUNK, 1), 4096); /* the table stays */
}

CASE(test_too_many) {
  FILE *f = fopen(file, "w");
  assert_non_null(f);
  fputs(HEAD, f);
  for (int i = 0; i < 600; i++)
    fprintf(f, "nvidia Card %d\taxpy\tchunk\t65536\t1\n", i);
  fclose(f);
  CHECK(davit_tuning_load(file));
  expect_warning("only the first 512 entries are used");
  assert_int_equal(entry_count(), 512);
  CHECK_FAILS(davit_tuning_set(DAVIT_HOST, "axpy", "chunk", 4096, 0), DAVIT_INVALID_STATE, "full");
}

/* The contents of a file that is no tuning file do not appear in a warning, nor control characters of its
 * name. */
CASE(test_control_characters) {
  char path[160];
  snprintf(path, sizeof path, "%s/\033[2J\n\302\233é", folder);
  FILE *odd = fopen(path, "w");
  assert_non_null(odd);
  fputs("secret\n", odd);
  fclose(odd);
  CHECK(davit_tuning_load(path));
  expect_warning("/?[2J???é: line 1: the file is not of davit");
  unlink(path);
  REFUSED(davit_tuning_load(path), "/?[2J???é: cannot be read");
}

/* ---- setting and writing ---- */

CASE(test_set) {
  CHECK(davit_tuning_clear());
  REFUSED(davit_tuning_set(DAVIT_HOST, NULL, "chunk", 4096, 0), "capability");
  REFUSED(davit_tuning_set(DAVIT_HOST, "axpy", NULL, 4096, 0), "parameter");
  REFUSED(davit_tuning_set(DAVIT_HOST, "axpy", "tile", 4096, 0), "'tile'");
  REFUSED(davit_tuning_set(DAVIT_HOST, "axpy", "chunk", 4095, 0), "4095");
  REFUSED(davit_tuning_set(DAVIT_HOST, "axpy", "chunk", -1, 0), "-1");
  REFUSED(davit_tuning_set(DAVIT_HOST, "axpy", "chunk", 4096, NAN), "seconds");
  CHECK_FAILS(davit_tuning_set(1000, "axpy", "chunk", 4096, 0), DAVIT_UNKNOWN_DEVICE, "1000");
  assert_int_equal(entry_count(), 0);
  CHECK(davit_tuning_set(DAVIT_HOST, "axpy", "chunk", 4096, 0));
  CHECK(davit_tuning_set(DAVIT_HOST, "gemv", "chunk", 8192, 0));
  CHECK(davit_tuning_set(DAVIT_HOST, "atax", "threads", 2, 0));
  CHECK(davit_tuning_set(DAVIT_HOST, "axpy", "chunk", 5000, 0)); /* in place of the first */
  assert_int_equal(entry_count(), 3);
  assert_int_equal(dvt_tuned(DAVIT_HOST, DVT_TUNE_AXPY_CHUNK, 1), 5000);
  CHECK(davit_tuning_set(DAVIT_HOST, "axpy", "chunk", 0, 0)); /* out again */
  CHECK(davit_tuning_set(DAVIT_HOST, "axpy", "chunk", 0, 0));
  assert_int_equal(entry_count(), 2);
  assert_int_equal(dvt_tuned(DAVIT_HOST, DVT_TUNE_AXPY_CHUNK, 1), 1);
  assert_int_equal(dvt_tuned(DAVIT_HOST, DVT_TUNE_GEMV_CHUNK, 1), 8192);
  assert_int_equal(dvt_tuned(DAVIT_HOST, DVT_TUNE_ATAX_THREADS, 1), 2);
  CHECK(davit_tuning_clear());
  assert_int_equal(dvt_tuned(DAVIT_HOST, DVT_TUNE_ATAX_THREADS, 1), 1);
}

CASE(test_round_trip) {
  davit_tuning_parameter parameters[128];
  int count = 0;
  CHECK(davit_tuning_parameters(COUNT(parameters), parameters, &count));
  assert_int_equal(count, DVT_TUNE_COUNT);
  CHECK(davit_tuning_clear());
  for (int i = 0; i < count; i++) {
    assert_true(parameters[i].minimum >= 1 && parameters[i].minimum < parameters[i].maximum);
    CHECK(davit_tuning_set(DAVIT_HOST, parameters[i].capability, parameters[i].parameter,
                           parameters[i].maximum, 1e-6 * i));
  }
  CHECK(davit_tuning_save(file));
  CHECK(davit_tuning_clear());
  CHECK(davit_tuning_load(file));
  expect_warning("");
  for (int i = 0; i < count; i++)
    assert_int_equal(dvt_tuned(DAVIT_HOST, (dvt_tunable)i, 0), parameters[i].maximum);
  davit_tuning_entry entries[128];
  CHECK(davit_tuning_list(COUNT(entries), entries, &count));
  for (int i = 0; i < count; i++)
    assert_true(fabs(entries[i].seconds - 1e-6 * i) < 1e-9);
}

static int files_in_folder(void) {
  char command[128];
  int count = -1;
  snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  assert_int_equal(fscanf(pipe, "%d", &count), 1);
  pclose(pipe);
  return count;
}

CASE(test_writing) {
  char link[160], under[160];
  struct stat status, old;
  set_one();
  /* An older file keeps its owner, its group and its mode; a link stays a link. */
  write_text("old");
  chmod(file, 0640);
  print_message("of another user: %s\n", chown(file, 12345, 23456) ? "no" : "yes");
  assert_int_equal(stat(file, &old), 0);
  snprintf(link, sizeof link, "%s/link", folder);
  assert_int_equal(symlink(file, link), 0);
  CHECK(davit_tuning_save(link));
  assert_int_equal(lstat(link, &status), 0);
  assert_true(S_ISLNK(status.st_mode));
  assert_int_equal(stat(file, &status), 0);
  assert_int_equal(status.st_mode & 07777, 0640);
  assert_true(status.st_uid == old.st_uid && status.st_gid == old.st_gid);
  CHECK(davit_tuning_load(file));
  assert_int_equal(entry_count(), 1);
  unlink(link);
  assert_int_equal(symlink("nowhere", link), 0);
  REFUSED(davit_tuning_save(link), "a link to a file that does not exist");
  assert_int_equal(lstat(link, &status), 0);
  assert_true(S_ISLNK(status.st_mode));
  unlink(link);
  assert_int_equal(files_in_folder(), 1);
  /* Failures leave nothing behind. */
  snprintf(under, sizeof under, "%s/no/such/folder", folder);
  REFUSED(davit_tuning_save(under), "cannot be written");
  REFUSED(davit_tuning_save(folder), "cannot be written");
  snprintf(under, sizeof under, "%s/file.tsv/below", folder);
  REFUSED(davit_tuning_save(under), "cannot be written");
  assert_int_equal(files_in_folder(), 1);
}

/* A disk on which there is no room: the file that was there stays, and nothing beside it. */
CASE(test_full_disk) {
  struct rlimit before, small;
  set_one();
  CHECK(davit_tuning_save(file));
  CHECK(davit_tuning_set(DAVIT_HOST, "gemv", "chunk", 4096, 0));
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  small = before;
  small.rlim_cur = 40;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  davit_status status = davit_tuning_save(file);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_DFL);
  assert_int_equal(status, DAVIT_INVALID_ARGUMENT);
  assert_non_null(strstr(davit_last_error(), "File too large"));
  CHECK(davit_tuning_load(file));
  assert_int_equal(entry_count(), 1);
  assert_int_equal(files_in_folder(), 1);
}

/* What is no regular file is not replaced by one: whoever may write to /dev would lose a device. */
CASE(test_special_files) {
  char pipe[160], link[160];
  struct stat status;
  snprintf(pipe, sizeof pipe, "%s/pipe", folder);
  snprintf(link, sizeof link, "%s/link", folder);
  assert_int_equal(mkfifo(pipe, 0600), 0);
  assert_int_equal(symlink(pipe, link), 0);
  REFUSED(davit_tuning_save(pipe), "no regular file");
  REFUSED(davit_tuning_save(link), "no regular file");
  assert_int_equal(stat(pipe, &status), 0);
  assert_true(S_ISFIFO(status.st_mode));
  unlink(link);
  unlink(pipe);
}

/* ---- where the file is ---- */

static void expect_path(const char *wanted) {
  char path[4096];
  CHECK(davit_tuning_path(sizeof path, path));
  assert_string_equal(path, wanted);
}

CASE(test_paths) {
  const char *old_home = getenv("HOME"), *old_file = getenv("DAVIT_TUNING_FILE");
  char home[64] = "", named[64] = "", wanted[128];
  snprintf(home, sizeof home, "%s", old_home ? old_home : "");
  snprintf(named, sizeof named, "%s", old_file ? old_file : "");
  setenv("HOME", folder, 1);
  unsetenv("DAVIT_TUNING_FILE");
  unsetenv("XDG_CONFIG_HOME");
  snprintf(wanted, sizeof wanted, "%s/.config/davit/tuning.tsv", folder);
  expect_path(wanted);
  setenv("XDG_CONFIG_HOME", "relative", 1);
  expect_path(wanted);
  set_one();
  REFUSED(davit_tuning_load(NULL), "cannot be read");
  CHECK(davit_tuning_save(NULL)); /* makes the directories */
  CHECK(davit_tuning_clear());
  CHECK(davit_tuning_load(NULL));
  assert_int_equal(entry_count(), 1);
  setenv("XDG_CONFIG_HOME", "/somewhere", 1);
  expect_path("/somewhere/davit/tuning.tsv");
  setenv("DAVIT_TUNING_FILE", "named", 1);
  expect_path("named");
  setenv("DAVIT_TUNING_FILE", "", 1);
  expect_path("");
  REFUSED(davit_tuning_load(NULL), "no tuning file");
  REFUSED(davit_tuning_save(NULL), "no tuning file");
  char two[2];
  setenv("DAVIT_TUNING_FILE", "named", 1);
  CHECK(davit_tuning_path(2, two)); /* cut short, not overrun */
  assert_string_equal(two, "n");
  unsetenv("XDG_CONFIG_HOME");
  setenv("HOME", home, 1);
  setenv("DAVIT_TUNING_FILE", named, 1);
}

/* ---- use ---- */

CASE(test_tile_classes) {
  static const struct {
    int64_t longest;
    int devices;
    const char *parameter;
  } cases[] = {{1024, 1, "tile_1024_1"},    {2047, 1, "tile_1024_1"},    {2048, 2, "tile_2048_2"},
               {5000, 3, "tile_4096_2"},    {8192, 4, "tile_8192_4"},    {16383, 7, "tile_8192_4"},
               {16384, 8, "tile_16384_8"},  {32768, 16, "tile_32768_8"}, {1 << 30, 1, "tile_32768_1"},
               {32767, 15, "tile_16384_8"}, {1500, 16, "tile_1024_8"}};
  CHECK(davit_tuning_clear());
  for (int i = 0; i < COUNT(cases); i++) {
    CHECK(davit_tuning_set(DAVIT_HOST, "gemm", cases[i].parameter, 100 + i, 0));
    assert_int_equal(dvt_tuned_tile(DAVIT_HOST, cases[i].devices, cases[i].longest), 100 + i);
    CHECK(davit_tuning_set(DAVIT_HOST, "gemm", cases[i].parameter, 0, 0));
  }
  CHECK(davit_tuning_set(DAVIT_HOST, "gemm", "tile_1024_1", 64, 0));
  assert_int_equal(dvt_tuned_tile(DAVIT_HOST, 1, 1023), 0);
  CHECK(davit_tuning_clear());
}

CASE(test_gemm_uses_it) {
  int devices[2];
  if (!two_devices(devices))
    skip();
  enum { N = 1024 };
  double *a = kept_zeros(sizeof(double) * N * N), *c = kept(sizeof(double) * N * N);
  davit_level3_report report;
  davit_level3_options options = {.devices = devices, .device_count = 2, .report = &report};
  CHECK(davit_tuning_clear());
  CHECK(davit_dgemm('N', 'N', N, N, N, 1, a, N, a, N, 0, c, N, &options));
  int64_t own = report.tile;
  for (int i = 0; i < 2; i++) /* the first to be used may be either */
    CHECK(davit_tuning_set(devices[i], "gemm", "tile_1024_2", 192, 0));
  CHECK(davit_dgemm('N', 'N', N, N, N, 1, a, N, a, N, 0, c, N, &options));
  assert_int_equal(report.tile, 192);
  options.tile = 128; /* the caller knows best */
  CHECK(davit_dgemm('N', 'N', N, N, N, 1, a, N, a, N, 0, c, N, &options));
  assert_int_equal(report.tile, 128);
  options.tile = 0;
  CHECK(davit_tuning_clear());
  CHECK(davit_dgemm('N', 'N', N, N, N, 1, a, N, a, N, 0, c, N, &options));
  assert_int_equal(report.tile, own);
}

/* The minimum values, or larger ones, for all parameters on all devices: sizes by `more`, numbers of threads
 * by 1. */
static void set_all(int more) {
  davit_tuning_parameter parameters[128];
  int count = 0, devices[MAX_PLACES], device_count = all_devices(devices);
  CHECK(davit_tuning_parameters(COUNT(parameters), parameters, &count));
  for (int d = 0; d < device_count; d++)
    for (int i = 0; i < count; i++)
      CHECK(davit_tuning_set(devices[d], parameters[i].capability, parameters[i].parameter,
                             parameters[i].minimum + (parameters[i].maximum > 2048 ? more : more > 0), 0));
}

typedef struct results {
  double reduced;
  double scanned[3], stencil[3], axpy[3], gemv[3], atax[3];
  davit_closest_pair_result pair;
} results;

static void some_of(const double *x, int64_t n, double out[3]) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += x[i] * (double)(i % 97 + 1);
  out[0] = sum;
  out[1] = x[n / 2];
  out[2] = x[n - 1];
}

/* Whole numbers, so that no order of additions matters. */
static results run_all(void) {
  enum { N = 700, LENGTH = N * N }; /* several of the smallest pieces */
  double *a = kept_at(sizeof(double) * LENGTH, DAVIT_PINNED);
  double *b = kept_at(sizeof(double) * LENGTH, DAVIT_PINNED);
  results r;
  for (int i = 0; i < LENGTH; i++)
    a[i] = (double)(i % 13);
  const double coefficients[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  dvt_monoid_travel(true);
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, LENGTH, a, &r.reduced, NULL));
  CHECK(davit_scan(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, LENGTH, a, b, NULL));
  dvt_monoid_travel(false);
  some_of(b, LENGTH, r.scanned);
  CHECK(davit_stencil(DAVIT_DOUBLE, N, N, a, N, coefficients, b, N,
                      &(davit_stencil_options){.border = DAVIT_STENCIL_BORDER_COPY}));
  some_of(b, LENGTH, r.stencil);
  CHECK(davit_copy(sizeof(double) * LENGTH, a, b));
  CHECK(davit_daxpy(LENGTH, 2, a, 1, b, 1, NULL));
  some_of(b, LENGTH, r.axpy);
  CHECK(davit_dgemv('N', N, N, 1, a, N, a, 1, 0, b, 1, NULL));
  some_of(b, N, r.gemv);
  CHECK(davit_atax(DAVIT_DOUBLE, 'T', N, N, a, N, a, NULL, b, NULL));
  some_of(b, N, r.atax);
  for (int i = 0; i < LENGTH; i++)
    a[i] = (double)(i * INT64_C(7919) % LENGTH);
  CHECK(davit_closest_pair(DAVIT_DOUBLE, 2, LENGTH / 2, a, &r.pair,
                           &(davit_closest_pair_options){.algorithm = DAVIT_CLOSEST_PAIR_GRID}));
  return r;
}

CASE(test_results_stay) {
  CHECK(davit_tuning_clear());
  results own = run_all();
  for (int more = 0; more < 2000; more += 1001) { /* which is no multiple of anything */
    set_all(more);
    results tuned = run_all();
    assert_memory_equal(&own, &tuned, sizeof own);
    CHECK(davit_tuning_clear());
  }
}

/* ---- bits ---- */

/* What promises the same bits, of data whose sums round. */
typedef struct bits {
  double sum, aligned_off;
  float single;
  double stencil[3];
  float small_stencil[5];
  int32_t scores[40];
  davit_closest_pair_result pair;
  double detected[8];
} bits;

enum { LENGTH = 3 * 16384 + 77, SIDE = 333, TARGETS = 40, FRAMES = 60 * 20, WIDTH = 6 };

static void scores_of(int device, int32_t *scores) {
  static uint8_t symbols[TARGETS * 50];
  int64_t offsets[TARGETS + 1];
  uint64_t seed = 3;
  for (int i = 0; i < COUNT(symbols); i++)
    symbols[i] = (uint8_t)random_below(&seed, 4);
  for (int k = 0; k <= TARGETS; k++)
    offsets[k] = k * 50;
  static const int8_t matrix[16] = {2, -3, -3, -3, -3, 2, -3, -3, -3, -3, 2, -3, -3, -3, -3, 2};
  const davit_align_sequences targets = {.count = TARGETS, .offsets = offsets, .symbols = symbols};
  const davit_align_scoring scoring = {.symbols = 4, .matrix = matrix, .gap_open = 5, .gap_extend = 2};
  davit_align_database *database;
  CHECK(davit_align_database_create(&targets, 4, &database,
                                    &(davit_align_database_options){.devices = &device, .device_count = 1}));
  CHECK(davit_align_scores(database, &scoring, 120, symbols + 25, scores));
  CHECK(davit_align_database_destroy(database));
}

static void detections_of(int device, double *detected) {
  static float stream[FRAMES * WIDTH];
  davit_detect_hit hits[8];
  uint64_t seed = 4;
  for (int i = 0; i < COUNT(stream); i++)
    stream[i] = (float)random_unit(&seed) - 0.3f;
  const davit_detect_effect effect = {40, stream + 100 * WIDTH};
  davit_detector *detector;
  CHECK(davit_detector_create(
      WIDTH, 1, &effect, &detector,
      &(davit_detect_options){
          .window = 150, .permutations = 3000, .round = true, .devices = &device, .device_count = 1}));
  CHECK(davit_detect(detector, FRAMES, stream, hits));
  CHECK(davit_detector_destroy(detector));
  for (int i = 0; i < 8; i++)
    detected[i] = hits[i].score + hits[i].null_mean + hits[i].null_sd;
}

static void stencils_of(int device, bits *b) {
  double *a = kept_at(sizeof(double) * SIDE * (SIDE + 1), device),
         *to = kept_at(sizeof(double) * SIDE * SIDE, device);
  double *home = kept(sizeof(double) * SIDE * SIDE);
  davit_queue *queue = new_queue(device, 1);
  CHECK(davit_random(DAVIT_DOUBLE, SIDE * (SIDE + 1), 2, a));
  const davit_stencil_options options = {.border = DAVIT_STENCIL_BORDER_COPY};
  CHECK(davit_queue_stencil(queue, DAVIT_DOUBLE, SIDE, SIDE, a, SIDE + 1, NULL, to, SIDE, &options));
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_copy(sizeof(double) * SIDE * SIDE, to, home));
  some_of(home, SIDE * SIDE, b->stencil);
  CHECK(
      davit_queue_stencil(queue, DAVIT_FLOAT, 2 * SIDE, SIDE, a, 2 * SIDE + 2, NULL, to, 2 * SIDE, &options));
  finish(queue);
  CHECK(davit_copy(sizeof(float) * 2 * SIDE * SIDE, to, home));
  const float *small = (const float *)(const void *)home;
  for (int i = 0; i < 5; i++)
    b->small_stencil[i] = small[(i + 1) * 2 * SIDE * SIDE / 6];
}

static bits all_bits(int device) {
  bits b;
  memset(&b, 0, sizeof b);
  double *x = kept_at(sizeof(double) * (LENGTH + 1), device);
  CHECK(davit_random(DAVIT_DOUBLE, LENGTH + 1, 1, x));
  const davit_reduce_options reduce = {.devices = &device, .device_count = 1};
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, LENGTH, x, &b.sum, &reduce));
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, LENGTH, x + 1, &b.aligned_off, &reduce));
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_FLOAT, 2 * LENGTH, x, &b.single, &reduce));
  stencils_of(device, &b);
  scores_of(device, b.scores);
  detections_of(device, b.detected);
  CHECK(davit_closest_pair(DAVIT_DOUBLE, 2, LENGTH / 2, x, &b.pair,
                           &(davit_closest_pair_options){
                               .algorithm = DAVIT_CLOSEST_PAIR_GRID, .devices = &device, .device_count = 1}));
  return b;
}

CASE(test_bits_stay) {
  static const struct {
    const char *capability, *parameter;
    int64_t value[5];
  } choices[] = {{"reduce", "teams", {1, 2, 7, 32}},
                 {"reduce", "lines", {2, 4, 5, 8}},
                 {"stencil", "team_threads", {32, 64, 100, 256, 512}},
                 {"stencil", "columns", {4, 7, 8, 16}},
                 {"align", "team_threads", {32, 96, 256}},
                 {"align", "teams", {1, 3}},
                 {"detect", "team_threads", {32, 64, 128, 256}},
                 {"closest_pair", "teams", {1, 5, 64}}};
  int devices[MAX_PLACES];
  const int device = devices[all_devices(devices) > 1]; /* a GPU where there is one */
  CHECK(davit_tuning_clear());
  const bits own = all_bits(device);
  for (int i = 0; i < COUNT(choices); i++)
    for (int k = 0; k < COUNT(choices[i].value) && choices[i].value[k]; k++) {
      CHECK(davit_tuning_set(device, choices[i].capability, choices[i].parameter, choices[i].value[k], 0));
      const bits tuned = all_bits(device);
      if (memcmp(&own, &tuned, sizeof own) != 0)
        fail_msg("%s %s = %d changes bits", choices[i].capability, choices[i].parameter,
                 (int)choices[i].value[k]);
    }
  CHECK(davit_tuning_clear());
}

/* What the kernels take of an NVIDIA device; no other has them. */
CASE(test_kernels) {
  static const char *const names[] = {"reduce",     "scan",  "stencil", "atax",
                                      "covariance", "align", "detect",  "closest_pair"};
  davit_tuning_shape shape;
  int devices[MAX_PLACES];
  const int count = all_devices(devices);
  CHECK(davit_tuning_clear());
  REFUSED(davit_tuning_kernel(DAVIT_HOST, "gemm", &shape), "'gemm'");
  REFUSED(davit_tuning_kernel(DAVIT_HOST, NULL, &shape), "capability");
  REFUSED(davit_tuning_kernel(DAVIT_HOST, "scan", NULL), "shape");
  for (int i = 0; i < COUNT(names); i++)
    for (int d = 0; d < count; d++) {
      davit_device_info info;
      CHECK(davit_device_describe(devices[d], &info));
      if (info.kind != DAVIT_DEVICE_NVIDIA) {
        CHECK_FAILS(davit_tuning_kernel(devices[d], names[i], &shape), DAVIT_UNSUPPORTED, "no NVIDIA device");
        continue;
      }
      CHECK(davit_tuning_kernel(devices[d], names[i], &shape));
      assert_true(shape.threads >= 32 && shape.registers > 0 && shape.teams > 0 && shape.occupancy > 0);
      if (strcmp(names[i], "stencil") == 0) { /* as many threads as the table asks for */
        CHECK(davit_tuning_set(devices[d], "stencil", "team_threads", 256, 0));
        CHECK(davit_tuning_kernel(devices[d], names[i], &shape));
        assert_int_equal(shape.threads, 256);
        CHECK(davit_tuning_clear());
      }
      if (strcmp(names[i], "scan") == 0) { /* a shape that does not exist cannot be launched */
        CHECK(davit_tuning_set(devices[d], "scan", "team_threads", 256, 0));
        CHECK(davit_tuning_set(devices[d], "scan", "rows", 16, 0));
        CHECK(davit_tuning_kernel(devices[d], names[i], &shape));
        assert_int_equal(shape.teams, 0);
        CHECK(davit_tuning_clear());
      }
    }
}

static atomic_bool stop;

static void *change_values(void *unused) {
  (void)unused;
  for (int i = 0; !atomic_load(&stop); i++) {
    CHECK(davit_tuning_set(DAVIT_HOST, "axpy", "chunk", 4096 + i % 2, 0));
    if (i % 8 == 0)
      CHECK(davit_tuning_clear());
  }
  return NULL;
}

CASE(test_threads) {
  atomic_store(&stop, false);
  pthread_t thread = start_thread(change_values, NULL);
  for (int i = 0; i < scaled(100000); i++) {
    int64_t value = dvt_tuned(DAVIT_HOST, DVT_TUNE_AXPY_CHUNK, 1);
    assert_true(value == 1 || value == 4096 || value == 4097);
  }
  atomic_store(&stop, true);
  join_thread(thread);
  CHECK(davit_tuning_clear());
}

/* ---- the search ---- */

/* A machine whose time for a value is known, with noise, drift and a clock of its own. */
typedef struct machine {
  double (*seconds)(const int64_t *values);
  double (*elsewhere)(const int64_t *values); /* in the second workload */
  bool (*holds)(const int64_t *values);       /* what fits it; NULL: all */
  double noise;                               /* relative */
  double drift;                               /* of the time, for each run */
  uint64_t random;
  double clock;
  int runs, fails_at;
  int wrong; /* runs of values that do not fit */
} machine;

static int run_machine(void *state, int workload, const int64_t *values, double *seconds) {
  machine *m = state;
  if (++m->runs == m->fails_at)
    return 4;
  m->wrong += m->holds && values[0] && !m->holds(values);
  double uniform = (double)(next_random(&m->random) >> 11) * 0x1p-53;
  double slow = random_below(&m->random, 20) == 0 ? 3 : 1; /* now and then something else runs */
  *seconds = (workload ? m->elsewhere : m->seconds)(values) * (1 + m->noise * (2 * uniform - 1)) *
             (m->noise > 0 ? slow : 1) * (1 + m->drift * m->runs);
  m->clock += *seconds;
  return 0;
}

static int ask_machine(void *state, const int64_t *values, bool *fits) {
  const machine *m = state;
  *fits = m->holds(values);
  return 0;
}

static double machine_clock(void *state) {
  return ((machine *)state)->clock;
}

static tune_search search_of(machine *m, int axes, int values, double budget) {
  tune_search s = {.axes = axes,
                   .workloads = m->elsewhere ? 2 : 1,
                   .repeat = 7,
                   .budget = budget,
                   .fits = m->holds ? ask_machine : NULL,
                   .measure = run_machine,
                   .now = machine_clock,
                   .state = m};
  for (int axis = 0; axis < axes; axis++)
    for (int i = 0; i < values; i++)
      s.axis[axis].value[s.axis[axis].count++] = (int64_t)1 << i;
  return s;
}

/* Best at 2^9, where it takes half of the library's own choice. */
static double valley(const int64_t *values) {
  return values[0] == 0 ? 1 : 0.5 + 0.05 * fabs(log2((double)values[0]) - 9);
}

static double bowl(const int64_t *values) {
  double x = values[0] ? log2((double)values[0]) : 3, y = values[1] ? log2((double)values[1]) : 3;
  return 1 + 0.02 * ((x - 7) * (x - 7) + (y - 2) * (y - 2));
}

static double flat(const int64_t *values) {
  (void)values;
  return 1;
}

static double worse(const int64_t *values) {
  return values[0] ? 1.3 : 1;
}

/* A multiprocessor with room for 2^9 threads, of which the fastest shapes would take more. */
static bool has_room(const int64_t *values) {
  return values[0] * values[1] <= 1 << 9;
}

static double greedy(const int64_t *values) {
  return values[0] ? 1 / log2(2 + (double)(values[0] * values[1])) : 1;
}

CASE(test_search_finds) {
  for (uint64_t seed = 0; seed < 50; seed++) {
    machine m = {.seconds = valley, .noise = 0.02, .random = seed};
    tune_search s = search_of(&m, 1, 20, 1e9);
    assert_int_equal(tune_search_run(&s), 0);
    assert_true(s.tuned && s.complete);
    if (s.winner.value[0] < 1 << 8 || s.winner.value[0] > 1 << 10)
      fail_msg("seed %d: the winner is %d", (int)seed, (int)s.winner.value[0]);
  }
  machine exact = {.seconds = bowl};
  tune_search s = search_of(&exact, 2, 9, 1e9);
  assert_int_equal(tune_search_run(&s), 0);
  assert_true(s.tuned);
  assert_int_equal(s.winner.value[0], 1 << 7);
  assert_int_equal(s.winner.value[1], 1 << 2);
  /* The winner is the fastest trial, and no combination stands twice. */
  for (int i = 0; i < s.trials; i++) {
    assert_true(s.trial[i].seconds >= s.winner.seconds);
    for (int j = 0; j < i; j++)
      assert_true(memcmp(s.trial[i].value, s.trial[j].value, 2 * sizeof(int64_t)) != 0);
  }
}

/* 21 candidates, then 11, 6, 3, 2 and one: 3, 6, 7, 7 and 7 runs of each, and 14 of each at the end. */
CASE(test_search_halves) {
  static const int left[] = {21, 11, 6, 3, 2};
  machine m = {.seconds = valley};
  tune_search s = search_of(&m, 1, 20, 1e9);
  assert_int_equal(tune_search_run(&s), 0);
  assert_int_equal(s.trials, 21);
  for (int round = 1; round <= COUNT(left); round++) {
    int measured = 0;
    for (int i = 0; i < s.trials; i++)
      measured += s.trial[i].rounds >= round;
    assert_int_equal(measured, left[round - 1]);
  }
  assert_int_equal(s.runs, 21 * 3 + 11 * 6 + (6 + 3 + 2) * 7 + 2 * 14);
  assert_int_equal(m.runs, s.runs + 21 + 11 + 6 + 3 + 2 + 2 * 14); /* and those that are not measured */
  /* 40 x 40 combinations are thinned out: at most 96, with the largest values. */
  machine wide = {.seconds = bowl};
  s = search_of(&wide, 2, 40, 1e9);
  assert_int_equal(tune_search_run(&s), 0);
  assert_true(s.trials <= TUNE_MOST_TRIALS && s.trials > TUNE_MOST_TRIALS / 3);
  assert_true(s.trial[s.trials - 1].value[0] == INT64_C(1) << 39);
  assert_true(s.trial[s.trials - 1].value[1] == INT64_C(1) << 39);
}

/* What does not fit is not run, and the best of what fits wins. */
CASE(test_search_prunes) {
  machine m = {.seconds = greedy, .holds = has_room, .noise = 0.001};
  tune_search s = search_of(&m, 2, 8, 1e9);
  assert_int_equal(tune_search_run(&s), 0);
  assert_int_equal(m.wrong, 0);
  assert_int_equal(s.pruned, 15); /* 2^i 2^j > 2^9 with i, j < 8 */
  assert_int_equal(s.trials, 1 + 64 - 15);
  assert_true(s.tuned);
  assert_int_equal(s.winner.value[0] * s.winner.value[1], 1 << 9);
}

/* Luck and drift make no winner. */
CASE(test_search_keeps) {
  int tuned = 0;
  for (uint64_t seed = 0; seed < 300; seed++) {
    machine noisy = {.seconds = flat, .noise = 0.1, .random = seed};
    tune_search s = search_of(&noisy, 1, 20, 1e9);
    assert_int_equal(tune_search_run(&s), 0);
    tuned += s.tuned;
    assert_true(s.tuned || s.winner.value[0] == 0);
    machine warming = {.seconds = flat, .noise = 0.005, .drift = -0.002, .random = seed};
    s = search_of(&warming, 1, 20, 1e9);
    assert_int_equal(tune_search_run(&s), 0);
    tuned += s.tuned;
  }
  if (tuned > 6)
    fail_msg("%d of 600 searches took noise for a gain", tuned);
  machine m = {.seconds = worse, .noise = 0.01};
  tune_search s = search_of(&m, 1, 20, 1e9);
  assert_int_equal(tune_search_run(&s), 0);
  assert_false(s.tuned);
}

/* A gain in one workload is none if it is paid for in the other. */
CASE(test_search_workloads) {
  machine m = {.seconds = valley, .elsewhere = worse, .noise = 0.01};
  tune_search s = search_of(&m, 1, 20, 1e9);
  assert_int_equal(tune_search_run(&s), 0);
  assert_false(s.tuned);
  assert_int_equal(s.duels, 2);
  assert_true(s.duel[0].winner.seconds < s.duel[0].own.seconds);
  assert_true(s.duel[1].winner.seconds > s.duel[1].own.seconds);
  m = (machine){.seconds = valley, .elsewhere = flat, .noise = 0.01};
  s = search_of(&m, 1, 20, 1e9);
  assert_int_equal(tune_search_run(&s), 0);
  assert_true(s.tuned);
}

CASE(test_search_ends) {
  machine m = {.seconds = valley};
  tune_search s = search_of(&m, 1, 20, 0);
  assert_int_equal(tune_search_run(&s), 0); /* no time: the library's own choice alone */
  assert_int_equal(s.trials, 1);
  assert_false(s.complete || s.tuned);
  m = (machine){.seconds = valley};
  s = search_of(&m, 1, 20, 12);
  assert_int_equal(tune_search_run(&s), 0);
  assert_true(s.trials > 1 && s.trials < 6 && !s.complete);
  /* The budget ends in the second round, which begins with the slower ones: the fastest counts all the same.
   */
  m = (machine){.seconds = valley};
  s = search_of(&m, 1, 20, 65);
  assert_int_equal(tune_search_run(&s), 0);
  assert_true(s.trials == 21 && !s.complete && s.tuned);
  assert_int_equal(s.winner.value[0], 1 << 9);
  for (int at = 1; at < 200; at += 13) {
    m = (machine){.seconds = valley, .fails_at = at};
    s = search_of(&m, 1, 20, 1e9);
    assert_int_equal(tune_search_run(&s), m.runs == at ? 4 : 0);
    assert_true(m.runs == at);
  }
}

CASE(test_search_repeats) {
  machine m = {.seconds = valley, .noise = 0.05, .random = 3}, same = m;
  tune_search first = search_of(&m, 1, 20, 1e9), second = search_of(&same, 1, 20, 1e9);
  assert_int_equal(tune_search_run(&first), 0);
  assert_int_equal(tune_search_run(&second), 0);
  assert_int_equal(first.trials, second.trials);
  assert_memory_equal(first.trial, second.trial, (size_t)first.trials * sizeof *first.trial);
  assert_memory_equal(&first.winner, &second.winner, sizeof first.winner);
}

int main(void) {
  return run_cases(open_folder, close_folder);
}
