/* davit occupancy: how many blocks of a kernel a multiprocessor holds, and what bounds them. */
#include <davit/device.h>
#include <davit/occupancy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/cli/frame/json.h"
#include "src/cli/frame/old_options.h"

typedef enum sweep { NO_SWEEP, OVER_THREADS, OVER_REGISTERS, OVER_SHARED, SWEEPS } sweep;
static const char *const sweep_names[SWEEPS] = {"", "threads", "registers", "shared"};

enum { MOST_POINTS = 512, LIMITS = 5 };

typedef struct point {
  int64_t value;
  davit_occupancy_result occupancy;
} point;

typedef struct calculation {
  cli_common common;
  davit_occupancy_card card;
  int device; /* the card's number on this machine, -1 of a built-in one */
  davit_occupancy_block block;
  davit_occupancy_result rule, hand;
  sweep over;
  int points;
  point point[MOST_POINTS];
  double seconds;
} calculation;

typedef struct arguments {
  const char *card, *sweep;
  int64_t threads, registers, shared_bytes;
} arguments;

/* ---- arguments ---- */

static int first_card(calculation *c) {
  int count = 0;
  davit_status status = davit_device_count(&count);
  for (int device = 0; device < count && status == DAVIT_SUCCESS; device++)
    if (davit_occupancy_card_describe(device, &c->card) == DAVIT_SUCCESS) {
      c->device = device;
      return CLI_OK;
    }
  if (status != DAVIT_SUCCESS)
    return cli_status(status);
  (void)davit_occupancy_card_find("", &c->card); /* for the sentence, which has the names */
  return cli_fail(CLI_USAGE, "there is no NVIDIA device here; --card names a card: %s",
                  strstr(davit_last_error(), ": ") + 2);
}

static int choose_card(calculation *c, const char *name) {
  c->device = -1;
  if (!name)
    return first_card(c);
  davit_status status;
  if (strspn(name, "0123456789") == strlen(name)) {
    c->device = (int)strtol(name, NULL, 10);
    status = strlen(name) < 9 ? davit_occupancy_card_describe(c->device, &c->card)
                              : davit_fail(DAVIT_UNKNOWN_DEVICE, "device %s does not exist", name);
  } else {
    status = davit_occupancy_card_find(name, &c->card);
  }
  if (status == DAVIT_SUCCESS)
    return CLI_OK;
  return cli_fail(CLI_USAGE, "--card: %s", davit_last_error());
}

static int choose_sweep(calculation *c, const char *name) {
  if (!name)
    return CLI_OK;
  for (int i = OVER_THREADS; i < SWEEPS; i++)
    if (!strcmp(name, sweep_names[i]))
      c->over = (sweep)i;
  return c->over ? CLI_OK : cli_fail(CLI_USAGE, "--sweep takes threads, registers or shared, not '%s'", name);
}

static int choose_block(calculation *c, const arguments *given) {
  const int64_t most = 1 << 30;
  if (!given->threads && c->over != OVER_THREADS)
    return cli_fail(CLI_USAGE, "--threads says how many threads a block has");
  if (given->threads > most || given->registers > most || given->shared_bytes > most)
    return cli_fail(CLI_USAGE, "--threads, --registers and --shared take at most %lld", (long long)most);
  c->block = (davit_occupancy_block){.threads = given->threads ? (int)given->threads : c->card.warp_size,
                                     .registers = (int)given->registers,
                                     .shared_bytes = (size_t)given->shared_bytes};
  return CLI_OK;
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
  return davit_occupancy(&c->card, &block, &p->occupancy, NULL);
}

/* In steps that can make a difference: whole warps, units of registers, KiB. Ends with the most there may be.
 */
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
  davit_status status = DAVIT_SUCCESS;
  for (int64_t value = first; value < most && c->points < MOST_POINTS - 1 && status == DAVIT_SUCCESS;
       value += step)
    status = add_point(c, value);
  return status == DAVIT_SUCCESS ? add_point(c, most) : status;
}

static davit_status calculate(calculation *c) {
  const davit_occupancy_options by_hand = {.model = DAVIT_OCCUPANCY_HAND};
  davit_status status = davit_occupancy(&c->card, &c->block, &c->rule, NULL);
  if (status == DAVIT_SUCCESS)
    status = davit_occupancy(&c->card, &c->block, &c->hand, &by_hand);
  return status == DAVIT_SUCCESS && c->over ? sweep_over(c) : status;
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
  printf("%9s  blocks  warps  occupancy\n", sweep_names[c->over]);
  for (int i = 0; i < c->points; i++) {
    const davit_occupancy_result *o = &c->point[i].occupancy;
    const int bar = (int)(o->occupancy * (double)WIDTH + 0.5);
    printf("%9lld  %6d  %5d  %7.2f %%  %.*s%*s  ", (long long)c->point[i].value, o->blocks, o->warps,
           100 * o->occupancy, bar, "################################", WIDTH - bar, "");
    print_limits(o->limits, ", ");
    printf("\n");
  }
}

