/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `davit tune` share: a search is of one capability, with data on the device or on the
 * host. */
#ifndef DAVIT_SRC_CLI_TUNE_H
#define DAVIT_SRC_CLI_TUNE_H

#include <davit/davit.h>
#include <limits.h>

#include "src/cli/frame/job.h"
#include "src/cli/tune_search.h"

enum { TUNE_BUFFERS = 3, TUNE_MOST_SEARCHES = 2 };

/* The devices for which a parameter is read. */
enum {
  TUNE_HOST_ALONE = 1,
  TUNE_HOSTS = 2,
  TUNE_GPUS = 4,
  TUNE_ALL = TUNE_HOST_ALONE | TUNE_HOSTS | TUNE_GPUS
};

/* How values are spaced: powers of two; these and one between each two; 1, 2, 3, 4, 6, 8 … and the
 * maximum. */
typedef enum tune_spacing { TUNE_DOUBLING, TUNE_FINER, TUNE_COUNTING } tune_spacing;

typedef struct tune_parameter {
  const char *name;
  unsigned devices;
  tune_spacing spacing;
  bool resident; /* teams of a multiprocessor: more than it holds at once are as many as it holds */
  bool own_too;  /* with values of the others, this one's may be davit's own choice */
} tune_parameter;

/* Where the operands of a workload lie. */
typedef enum tune_place {
  TUNE_PINNED,   /* pinned host memory */
  TUNE_PAGEABLE, /* operand 0; the others on the first device, or where open() puts them */
  TUNE_ON_DEVICE /* all on the first device; calls are enqueued on a queue */
} tune_place;

typedef struct tuning tuning;

/* One search. `size` and `other` are n of the workload that decides and of the one in which nothing may be
 * lost. */
typedef struct tune_capability {
  const char *name; /* the command's, where there is one */
  const char *key;  /* in the tuning file */
  const char *what; /* is measured */
  tune_place place;
  int64_t gpu_size, gpu_other,
      host_size;                   /* where none is given; 0: not on such devices, or no other workload */
  int dimensions[TUNE_BUFFERS];    /* of the operands: n, or n × n elements; 0: none */
  davit_status (*open)(tuning *t); /* what operands are not; NULL: nothing */
  davit_status (*work)(tuning *t); /* with n = t->n, once, or enqueued */
  tune_parameter parameters[TUNE_MOST_AXES];
} tune_capability;

/* The searches that there are; the last one has no name. */
extern const tune_capability tune_capabilities[];

/* The name of what has this key in the tuning file. */
const char *tune_name_of(const char *key);

/* A search that is made, or was. */
typedef struct tune_run {
  const tune_capability *capability;
  int64_t size, other;
  tune_search search;
  const char *axis_name[TUNE_MOST_AXES]; /* of the axes' parameters */
  bool has_shapes;
  davit_tuning_shape own_shape, shape; /* of the library's choice and of the winner */
} tune_run;

/* Figures that were measured for gemm's model (docs/gemm.md). */
typedef struct tune_figures {
  bool wanted, kept;           /* kept: products are no slower with them */
  davit_tuning_entry *entries; /* what was measured */
  int count;
  tune_run run; /* the comparison with those that are built in */
} tune_figures;

struct tuning {
  cli_job job;
  const char *name, *output;
  int64_t size, repeat;
  double budget;
  bool show;
  bool gpu; /* among the devices */
  int runs;
  tune_run run[TUNE_MOST_SEARCHES];
  tune_run *now; /* the search that is being made */
  tune_figures figures;
  /* Its workload. */
  int workload;
  int64_t n;
  double *operand[TUNE_BUFFERS];
  davit_queue *queue;
  davit_align_database *database;
  davit_align_matrix matrix;
  davit_align_scoring scoring;
  davit_detector *detector;
  int calls[TUNE_MOST_WORKLOADS]; /* of a measured run */
  char path[PATH_MAX];            /* of the tuning file */
  davit_tuning_entry *entries;    /* of the table: of --show, else before the search */
  int entry_count;
  bool written; /* the tuning file, for its entries have changed */
};

/* Makes the operands of the search t->now, and all else that it needs. tune_close() frees them, after a failure by the
 * command's `release`. */
davit_status tune_open(tuning *t);
void tune_close(tuning *t);

/* Runs a workload t->calls times, and stores the seconds of one. */
davit_status tune_measure(tuning *t, int workload, double *seconds);

/* Measures gemm's figures, compares products with them and without, and leaves them in the table if they
 * do not lose. */
int tune_measure_figures(tuning *t);

/* The report of all searches. */
void tune_print(const tuning *t);
void tune_json(cli_json *json, const tuning *t);

/* An array of entries, with their capabilities and times if `all`. */
void tune_json_entries(cli_json *json, const char *key, const davit_tuning_entry *entries, int count,
                       bool all);

#endif
