/* SPDX-License-Identifier: Apache-2.0 */
/* The tuning table.
 *
 * Invariant: `table` holds at most one entry for a device kind, capability and parameter, in the order in
 * which they came; `values` holds, for each device of this machine, those of its kind, and 0 elsewhere.
 * `values` is read without a lock: every value is valid by itself. Everything else is guarded by `lock`. 200
 * KB, allocated statically, so that looking for a value cannot fail.
 *
 * The file is text: a line "davit-tuning<TAB>VERSION", then one line for each entry,
 * "DEVICE<TAB>CAPABILITY<TAB> PARAMETER<TAB>VALUE<TAB>NANOSECONDS"; lines that are empty or begin with # are
 * skipped. Whole numbers only, as decimal points depend on the locale. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/runtime/tuning.h"

#include <davit/version.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "offload/runtime/device.h"
#include "src/base/buffer.h"
#include "src/base/cancel.h"
#include "src/base/check.h"
#include "src/base/environment.h"
#include "src/base/fork.h"
#include "src/base/replace.h"
#include "src/base/text.h"
#include "src/base/tuning_file.h"
#include "src/runtime/backend.h"
#include "src/runtime/place.h"

enum {
  MAX_ENTRIES = DVT_BUFFER(512, 8),
  MAX_LINE = DVT_BUFFER(512, 64),
  MAX_DEVICES = 64,
  FIELDS = 5,
  WARNING_BYTES = DVT_BUFFER(1024, 256)
};

static const int64_t max_nanoseconds = INT64_C(1000000000000000000); /* of a measured time: 1e9 s */

static const char magic[] = DVT_TUNING_FILE;

static const davit_tuning_parameter tunables[DVT_TUNE_COUNT] = {
#define TUNABLE_ROW(name, capability, parameter, minimum, maximum)                                           \
  {capability, parameter, minimum, maximum, {0}},
    DVT_TUNABLES(TUNABLE_ROW)
#undef TUNABLE_ROW
};

typedef struct entry_list {
  int count;
  davit_tuning_entry entry[MAX_ENTRIES];
} entry_list;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry_list table, incoming; /* `incoming` is filled from a file, then replaces `table` */
static char warning[WARNING_BYTES];
static char source[PATH_MAX]; /* the file that the table is from */
static atomic_bool filled;

__attribute__((constructor)) static void hold_at_fork(void) {
  static const dvt_fork_part part = {.lock = &lock};
  dvt_on_fork(DVT_FORK_TUNING, &part);
}
static _Atomic(int64_t) values[MAX_DEVICES + 1][DVT_TUNE_COUNT];

/* ---- keys ---- */

/* The kind of a device: two of a kind share their values. */
static void device_key(const davit_device_info *info, char key[static 128]) {
  snprintf(key, 128, "%s %s", davit_device_kind_string(info->kind), info->name);
  for (char *c = key; *c; c++)
    if ((unsigned char)*c < ' ')
      *c = ' ';
}

static int find_tunable(const char *capability, const char *parameter) {
  for (int i = 0; i < DVT_TUNE_COUNT; i++)
    if (strcmp(tunables[i].capability, capability) == 0 && strcmp(tunables[i].parameter, parameter) == 0)
      return i;
  return -1;
}

static bool in_range(int which, int64_t value) {
  return value >= tunables[which].minimum && value <= tunables[which].maximum;
}

static davit_tuning_entry *find_entry(entry_list *list, const char *device, const char *capability,
                                      const char *parameter) {
  for (int i = 0; i < list->count; i++) {
    davit_tuning_entry *e = &list->entry[i];
    if (strcmp(e->device, device) == 0 && strcmp(e->capability, capability) == 0 &&
        strcmp(e->parameter, parameter) == 0)
      return e;
  }
  return NULL;
}

/* Whether a device of that kind is here. */
static bool is_here(const char *device) {
  int count;
  const dvt_device *devices = dvt_devices_so_far(&count);
  for (int i = 0; i <= count; i++) {
    char key[128];
    device_key(&devices[i].info, key);
    if (strcmp(key, device) == 0)
      return true;
  }
  return false;
}

