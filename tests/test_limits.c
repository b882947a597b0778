/* SPDX-License-Identifier: Apache-2.0 */
/* The cores and the memory that the system and its control groups leave to the process, read from folders that look
 * like a system's. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/support.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/cgroup.h"
#include "src/base/cores.h"
#include "src/base/limit.h"

static void write_text(const char *root, const char *path, const char *text) {
  char name[512];
  snprintf(name, sizeof name, "%s%s", root, path);
  for (char *at = strchr(name + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
    *at = '\0';
    mkdir(name, 0700);
    *at = '/';
  }
  FILE *file = fopen(name, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

/* Two processors of a core count once; those of which the system says nothing each. */
CASE(cores_are_counted) {
  static const struct {
    const char *quota;
    int processors[4], cores;
  } cases[] = {{"max 100000", {0, 1, 2, 3}, 2},    {"max 100000", {0, 2, 2, 2}, 1},
               {"max 100000", {2, 3, 3, 3}, 2},    {"max 100000", {0, 1, 4, 5}, 4},
               {"150000 100000", {0, 1, 4, 5}, 2}, {"max 100000", {3, 3, 3, 3}, 1}};
  char root[] = "/tmp/davit_cores_XXXXXX", command[64];
  assert_non_null(mkdtemp(root));
  write_text(root, "/proc/self/cgroup", "0::/\n");
  for (int i = 0; i < 4; i++) {
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", i);
    write_text(root, path, i % 2 ? "1,3\n" : "0,2\n");
  }
  for (int i = 0; i < COUNT(cases); i++) {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    for (int k = 0; k < 4; k++)
      CPU_SET((size_t)cases[i].processors[k], &processors);
    write_text(root, "/sys/fs/cgroup/cpu.max", cases[i].quota);
    assert_int_equal(dvt_cores(root, &processors), cases[i].cores);
  }
  snprintf(command, sizeof command, "rm -r %s", root);
  assert_int_equal(system(command), 0);
}

CASE(limits_of_control_groups_are_read) {
  static const struct {
    const char *cgroup, *path[2], *text[2];
    int quota;
    size_t memory; /* 0: the machine's */
  } systems[] = {
      {"0::/\n", {"/sys/fs/cgroup/cpu.max"}, {"150000 100000\n"}, 2, 0},
      {"0::/\n", {"/sys/fs/cgroup/cpu.max"}, {"max 100000\n"}, 0, 0},
      {"0::/a/b\n",
       {"/sys/fs/cgroup/a/b/cpu.max", "/sys/fs/cgroup/a/cpu.max"},
       {"max 100000", "300000 100000"},
       3,
       0},
      {"0::/a/b\n",
       {"/sys/fs/cgroup/a/b/cpu.max", "/sys/fs/cgroup/a/cpu.max"},
       {"10000 100000", "300000 100000"},
       1,
       0},
      {"5:cpuset:/x\n4:cpu,cpuacct:/docker/0\n0::/\n",
       {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us"},
       {"400000\n", "100000\n"},
       4,
       0},
      {"4:cpu:/\n",
       {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"},
       {"-1", "100000"},
       0,
       0},
      {"0::/a/b\n",
       {"/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max"},
       {"max", "1048576"},
       0,
       1 << 20},
      {"4:memory:/docker/0\n", {"/sys/fs/cgroup/memory/memory.limit_in_bytes"}, {"2097152\n"}, 0, 2 << 20},
      {"", {NULL}, {NULL}, 0, 0},
  };
  const size_t machine = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGE_SIZE);
  for (int i = 0; i < COUNT(systems); i++) {
    char root[] = "/tmp/davit_quota_XXXXXX", command[64];
    assert_non_null(mkdtemp(root));
    write_text(root, "/proc/self/cgroup", systems[i].cgroup);
    for (int k = 0; k < 2 && systems[i].path[k]; k++)
      write_text(root, systems[i].path[k], systems[i].text[k]);
    assert_int_equal(dvt_cgroup_processors(root), systems[i].quota);
    assert_int_equal(dvt_memory_limit(root), systems[i].memory ? systems[i].memory : machine);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
  }
}

CASE(what_memory_is_left_is_read) {
  static const struct {
    const char *limit, *used;
    size_t available;
  } systems[] = {{"max", "1000000", 5 << 20}, {"3145728", "1048576", 2 << 20}, {"3145728", "3145729", 1}};
  for (int i = 0; i < COUNT(systems); i++) {
    char root[] = "/tmp/davit_quota_XXXXXX", command[64];
    assert_non_null(mkdtemp(root));
    assert_int_equal(dvt_memory_available(root), 0); /* unknown */
    write_text(root, "/proc/self/cgroup", "0::/a\n");
    write_text(root, "/proc/meminfo",
               "MemTotal:       8192 kB\nMemFree:        1024 kB\nMemAvailable:   5120 kB\n");
    write_text(root, "/sys/fs/cgroup/a/memory.max", systems[i].limit);
    write_text(root, "/sys/fs/cgroup/a/memory.current", systems[i].used);
    assert_int_equal(dvt_memory_available(root), systems[i].available);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
  }
  assert_in_range(dvt_memory_available(""), 1, dvt_memory_limit(""));
}
