/* SPDX-License-Identifier: Apache-2.0 */
/* davit devices: the devices, their memory and their links. */
#include <davit/device.h>
#include <math.h>
#include <stdlib.h>

#include "src/base/error.h"
#include "src/cli/frame/job.h"
#include "src/cli/no_gpu.h"

typedef struct entry {
  davit_device_info info;
  bool known; /* how much memory there is */
  size_t free_bytes, total_bytes;
} entry;

/* Entry 0 is the host; entry i + 1 is device i. links[i * count + j]: from entry i to entry j. */
typedef struct inventory {
  cli_job job;
  int count;
  entry *entries;
  davit_link_kind *links;
  char left_out[1024];          /* devices that the library cannot use; "" if there are none */
  char no_gpu[CLI_NO_GPU_TEXT]; /* why there is none; "" if there is one */
} inventory;

static const char *link_name(davit_link_kind link) {
  return link == DAVIT_LINK_SAME ? "same" : link == DAVIT_LINK_PEER ? "peer" : "staged";
}

/* The runtime may have devices that the library cannot use. False if it has none. */
static bool find_left_out(inventory *all, int device) {
  davit_device_info info;
  const bool left_out = davit_device_describe(device, &info) == DAVIT_UNSUPPORTED;
  if (left_out)
    snprintf(all->left_out, sizeof all->left_out, "%s", davit_last_error());
  return left_out;
}

static bool has_gpu(int count) {
  bool found = false;
  for (int device = 0; device < count && !found; device++) {
    davit_device_info info;
    found = davit_device_describe(device, &info) == DAVIT_SUCCESS && info.kind != DAVIT_DEVICE_HOST_OFFLOAD;
  }
  return found;
}

static void explain_no_gpu(inventory *all) {
  static const cli_gpu_build build = {
      .targets = DAVIT_BUILT_FOR, .cuda = DAVIT_BUILT_WITH_CUDA, .driver = "libcuda.so.1"};
  cli_no_gpu(&build, all->no_gpu);
}

static int load(void *state) {
  inventory *all = state;
  CLI_TRY(cli_status(davit_device_count(&all->count)));
  if (!find_left_out(all, all->count) && !has_gpu(all->count))
    explain_no_gpu(all);
  all->count++;
  const size_t count = (size_t)all->count;
  CLI_ROOM(&all->job, all->entries, count);
  CLI_ROOM(&all->job, all->links, count * count);
  cli_device_set *set = &all->job.devices;
  for (set->count = 0; set->count < all->count && set->count < CLI_MAX_DEVICES; set->count++)
    set->ids[set->count] = set->count - 1;
  return CLI_OK;
}

static davit_status work(void *state, cli_array *unused, bool reference) {
  inventory *all = state;
  (void)unused, (void)reference;
  for (int i = 0; i < all->count; i++) {
    entry *e = &all->entries[i];
    DVT_TRY(davit_device_describe(i - 1, &e->info));
    const davit_status status = davit_device_memory(i - 1, &e->free_bytes, &e->total_bytes);
    e->known = status == DAVIT_SUCCESS;
    DVT_TRY(status == DAVIT_UNSUPPORTED ? DAVIT_SUCCESS : status);
    for (int j = 0; j < all->count; j++)
      DVT_TRY(davit_device_link(i - 1, j - 1, &all->links[i * all->count + j]));
  }
  return DAVIT_SUCCESS;
}

static void json_bytes(cli_json *json, const char *key, const entry *e, size_t bytes) {
  if (e->known)
    cli_json_integer(json, key, (int64_t)bytes);
  else
    cli_json_real(json, key, (double)NAN); /* null */
}

static void json_entry(cli_json *json, const inventory *all, int i) {
  const entry *e = &all->entries[i];
  cli_json_open_object(json, NULL);
  cli_json_integer(json, "device", e->info.device);
  cli_json_string(json, "kind", davit_device_kind_string(e->info.kind));
  cli_json_string(json, "name", e->info.name);
  cli_json_open_object(json, "memory");
  json_bytes(json, "total_bytes", e, e->total_bytes);
  json_bytes(json, "free_bytes", e, e->free_bytes);
  cli_json_close_object(json);
  cli_json_integer(json, "compute_units", e->info.compute_units);
  cli_json_integer(json, "compute_capability", e->info.compute_capability);
  cli_json_string(json, "bus", e->info.bus);
  cli_json_open_array(json, "links");
  for (int j = 0; j < all->count; j++) {
    cli_json_open_object(json, NULL);
    cli_json_integer(json, "to", j - 1);
    cli_json_string(json, "kind", link_name(all->links[i * all->count + j]));
    cli_json_close_object(json);
  }
  cli_json_close_array(json);
  cli_json_close_object(json);
}