static void print_text(const calculation *c) {
  const davit_occupancy_card *card = &c->card;
  const davit_occupancy_result *o = &c->rule;
  printf("%s, capability %d.%d: %d threads, %d warps, %d blocks, %d registers, %zu bytes of shared memory\n",
         card->name, card->compute_capability / 10, card->compute_capability % 10, card->threads, card->warps,
         card->blocks, card->registers, card->shared_bytes);
  if (c->over) {
    print_sweep(c);
    return;
  }
  printf("%d threads, %d registers, %zu bytes: ", c->block.threads, c->block.registers,
         c->block.shared_bytes);
  printf("%d blocks, %d warps, %d threads, occupancy %.2f %%\nlimited by ", o->blocks, o->warps, o->threads,
         100 * o->occupancy);
  print_limits(o->limits, ", ");
  printf("%s%s\n", o->blocks ? "" : ": ", o->reason);
  if (c->hand.blocks != o->blocks)
    printf("by plain division, without units: %d blocks, %d warps, occupancy %.2f %%\n", c->hand.blocks,
           c->hand.warps, 100 * c->hand.occupancy);
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
  cli_json_string(json, "sweep", sweep_names[c->over]);
  cli_json_open_array(json, "points");
  for (int i = 0; i < c->points; i++) {
    cli_json_open_object(json, NULL);
    cli_json_integer(json, "value", c->point[i].value);
    json_members(json, &c->point[i].occupancy);
    cli_json_close_object(json);
  }
  cli_json_close_array(json);
}

static void print_json(const calculation *c) {
  cli_json json = {.file = stdout};
  cli_json_open_object(&json, NULL);
  cli_json_string(&json, "command", "occupancy");
  cli_json_open_array(&json, "devices");
  if (c->device >= 0)
    cli_json_integer(&json, NULL, c->device);
  cli_json_close_array(&json);
  cli_json_real(&json, "seconds", c->seconds);
  json_card(&json, &c->card);
  if (c->over) {
    json_sweep(&json, c);
  } else {
    cli_json_integer(&json, "threads", c->block.threads);
    cli_json_integer(&json, "registers", c->block.registers);
    cli_json_integer(&json, "shared_bytes", (int64_t)c->block.shared_bytes);
    json_members(&json, &c->rule);
    cli_json_string(&json, "reason", c->rule.reason);
    cli_json_open_object(&json, "hand");
    json_members(&json, &c->hand);
    cli_json_close_object(&json);
  }
  cli_json_close_object(&json);
  putchar('\n');
}

/* ---- command ---- */

static int compute(calculation *c, const arguments *given) {
  int code = choose_sweep(c, given->sweep);
  if (code == CLI_OK)
    code = choose_card(c, given->card);
  if (code == CLI_OK)
    code = choose_block(c, given);
  if (code != CLI_OK)
    return code;
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  const davit_status status = calculate(c);
  clock_gettime(CLOCK_MONOTONIC, &end);
  c->seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  return cli_status(status);
}

static int run(const cli_command *self, int argc, char **argv) {
  calculation *c = calloc(1, sizeof *c);
  if (!c)
    return cli_fail(CLI_DEVICE, "not enough memory for the table");
  arguments given = {0};
  const cli_old_option options[] = {
      {"threads", CLI_OLD_SIZE, &given.threads},      {"registers", CLI_OLD_COUNT, &given.registers},
      {"shared", CLI_OLD_COUNT, &given.shared_bytes}, {"card", CLI_OLD_TEXT, &given.card},
      {"sweep", CLI_OLD_TEXT, &given.sweep},          {0}};
  int code = cli_old_parse(self, options, argc, argv, &c->common, NULL, 0);
  if (code == CLI_OK)
    code = compute(c, &given);
  if (code == CLI_OK)
    (c->common.json ? print_json : print_text)(c);
  free(c);
  return code;
}

const cli_command cli_command_occupancy = {
    .name = "occupancy",
    .summary = "how many blocks of a kernel a multiprocessor of a GPU holds",
    .usage =
        "davit occupancy --threads T [--registers R] [--shared S] [--card NAME] [options]\n\n"
        "Blocks, warps and occupancy of a multiprocessor, and what bounds them, from what a block needs.\n\n"
        "  --threads T      of a block\n"
        "  --registers R    of a thread (default 0: they bound nothing)\n"
        "  --shared S       bytes of shared memory of a block, static and dynamic (default 0)\n"
        "  --card NAME      GT 560M, GTX 670, V100, A100, H100, H200, or a device's number (default: the\n"
        "                   first NVIDIA device)\n"
        "  --sweep WHAT     threads, registers or shared: a table over all values of it\n",
    .common = CLI_COMMON_JSON,
    .old_run = run,
};
