/* SPDX-License-Identifier: Apache-2.0 */
/* davit occupancy: how many blocks of a kernel a multiprocessor holds, and which resources limit them. */
#include <davit/device.h>
#include <davit/occupancy.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/cli/frame/job.h"

typedef enum sweep { NO_SWEEP, OVER_THREADS, OVER_REGISTERS, OVER_SHARED } sweep;

enum { MAX_POINTS = 512, LIMITS = 5 };

typedef struct point {
  int64_t value;
  davit_occupancy_result occupancy;
} point;

typedef struct calculation {
  cli_job job;
  const char *card_name;
  sweep over;
  davit_occupancy_block block;
  int64_t thread_shared;
  bool advised;
  davit_occupancy_card card;
  davit_occupancy_result rule, hand;
  int points;
  point point[MAX_POINTS];
} calculation;

static const cli_choice sweeps[] = {
    {"threads", OVER_THREADS, NULL}, {"registers", OVER_REGISTERS, NULL}, {"shared", OVER_SHARED, NULL}, {0}};

/* ---- arguments ---- */

/* Sets the device of this machine that is the card. */
static int take_device(calculation *c, int device) {
  c->job.devices.count = 1;
  c->job.devices.ids[0] = device;
  return CLI_OK;
}

static int first_card(calculation *c) {
  int count = 0;
  CLI_TRY(cli_status(davit_device_count(&count)));
  for (int device = 0; device < count; device++)
    if (davit_occupancy_card_describe(device, &c->card) == DAVIT_SUCCESS)
      return take_device(c, device);
  (void)davit_occupancy_card_find("", &c->card); /* its error message has the names */
  return cli_fail(CLI_USAGE, "there is no NVIDIA device; name a card with --card: %s",
                  strstr(davit_last_error(), ": ") + 2);
}

static int choose_card(calculation *c) {
  const char *name = c->card_name;
  c->job.devices.count = 0;
  if (!name)
    return first_card(c);
  const bool number = strspn(name, "0123456789") == strlen(name);
  const long device = number ? strtol(name, NULL, 10) : 0;
  const davit_status status = !number ? davit_occupancy_card_find(name, &c->card)
                              : device < INT_MAX
                                  ? davit_occupancy_card_describe((int)device, &c->card)
                                  : davit_fail(DAVIT_UNKNOWN_DEVICE, "device %s does not exist", name);
  if (status != DAVIT_SUCCESS)
    return cli_fail(CLI_USAGE, "--card: %s", davit_last_error());
  return number ? take_device(c, (int)device) : CLI_OK;
}

static int load(void *state) {
  calculation *c = state;
  CLI_TRY(choose_card(c));
  if (!c->block.threads && c->over == OVER_THREADS)
    c->block.threads = c->card.warp_size;
  c->advised = !c->block.threads;
  return CLI_OK;
}

static davit_occupancy_options model(const calculation *c, davit_occupancy_model model) {
  return (davit_occupancy_options){.model = model, .thread_shared_bytes = (size_t)c->thread_shared};
}

/* ---- work ---- */

static davit_status add_point(calculation *c, int64_t value) {
  davit_occupancy_block block = c->block;
  point *p = &c->point[c->points++];
  p->value = value;
  if (c->over == OVER_THREADS)
    block.threads = (int)value;
  else if (c->over == OVER_REGISTERS)
    block.registers = (int)value;
  else
    block.shared_bytes = (size_t)value;
  const davit_occupancy_options rule = model(c, DAVIT_OCCUPANCY_RULE);
  return davit_occupancy(&c->card, &block, &p->occupancy, &rule);
}

/* In steps that can change the result: whole warps, units of registers, KiB. The last value is the maximum. */
static davit_status sweep_over(calculation *c) {
  const davit_occupancy_card *card = &c->card;
  int64_t most = card->block_threads, step = card->warp_size, first = step;
  if (c->over == OVER_REGISTERS) {
    most = card->thread_registers;
    step = card->register_unit >= card->warp_size ? card->register_unit / card->warp_size : 1;
    first = step;
  } else if (c->over == OVER_SHARED) {
    most = (int64_t)card->block_shared_bytes;
    step = most > 64 << 10 ? 4 << 10 : 1 << 10;
    first = 0;
  }
  for (int64_t value = first; value < most && c->points < MAX_POINTS - 1; value += step)
    DVT_TRY(add_point(c, value));
  return add_point(c, most);
}

