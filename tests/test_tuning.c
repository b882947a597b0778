/* SPDX-License-Identifier: Apache-2.0 */
/* The tuning table and its file: what is read and what is left out, files written whole or not at all. */
#include "tests/support.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

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
  REFUSED(davit_tuning_load("/dev/zero"), "cannot be read: it is no regular file");
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

int main(void) {
  return run_cases(open_folder, close_folder);
}
