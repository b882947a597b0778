/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/ranks.h"

#include <davit/davit.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/allocate.h"
#include "src/base/environment.h"
#include "src/cli/fail.h"

const cli_ranks_table *cli_ranks;
static int own_rank, own_count = 1;
static int local_rank, local_count = 1; /* of this machine */
static int ended = CLI_OK;              /* the failure that all ranks agreed on */

/* ---- joining ---- */

/* What launchers tell the processes they start: Open MPI; MPICH, Intel MPI and srun --mpi=pmi2; MVAPICH; srun
 * --mpi=pmix, whose second variable is set without a launcher of MPI too. `local`: the rank among those of the
 * machine. */
static const struct {
  const char *rank, *count, *local;
} variables[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
                 {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
                 {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"},
                 {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"}};

static int number_of(const char *name) {
  const char *value = dvt_environment(name);
  return value ? atoi(value) : -1;
}

/* As the launcher says: the count, 1 without one; whether this is the first rank of its machine, or of all where
 * the launcher does not say it. */
static int launched(bool *first) {
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    if (number_of(variables[i].rank) >= 0 && number_of(variables[i].count) > 1) {
      const int local = number_of(variables[i].local);
      *first = local < 0 ? number_of(variables[i].rank) == 0 : local == 0;
      return number_of(variables[i].count);
    }
  return 1;
}

static const char *load(void) {
  void *library = dlopen(CLI_RANKS_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const char *why = dlerror();
    const bool missing =
        !strncmp(why, CLI_RANKS_LIBRARY ": cannot open", sizeof CLI_RANKS_LIBRARY ": cannot open" - 1);
    return missing ? CLI_RANKS_LIBRARY " is not installed (Debian: the package libdavit-mpi0); without it "
                                       "DAVIT_RANKS=apart makes each process a run of its own"
                   : why;
  }
  cli_ranks = dlsym(library, CLI_RANKS_SYMBOL);
  if (cli_ranks && strcmp(cli_ranks->version, DAVIT_VERSION))
    cli_ranks = NULL;
  return cli_ranks ? NULL : CLI_RANKS_LIBRARY " belongs to another version of davit";
}

/* The ranks of a machine fail alike; one says it. The others end later, because a launcher kills all when one has failed. */
static int cannot_join(bool first, int count, const char *why) {
  if (first)
    return cli_fail(CLI_DEVICE, "%d processes were launched together, but cannot be joined: %s", count, why);
  nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
  return CLI_DEVICE;
}

/* The version belongs to the command. */
static int compare_commands(const char *command) {
  const char *words[] = {DAVIT_VERSION, command ? command : ""};
  uint64_t own = CLI_RANKS_DIGEST;
  for (int i = 0; i < 2; i++)
    own = cli_ranks_digest(own, strlen(words[i]) + 1, words[i]);
  return cli_ranks_same(own) ? CLI_OK : cli_fail(CLI_USAGE, "its command differs from rank 0's");
}

/* Rank 0 alone prints. */
static int be_silent(void) {
  cli_fail_keep(true);
  return own_rank == 0 || freopen("/dev/null", "w", stdout)
             ? CLI_OK
             : cli_fail(CLI_FAILED, "/dev/null cannot be opened");
}

int cli_ranks_open(const char *command) {
  bool first = true;
  const int count = launched(&first);
  const char *apart = dvt_environment("DAVIT_RANKS");
  if (count == 1 || (apart && !strcmp(apart, "apart")))
    return CLI_OK;
  const char *why = load();
  if (!why && cli_ranks->open(&own_rank, &own_count, &local_rank, &local_count) != DAVIT_SUCCESS) {
    why = davit_last_error();
    cli_ranks = NULL;
  }
  if (why)
    return cannot_join(first, count, why);
  CLI_TRY(cli_ranks_agree(be_silent()));
  return cli_ranks_agree(compare_commands(command));
}

/* ---- working ---- */

int cli_ranks_count(void) {
  return own_count;
}

int cli_ranks_rank(void) {
  return own_rank;
}

bool cli_ranks_alone(void) {
  own_count = local_count = 1;
  local_rank = 0;
  cli_fail_keep(own_rank > 0);
  return own_rank == 0;
}

int cli_ranks_one_reader(void) {
  return cli_ranks_several()
             ? cli_fail(CLI_USAGE, "standard input ('-') cannot be read by %d processes; a file can",
                        own_count)
             : CLI_OK;
}

void cli_ranks_local(int *rank, int *count) {
  *rank = local_rank;
  *count = local_count;
}

static int agree(int code) {
  enum { TEXT = 4096 };
  char text[TEXT + 32] = "";
  int first;
  snprintf(text, TEXT, "%s", cli_fail_kept());
  code = cli_ranks->agree(code, TEXT, text, &first);
  ended = code == CLI_HELP ? CLI_OK : code;
  if (code != CLI_OK && own_rank == 0 && *text) {
    cli_fail_keep(false);
    if (first > 0)
      cli_fail(code, "rank %d: %s", first, text);
    else
      cli_fail(code, "%s", text);
  }
  return code;
}

int cli_ranks_agree(int code) {
  return cli_ranks_several() ? agree(code) : code;
}

int cli_ranks_close(int code) {
  if (!cli_ranks)
    return code;
  code = ended == CLI_OK ? agree(code) : ended;
  cli_ranks->close();
  /* Not by exit(): the handlers of MPI and OpenMP take down a GPU's driver in an order that the latter
   * complains about. */
  davit_finalize();
  fflush(NULL);
  _exit(code);
}

/* All ranks have memory for `sizes`. */
static int collect(size_t bytes, const void *data, size_t *sizes, size_t *total, char **all) {
  size_t at = bytes;
  *total = bytes;
  if (own_rank > 0)
    cli_ranks->send(sizeof bytes, &bytes);
  for (int rank = 1; rank < own_count && own_rank == 0; rank++) {
    cli_ranks->receive(rank, sizeof *sizes, &sizes[rank]);
    *total += sizes[rank];
  }
  *all = own_rank == 0 ? dvt_allocate(*total + 1, 1) : NULL;
  CLI_TRY(cli_ranks_agree(own_rank > 0 || *all ? CLI_OK : cli_status(DAVIT_OUT_OF_HOST_MEMORY)));
  if (own_rank > 0)
    cli_ranks->send(bytes, data);
  else if (bytes)
    memcpy(*all, data, bytes);
  for (int rank = 1; rank < own_count && own_rank == 0; at += sizes[rank], rank++)
    cli_ranks->receive(rank, sizes[rank], *all + at);
  return CLI_OK;
}

int cli_ranks_collect(int code, size_t bytes, const void *data, size_t *total, void **all) {
  size_t *sizes = dvt_allocate((size_t)own_count, sizeof *sizes);
  char *memory = NULL;
  code = cli_ranks_agree(code == CLI_OK && !sizes ? cli_status(DAVIT_OUT_OF_HOST_MEMORY) : code);
  if (code == CLI_OK)
    code = collect(bytes, data, sizes, total, &memory);
  *all = memory; /* of a rank that fails alone there is none */
  free(sizes);
  return code;
}

/* FNV-1a. */
uint64_t cli_ranks_digest(uint64_t digest, size_t bytes, const void *data) {
  for (size_t i = 0; i < bytes; i++)
    digest = (digest ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
  return digest;
}

bool cli_ranks_same(uint64_t digest) {
  uint64_t first = digest;
  cli_ranks_share(sizeof first, &first);
  return first == digest;
}

static uint64_t notes = CLI_RANKS_DIGEST;

void cli_ranks_note(int64_t number) {
  if (cli_ranks_several())
    notes = cli_ranks_digest(notes, sizeof number, &number);
}

int cli_ranks_compare_notes(void) {
  return cli_ranks_same(notes)
             ? CLI_OK
             : cli_fail(CLI_INPUT, "its files differ from rank 0's in shape, type or length");
}

void cli_ranks_share(size_t bytes, void *data) {
  if (cli_ranks_several())
    cli_ranks->share(bytes, data);
}