static davit_status work(void *state, cli_array *unused, bool reference) {
  calculation *c = state;
  (void)unused, (void)reference;
  c->points = 0;
  const davit_occupancy_options rule = model(c, DAVIT_OCCUPANCY_RULE),
                                by_hand = model(c, DAVIT_OCCUPANCY_HAND);
  if (c->advised)
    c->block.threads = 0;
  DVT_TRY(c->advised ? davit_occupancy_advise(&c->card, &c->block, &c->block.threads, &c->rule, &rule)
                     : davit_occupancy(&c->card, &c->block, &c->rule, &rule));
  DVT_TRY(davit_occupancy(&c->card, &c->block, &c->hand, &by_hand));
  return c->over ? sweep_over(c) : DAVIT_SUCCESS;
}

/* ---- report ---- */

static void print_limits(unsigned limits, const char *separator) {
  bool first = true;
  for (int bit = 0; bit < LIMITS; bit++)
    if (limits & 1U << bit) {
      printf("%s%s", first ? "" : separator,
             davit_occupancy_limit_string((davit_occupancy_limit)(1U << bit)));
      first = false;
    }
}

static void print_sweep(const calculation *c) {
  enum { WIDTH = 32 };
  printf("%9s  blocks  warps  occupancy\n", cli_choice_name(sweeps, (int)c->over));
  for (int i = 0; i < c->points; i++) {
    const davit_occupancy_result *o = &c->point[i].occupancy;
    const int bar = (int)(o->occupancy * (double)WIDTH + 0.5);
    printf("%9lld  %6d  %5d  %7.2f %%  %.*s%*s  ", (long long)c->point[i].value, o->blocks, o->warps,
           100 * o->occupancy, bar, "################################", WIDTH - bar, "");
    print_limits(o->limits, ", ");
    printf("\n");
  }
}

static void print(const void *state) {
  const calculation *c = state;
  const davit_occupancy_card *card = &c->card;
  const davit_occupancy_result *o = &c->rule;
  printf("%s", card->name);
  if (card->compute_capability > 0)
    printf(", capability %d.%d", card->compute_capability / 10, card->compute_capability % 10);
  printf(": %d threads, %d warps, %d blocks, %d registers, %zu bytes of shared memory\n", card->threads,
         card->warps, card->blocks, card->registers, card->shared_bytes);
  if (c->over) {
    print_sweep(c);
    return;
  }
  const size_t shared_bytes = c->block.shared_bytes + (size_t)c->thread_shared * (size_t)c->block.threads;
  if (c->advised)
    printf("advice: %d thread%s, the smallest block with the highest occupancy\n", c->block.threads,
           CLI_PLURAL(c->block.threads));
  printf("%d thread%s, %d register%s, %zu byte%s: ", c->block.threads, CLI_PLURAL(c->block.threads),
         c->block.registers, CLI_PLURAL(c->block.registers), shared_bytes, CLI_PLURAL(shared_bytes));
  printf("%d block%s, %d warp%s, %d thread%s, occupancy %.2f %%\nlimited by ", o->blocks,
         CLI_PLURAL(o->blocks), o->warps, CLI_PLURAL(o->warps), o->threads, CLI_PLURAL(o->threads),
         100 * o->occupancy);
  print_limits(o->limits, ", ");
  printf("%s%s\n", o->blocks ? "" : ": ", o->reason);
  if (c->hand.blocks != o->blocks)
    printf("by plain division, without allocation units: %d block%s, %d warp%s, occupancy %.2f %%\n",
           c->hand.blocks, CLI_PLURAL(c->hand.blocks), c->hand.warps, CLI_PLURAL(c->hand.warps),
           100 * c->hand.occupancy);
}

static void json_members(cli_json *json, const davit_occupancy_result *o) {
  cli_json_integer(json, "blocks", o->blocks);
  cli_json_integer(json, "warps", o->warps);
  cli_json_integer(json, "active_threads", o->threads);
  cli_json_real(json, "occupancy", o->occupancy);
  cli_json_open_array(json, "limits");
  for (int bit = 0; bit < LIMITS; bit++)
    if (o->limits & 1U << bit)
      cli_json_string(json, NULL, davit_occupancy_limit_string((davit_occupancy_limit)(1U << bit)));
  cli_json_close_array(json);
}

