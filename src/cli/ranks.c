/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/ranks.h"

#include <davit/davit.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/allocate.h"
#include "src/base/environment.h"
#include "src/cli/fail.h"
#include "src/cli/ranks_table.h"

static const cli_ranks_table *mpi; /* NULL: nothing was launched */
static int own_rank, own_count = 1;

/* ---- joining ---- */

/* What launchers tell the processes they start: Open MPI; MPICH, Intel MPI and srun --mpi=pmi2; MVAPICH; srun
 * --mpi=pmix, whose second variable is set without a launcher of MPI too. */
static const struct {
  const char *rank, *count;
} variables[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                 {"PMI_RANK", "PMI_SIZE"},
                 {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                 {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};

static int number_of(const char *name) {
  const char *value = dvt_environment(name);
  return value ? atoi(value) : -1;
}

/* As the launcher says: the count, 1 without one. */
static int launched(int *rank) {
  *rank = 0;
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    if (number_of(variables[i].rank) >= 0 && number_of(variables[i].count) > 1) {
      *rank = number_of(variables[i].rank);
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
  mpi = dlsym(library, CLI_RANKS_SYMBOL);
  if (mpi && strcmp(mpi->version, DAVIT_VERSION))
    mpi = NULL;
  return mpi ? NULL : CLI_RANKS_LIBRARY " is of another version of davit";
}

/* All ranks fail alike; one says it. */
static int cannot_join(int rank, int count, const char *why) {
  return rank ? CLI_DEVICE
              : cli_fail(CLI_DEVICE, "%d processes were launched together, but cannot be joined: %s", count,
                         why);
}

int cli_ranks_open(void) {
  int rank;
  const int count = launched(&rank);
  const char *apart = dvt_environment("DAVIT_RANKS");
  if (count == 1 || (apart && !strcmp(apart, "apart")))
    return CLI_OK;
  const char *why = load();
  if (!why && mpi->open(&own_rank, &own_count) != DAVIT_SUCCESS) {
    why = davit_last_error();
    mpi = NULL;
  }
  if (why)
    return cannot_join(rank, count, why);
  cli_fail_keep(true);
  if (own_rank > 0 && !freopen("/dev/null", "w", stdout))
    return cli_fail(CLI_FAILED, "/dev/null cannot be opened");
  return CLI_OK;
}

/* ---- working ---- */

int cli_ranks_count(void) {
  return own_count;
}

int cli_ranks_rank(void) {
  return own_rank;
}

bool cli_ranks_alone(void) {
  own_count = 1;
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
  *rank = 0;
  *count = 1;
  if (cli_ranks_several())
    mpi->local(rank, count);
}

static int agree(int code) {
  enum { TEXT = 4096 };
  char text[TEXT + 32] = "";
  int first;
  snprintf(text, TEXT, "%s", cli_fail_kept());
  code = mpi->agree(code, TEXT, text, &first);
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
  if (!mpi)
    return code;
  code = agree(code);
  mpi->close();
  /* Not by exit(): the handlers of MPI and OpenMP take down a GPU's driver in an order that the latter
   * complains about. */
  davit_finalize();
  fflush(NULL);
  _exit(code);
}

int cli_ranks_collect(int code, size_t bytes, const void *data, size_t *sizes, void **all) {
  size_t total = bytes, at = bytes;
  code = cli_ranks_agree(code);
  if (code != CLI_OK)
    return code;
  if (own_rank > 0)
    cli_ranks_send(sizeof bytes, &bytes);
  for (int rank = 1; rank < own_count && own_rank == 0; rank++) {
    cli_ranks_receive(rank, sizeof *sizes, &sizes[rank]);
    total += sizes[rank];
  }
  char *memory = own_rank == 0 ? dvt_allocate(total + 1, 1) : NULL;
  code = cli_ranks_agree(own_rank > 0 || memory ? CLI_OK : cli_status(DAVIT_OUT_OF_HOST_MEMORY));
  if (code != CLI_OK || own_rank > 0) {
    free(memory);
    if (code == CLI_OK)
      cli_ranks_send(bytes, data);
    return code;
  }
  sizes[0] = bytes;
  if (bytes)
    memcpy(memory, data, bytes);
  for (int rank = 1; rank < own_count; at += sizes[rank], rank++)
    cli_ranks_receive(rank, sizes[rank], memory + at);
  *all = memory;
  return CLI_OK;
}

/* The digest FNV-1a of the notes. */
static uint64_t notes = 0xcbf29ce484222325;

void cli_ranks_note(int64_t number) {
  if (!cli_ranks_several())
    return;
  for (int i = 0; i < 8; i++)
    notes = (notes ^ ((uint64_t)number >> 8 * i & 0xff)) * 0x100000001b3;
}

int cli_ranks_compare_notes(void) {
  uint64_t first = notes;
  cli_ranks_share(sizeof first, &first);
  return first == notes
             ? CLI_OK
             : cli_fail(CLI_INPUT, "its files are not those of rank 0: shapes, types or lengths differ");
}

void cli_ranks_share(size_t bytes, void *data) {
  if (cli_ranks_several())
    mpi->share(bytes, data);
}

void cli_ranks_send(size_t bytes, const void *data) {
  mpi->send(bytes, data);
}

void cli_ranks_receive(int rank, size_t bytes, void *data) {
  mpi->receive(rank, bytes, data);
}

davit_status cli_ranks_reduce(davit_operator op, davit_type type, int64_t n, const void *x, void *result) {
  return mpi->reduce(op, type, n, x, result);
}

davit_status cli_ranks_scan(davit_operator op, davit_type type, davit_scan_kind kind, int64_t n,
                            const void *x, const uint8_t *flags, void *y) {
  return mpi->scan(op, type, kind, n, x, flags, y);
}