/* Writes the table's values to `values`. With the lock held. */
static void publish(void) {
  int count;
  const dvt_device *devices = dvt_devices_so_far(&count);
  for (int i = 0; i <= count && i <= MAX_DEVICES; i++) {
    char key[128];
    device_key(&devices[i].info, key);
    for (int which = 0; which < DVT_TUNE_COUNT; which++) {
      const davit_tuning_entry *e =
          find_entry(&table, key, tunables[which].capability, tunables[which].parameter);
      atomic_store_explicit(&values[i][which], e ? e->value : 0, memory_order_relaxed);
    }
  }
  atomic_store_explicit(&filled, true, memory_order_release);
}

/* ---- reading ---- */

/* What was wrong with the lines of a file. */
typedef struct complaints {
  int malformed, unknown, too_many;
  int first_malformed, first_unknown; /* lines */
  bool version;                       /* is not ours */
} complaints;

static void complain(char *text, size_t *used, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void complain(char *text, size_t *used, const char *format, ...) {
  va_list arguments;
  if (*used + 3 >= WARNING_BYTES)
    return;
  if (*used > 0)
    *used += (size_t)snprintf(text + *used, WARNING_BYTES - *used, "; ");
  va_start(arguments, format);
  int length = vsnprintf(text + *used, WARNING_BYTES - *used, format, arguments);
  va_end(arguments);
  dvt_make_printable(text + *used);
  *used = *used + (size_t)length < WARNING_BYTES ? *used + (size_t)length : WARNING_BYTES;
}

static void put_in_words(const complaints *c, const char *path, char text[static WARNING_BYTES]) {
  size_t used = 0;
  text[0] = '\0';
  if (c->version)
    complain(text, &used, "%s: line 1: the file is not of davit " DAVIT_VERSION "; all of it is ignored",
             path);
  if (c->malformed)
    complain(text, &used, "%s: %d malformed lines are ignored, the first is line %d", path, c->malformed,
             c->first_malformed);
  if (c->unknown)
    complain(
        text, &used,
        "%s: %d lines with a parameter or value that davit does not know are ignored, the first is line %d",
        path, c->unknown, c->first_unknown);
  if (c->too_many)
    complain(text, &used, "%s: only the first %d entries are used", path, MAX_ENTRIES);
}

/* With the lock held: what can be said of the table only where the devices are known. */
static void complain_elsewhere(void) {
  int elsewhere = 0;
  size_t used = strlen(warning);
  for (int i = 0; i < table.count; i++)
    elsewhere += !is_here(table.entry[i].device);
  if (elsewhere && dvt_devices_are_known())
    complain(warning, &used, "%s: %d entries are for devices that are not here", source, elsewhere);
}

/* A whole number, all of `text`. */
static bool read_number(const char *text, int64_t *value) {
  if (!*text || strspn(text, "0123456789") != strlen(text))
    return false;
  errno = 0;
  *value = strtoll(text, NULL, 10);
  return errno == 0;
}

/* Cuts a line at its tabs; false unless it has FIELDS fields. */
static bool split(char *line, char *fields[FIELDS]) {
  int count = 0;
  for (char *at = line; at; count++) {
    char *tab = strchr(at, '\t');
    if (count == FIELDS)
      return false;
    fields[count] = at;
    if (tab)
      *tab++ = '\0';
    at = tab;
  }
  return count == FIELDS;
}

typedef enum line_kind { GOOD, MALFORMED, UNKNOWN } line_kind;

static line_kind read_entry(char *line, davit_tuning_entry *e) {
  char *fields[FIELDS];
  int64_t nanoseconds;
  *e = (davit_tuning_entry){.value = 0};
  if (!split(line, fields) || !*fields[0] || dvt_find_unprintable(fields[0]) ||
      strlen(fields[0]) >= sizeof e->device || !read_number(fields[3], &e->value) ||
      !read_number(fields[4], &nanoseconds) || nanoseconds >= max_nanoseconds)
    return MALFORMED;
  int which = find_tunable(fields[1], fields[2]);
  if (which < 0 || !in_range(which, e->value))
    return UNKNOWN;
  strcpy(e->device, fields[0]);
  strcpy(e->capability, fields[1]); /* one of ours, so it fits */
  strcpy(e->parameter, fields[2]);
  e->seconds = 1e-9 * (double)nanoseconds;
  return GOOD;
}

static void take_line(char *line, int number, complaints *c) {
  davit_tuning_entry e;
  line_kind kind = read_entry(line, &e);
  if (kind == GOOD && find_entry(&incoming, e.device, e.capability, e.parameter))
    kind = MALFORMED; /* the first of two stands */
  if (kind == MALFORMED) {
    c->first_malformed = c->malformed++ ? c->first_malformed : number;
  } else if (kind == UNKNOWN) {
    c->first_unknown = c->unknown++ ? c->first_unknown : number;
  } else if (incoming.count == MAX_ENTRIES) {
    c->too_many++;
  } else {
    incoming.entry[incoming.count++] = e;
  }
}

/* A line without its end; false at the end of the file. Of one that is too long or holds a 0, `whole` is
 * false. */
static bool next_line(FILE *file, char line[static MAX_LINE], bool *whole) {
  size_t length = 0;
  int byte;
  *whole = true;
  while ((byte = getc(file)) != EOF && byte != '\n') {
    if (byte == '\0' || length + 1 == MAX_LINE)
      *whole = false;
    else
      line[length++] = (char)byte;
  }
  line[length] = '\0';
  return byte != EOF || length > 0 || !*whole;
}

static void check_version(const char *line, complaints *c) {
  size_t length = sizeof magic - 1;
  bool ours = strncmp(line, magic, length) == 0 && line[length] == '\t';
  c->version = !ours || strcmp(line + length + 1, DAVIT_VERSION) != 0;
}

static void read_file(FILE *file, complaints *c) {
  char line[MAX_LINE];
  bool whole;
  incoming.count = 0;
  next_line(file, line, &whole);
  check_version(line, c);
  for (int number = 2; !c->version && next_line(file, line, &whole); number++) {
    if (!whole)
      strcpy(line, "?"); /* no entry */
    if (line[0] && line[0] != '#')
      take_line(line, number, c);
  }
}

/* What fill_from() has returned, in words. */
static const char *reason_of(int error) {
  return error == EINVAL ? "it is no regular file" : strerror(error);
}

/* With the lock held. 0, or why the file cannot be read. */
static int fill_from(const char *path) {
  complaints c = {.malformed = 0};
  struct stat status;
  if (stat(path, &status))
    return errno;
  if (!S_ISREG(status.st_mode)) /* pipes and devices may have no end */
    return S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  FILE *file = fopen(path, "re");
  if (!file)
    return errno;
  read_file(file, &c);
  int error = ferror(file) ? EIO : 0;
  fclose(file);
  if (error)
    return error;
  memcpy(&table, &incoming, sizeof table);
  put_in_words(&c, path, warning);
  snprintf(source, sizeof source, "%s", path);
  complain_elsewhere();
  return 0;
}

/* ---- the tuning file ---- */

typedef enum origin { NOWHERE, NAMED, USUAL } origin;

static origin find_path(char path[static PATH_MAX]) {
  const char *named = dvt_environment("DAVIT_TUNING_FILE"), *config = dvt_environment("XDG_CONFIG_HOME"),
             *home = dvt_environment("HOME");
  int length = 0;
  if (named)
    length = snprintf(path, PATH_MAX, "%s", named);
  else if (config && config[0] == '/') /* the standard ignores relative ones */
    length = snprintf(path, PATH_MAX, "%s/davit/tuning.tsv", config);
  else if (home && *home)
    length = snprintf(path, PATH_MAX, "%s/.config/davit/tuning.tsv", home);
  if (length <= 0 || length >= PATH_MAX) {
    path[0] = '\0';
    return NOWHERE;
  }
  return named ? NAMED : USUAL;
}

/* With the lock held, once. */
static void fill(void) {
  char path[PATH_MAX];
  origin where = find_path(path);
  int error = where == NOWHERE ? 0 : fill_from(path);
  if (error && !(where == USUAL && (error == ENOENT || error == ENOTDIR)))
    complain(warning, &(size_t){0}, "%s: cannot be read: %s", path, reason_of(error));
  publish();
}

/* The devices have become known: values for them may have been read already. */
static void meet_devices(void) {
  pthread_mutex_lock(&lock);
  if (atomic_load(&filled)) {
    publish();
    complain_elsewhere();
  }
  pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_devices(void) {
  dvt_on_devices(meet_devices);
}

static void lock_filled(void) {
  pthread_mutex_lock(&lock);
  if (!atomic_load(&filled))
    fill();
}

/* ---- for the library ---- */

int64_t dvt_tuned(int device, dvt_tunable which, int64_t fallback) {
  if (!atomic_load_explicit(&filled, memory_order_acquire)) {
    lock_filled();
    pthread_mutex_unlock(&lock);
  }
  int64_t value = atomic_load_explicit(&values[device - DAVIT_HOST][which], memory_order_relaxed);
  return value > 0 ? value : fallback;
}

/* ---- public ---- */

davit_status davit_tuning_parameters(int capacity, davit_tuning_parameter *parameters, int *count) {
  DVT_TRY(dvt_check_list("parameters", capacity, parameters, count));
  for (int i = 0; i < DVT_TUNE_COUNT && i < capacity; i++)
    parameters[i] = tunables[i];
  *count = DVT_TUNE_COUNT;
  return DAVIT_SUCCESS;
}

davit_status davit_tuning_load(const char *path) {
  DVT_UNCANCELLED;
  char usual[PATH_MAX];
  if (!path && find_path(usual) == NOWHERE)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "there is no tuning file");
  DVT_TRY(dvt_start());
  dvt_devices(NULL); /* the warning says which entries are for others */
  path = path ? path : usual;
  pthread_mutex_lock(&lock);
  int error = fill_from(path);
  if (!error)
    publish();
  pthread_mutex_unlock(&lock);
  return error ? davit_fail(DAVIT_INVALID_ARGUMENT, "%s: cannot be read: %s", path, reason_of(error))
               : DAVIT_SUCCESS;
}

davit_status davit_tuning_clear(void) {
  DVT_TRY(dvt_start());
  pthread_mutex_lock(&lock);
  table.count = 0;
  warning[0] = '\0';
  publish();
  pthread_mutex_unlock(&lock);
  return DAVIT_SUCCESS;
}

/* With the lock held. */
static davit_status set_entry(const davit_tuning_entry *new) {
  davit_tuning_entry *old = find_entry(&table, new->device, new->capability, new->parameter);
  if (new->value == 0) {
    if (old)
      memmove(old, old + 1, (size_t)(&table.entry[table.count--] - (old + 1)) * sizeof *old);
    return DAVIT_SUCCESS;
  }
  if (!old && table.count == MAX_ENTRIES)
    return davit_fail(DAVIT_INVALID_STATE, "the tuning table is full: it has %d entries", MAX_ENTRIES);
  *(old ? old : &table.entry[table.count++]) = *new;
  return DAVIT_SUCCESS;
}

davit_status davit_tuning_set(int device, const char *capability, const char *parameter, int64_t value,
                              double seconds) {
  DVT_TRY(dvt_check_pointer("capability", capability));
  DVT_TRY(dvt_check_pointer("parameter", parameter));
  DVT_TRY(dvt_resolve_device(device, &device));
  int which = find_tunable(capability, parameter);
  if (which < 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%.40s has no parameter '%.40s'", capability, parameter);
  if (value != 0 && !in_range(which, value))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "value is %lld, not %lld to %lld", (long long)value,
                      (long long)tunables[which].minimum, (long long)tunables[which].maximum);
  if (!(seconds >= 0 && seconds < 1e9))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "seconds is %g", seconds);
  davit_tuning_entry new = {.value = value, .seconds = seconds};
  device_key(&dvt_device_find(device)->info, new.device);
  strcpy(new.capability, capability);
  strcpy(new.parameter, parameter);
  lock_filled();
  davit_status status = set_entry(&new);
  publish();
  pthread_mutex_unlock(&lock);
  return status;
}