static void json_card(cli_json *json, const davit_occupancy_card *card) {
  cli_json_open_object(json, "card");
  cli_json_string(json, "name", card->name);
  cli_json_integer(json, "compute_capability", card->compute_capability);
  cli_json_integer(json, "warp_size", card->warp_size);
  cli_json_integer(json, "block_threads", card->block_threads);
  cli_json_integer(json, "threads", card->threads);
  cli_json_integer(json, "warps", card->warps);
  cli_json_integer(json, "blocks", card->blocks);
  cli_json_integer(json, "registers", card->registers);
  cli_json_integer(json, "block_registers", card->block_registers);
  cli_json_integer(json, "thread_registers", card->thread_registers);
  cli_json_integer(json, "register_unit", card->register_unit);
  cli_json_integer(json, "warp_unit", card->warp_unit);
  cli_json_integer(json, "shared_bytes", (int64_t)card->shared_bytes);
  cli_json_integer(json, "block_shared_bytes", (int64_t)card->block_shared_bytes);
  cli_json_integer(json, "block_reserved_bytes", (int64_t)card->block_reserved_bytes);
  cli_json_integer(json, "shared_unit", (int64_t)card->shared_unit);
  cli_json_close_object(json);
}

static void json_sweep(cli_json *json, const calculation *c) {
  cli_json_string(json, "sweep", cli_choice_name(sweeps, (int)c->over));
  cli_json_open_array(json, "points");
  for (int i = 0; i < c->points; i++) {
    cli_json_open_object(json, NULL);
    cli_json_integer(json, "value", c->point[i].value);
    json_members(json, &c->point[i].occupancy);
    cli_json_close_object(json);
  }
  cli_json_close_array(json);
}

static void json(cli_json *json, const void *state) {
  const calculation *c = state;
  json_card(json, &c->card);
  if (c->over) {
    json_sweep(json, c);
    return;
  }
  cli_json_bool(json, "advised", c->advised);
  cli_json_integer(json, "threads", c->block.threads);
  cli_json_integer(json, "registers", c->block.registers);
  cli_json_integer(json, "shared_bytes",
                   (int64_t)c->block.shared_bytes + c->thread_shared * c->block.threads);
  json_members(json, &c->rule);
  cli_json_string(json, "reason", c->rule.reason);
  cli_json_open_object(json, "hand");
  json_members(json, &c->hand);
  cli_json_close_object(json);
}

/* ---- command ---- */

const cli_command cli_command_occupancy = {
    .name = "occupancy",
    .summary = "how many blocks of a kernel fit on a multiprocessor of a GPU",
    .description =
        "Prints how many blocks and warps fit on a multiprocessor, the occupancy, and the resources that "
        "limit it, for a block that needs the given resources. Without --threads, it advises a block size.",
    .examples = "davit occupancy --threads 256 --registers 40 --card A100\n"
                "davit occupancy --card H200 --registers 40 --thread-shared 28\n"
                "davit occupancy --card H200 --threads 128 --sweep shared\n",
    .options = CLI_OPTIONS(
        CLI_OPTION(WHOLE, calculation, block.threads, "--threads", "T", .minimum = 1, .maximum = 1 << 30,
                   .help = "threads per block", .otherwise = "the smallest block with the highest occupancy"),
        CLI_OPTION(WHOLE, calculation, block.registers, "--registers", "R", .maximum = 1 << 30, .value = "0",
                   .help = "registers per thread; 0: registers are no limit"),
        CLI_OPTION(WHOLE, calculation, block.shared_bytes, "--shared", "S", .maximum = 1 << 30, .value = "0",
                   .help = "bytes of shared memory per block, static and dynamic"),
        CLI_OPTION(WHOLE, calculation, thread_shared, "--thread-shared", "S", .maximum = 1 << 20,
                   .value = "0", .help = "further bytes of shared memory per thread"),
        CLI_OPTION(TEXT, calculation, card_name, "--card", "NAME", .otherwise = "the first NVIDIA device",
                   .words = "V100 A100 L40S H100 H200 B200 MI210 MI300X",
                   .help = "8800 GTX, GTX 460, GT 560M, GTX 670, 930M, V100, A100, RTX 3090, RTX 4090, L40S, "
                           "H100, H200, B200, RTX 5090, MI210, MI300X (case, spaces and punctuation are "
                           "ignored), or the number of a device"),
        CLI_OPTION(CHOICE, calculation, over, "--sweep", "WHAT", .choices = sweeps,
                   .help = "print a table over all values of one parameter")),
    .common = CLI_COMMON_JSON,
    .state = sizeof(calculation),
    .read = load,
    .work = work,
    .print = print,
    .json = json,
};