static void json(cli_json *json, const void *state) {
  const inventory *all = state;
  cli_json_open_array(json, "list");
  for (int i = 0; i < all->count; i++)
    json_entry(json, all, i);
  cli_json_close_array(json);
  if (*all->no_gpu)
    cli_json_string(json, "no_gpu", all->no_gpu);
}

static void report(cli_json *json, const void *state) {
  (void)state;
  cli_json_string(json, "backend", davit_backend_string());
  cli_json_integer(json, "threads", dvt_threads());
}

/* "0", or "0 to 3" of a run. */
static void name_run(const inventory *all, int first, char text[static 32]) {
  const int length = cli_devices_alike(&all->job.devices, first);
  snprintf(text, 32, length > 1 ? "%d to %d" : "%d", first - 1, first + length - 2);
}

static void print_entry(const inventory *all, int first) {
  const double gib = 1024.0 * 1024.0 * 1024.0;
  const entry *e = &all->entries[first];
  char name[32], capability[16] = "-", memory[32] = "unknown";
  name_run(all, first, name);
  if (e->known)
    snprintf(memory, sizeof memory, "%7.1f of %7.1f GiB", (double)e->free_bytes / gib,
             (double)e->total_bytes / gib);
  if (e->info.compute_capability)
    snprintf(capability, sizeof capability, "%d.%d", e->info.compute_capability / 10,
             e->info.compute_capability % 10);
  printf("%6s  %-12s  %22s  %5d  %10s  %s%s%s\n", name, davit_device_kind_string(e->info.kind), memory,
         e->info.compute_units, capability, e->info.name, e->info.bus[0] ? ", " : "", e->info.bus);
}

static void print_links(const inventory *all) {
  char name[32];
  printf("\nlinks ");
  for (int j = 0; j < all->count; j += cli_devices_alike(&all->job.devices, j)) {
    name_run(all, j, name);
    printf("  %6s", name);
  }
  for (int i = 0; i < all->count; i += cli_devices_alike(&all->job.devices, i)) {
    name_run(all, i, name);
    printf("\n%6s", name);
    for (int j = 0; j < all->count; j += cli_devices_alike(&all->job.devices, j))
      printf("  %6s", link_name(all->links[i * all->count + j]));
  }
  printf("\n");
}

static void print(const void *state) {
  const inventory *all = state;
  printf("device  kind          memory free of total  units  capability  name\n");
  for (int i = 0; i < all->count; i += cli_devices_alike(&all->job.devices, i))
    print_entry(all, i);
  print_links(all);
}

static void remark(const void *state) {
  const inventory *all = state;
  if (*all->left_out)
    fprintf(stderr, "davit devices: %s\n", all->left_out);
  if (*all->no_gpu && all->count > 1)
    fprintf(stderr, "davit devices: no GPU: %s; the CPU stands in as %d host-offload device%s\n", all->no_gpu,
            all->count - 1, CLI_PLURAL(all->count - 1));
  else if (*all->no_gpu)
    fprintf(stderr, "davit devices: no GPU: %s\n", all->no_gpu);
}

const cli_command cli_command_devices = {
    .name = "devices",
    .summary = "list the devices, their memory and their links",
    .description =
        "Lists the host (-1) and every device: kind, name, free and total memory, compute units, CUDA "
        "capability, and the link from the device of each row to that of each column: same (one memory), "
        "peer (direct) or staged (through the host). Host-offload devices, in which the CPU stands in for "
        "GPUs, share one line. If there is no GPU, a line on standard error says why.",
    .examples = "davit devices\n"
                "davit devices --json\n",
    .common = CLI_COMMON_THREADS | CLI_COMMON_JSON | CLI_COMMON_VERBOSE,
    .state = sizeof(inventory),
    .read = load,
    .work = work,
    .print = print,
    .json = json,
    .report = report,
    .remark = remark,
};