davit_status davit_tuning_list(int capacity, davit_tuning_entry *entries, int *count) {
  DVT_TRY(dvt_check_list("entries", capacity, entries, count));
  DVT_TRY(dvt_start());
  lock_filled();
  *count = table.count;
  for (int i = 0; i < table.count && i < capacity; i++)
    entries[i] = table.entry[i];
  pthread_mutex_unlock(&lock);
  return DAVIT_SUCCESS;
}

static davit_status copy_text(const char *name, int capacity, char *to, const char *from) {
  DVT_TRY(dvt_check_pointer(name, to));
  if (capacity < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "capacity is %d, less than 1", capacity);
  snprintf(to, (size_t)capacity, "%s", from);
  return DAVIT_SUCCESS;
}

davit_status davit_tuning_path(int capacity, char *path) {
  char found[PATH_MAX];
  find_path(found);
  return copy_text("path", capacity, path, found);
}

davit_status davit_tuning_warning(int capacity, char *text) {
  pthread_mutex_lock(&lock);
  davit_status status = copy_text("text", capacity, text, warning);
  pthread_mutex_unlock(&lock);
  return status;
}

/* ---- writing ---- */

/* With the lock held. */
static bool write_table(FILE *file) {
  fprintf(file, "%s\t" DAVIT_VERSION "\n# device, capability, parameter, value, nanoseconds\n", magic);
  for (int i = 0; i < table.count; i++) {
    const davit_tuning_entry *e = &table.entry[i];
    fprintf(file, "%s\t%s\t%s\t%" PRId64 "\t%lld\n", e->device, e->capability, e->parameter, e->value,
            (long long)(1e9 * e->seconds + 0.5));
  }
  return !ferror(file) && !fflush(file) && !fsync(fileno(file));
}

/* With the lock held. */
static bool write_and_commit(dvt_replacement *replacement) {
  FILE *file = dvt_replacement_stream(replacement);
  bool done = file && write_table(file);
  int error = errno;
  if (file && fclose(file) && done) {
    error = errno;
    done = false;
  }
  errno = error;
  return done && dvt_replacement_commit(replacement);
}

/* The directory of `path` and the one above it. */
static void make_directories(const char *path) {
  char text[PATH_MAX];
  snprintf(text, sizeof text, "%s", path);
  char *last = strrchr(text, '/');
  if (!last || last == text)
    return;
  *last = '\0';
  char *above = strrchr(text, '/');
  if (above && above != text) {
    *above = '\0';
    (void)mkdir(text, 0777); /* writing says what is wrong */
    *above = '/';
  }
  (void)mkdir(text, 0777);
}

davit_status davit_tuning_save(const char *path) {
  DVT_UNCANCELLED;
  char usual[PATH_MAX];
  origin where = path ? NAMED : find_path(usual);
  if (where == NOWHERE)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "there is no tuning file");
  DVT_TRY(dvt_start());
  path = path ? path : usual;
  if (where == USUAL)
    make_directories(path);
  dvt_replacement replacement;
  const char *why = dvt_replacement_open(path, &replacement);
  if (!why) {
    lock_filled();
    why = write_and_commit(&replacement) ? NULL : strerror(errno);
    pthread_mutex_unlock(&lock);
    dvt_replacement_discard(&replacement);
  }
  return why ? davit_fail(DAVIT_INVALID_ARGUMENT, "%s: cannot be written: %s", path, why) : DAVIT_SUCCESS;
}
