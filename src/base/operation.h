/* SPDX-License-Identifier: Apache-2.0 */
/* Operations and the sites that they run on.
 *
 * An operation is one row: how its arguments are checked, what its operands are, a form for each way to compute it,
 * and, where it can be split over devices, how. The arguments travel in one struct from the public call to the kernel;
 * ref/ and offload/ define the struct and the forms, src/ the row.
 *
 *   stream   enqueues on site->stream and returns at once; if it waits, dvt_operation_run() is its only caller
 *   host     computes on site->threads threads of the host, in memory that the host reaches
 *   region   runs target regions on site->device and returns when they are done
 *   tasks    generates regions `target … nowait depend(inout: *site->order)` on site->device and returns: tasks of
 *            the graph. Where a region form is due and has_tasks() holds
 *
 * A site is where one command runs. site->stream is set for a stream form only, site->threads for a host form
 * only. */
#ifndef DAVIT_SRC_BASE_OPERATION_H
#define DAVIT_SRC_BASE_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/error.h"

typedef struct dvt_stream dvt_stream;
typedef struct dvt_site dvt_site;

struct dvt_site {
  int device; /* DAVIT_HOST or an OpenMP device */
  dvt_stream *stream;
  int threads;
  char *order; /* for DVT_REGION commands: the address of their regions' depend(inout) */
  void *owner; /* of the services: the lane, in tests anything */
  /* For STAGED commands: a form that succeeds has begun, and calls over(argument, status) when the work is over; NULL:
   * it waits itself. */
  void (*over)(void *argument, davit_status status);
  void *argument;
  /* Scratch memory on the device (of the host for host forms), for this command alone. The contents are
   * undefined. */
  davit_status (*workspace)(const dvt_site *site, size_t bytes, void **pointer);
  /* DVT_SITE_COUNTERS counters in the device's memory that are 0; whoever uses them leaves them at 0. For
   * stream forms. */
  davit_status (*counters)(const dvt_site *site, uint32_t **counters);
};

enum { DVT_SITE_COUNTERS = 1024 };

/* `arguments` is the command's own copy. */
typedef davit_status (*dvt_form)(const dvt_site *site, const void *arguments);

/* ---- operands ---- */

/* An operation has two axes. Results are independent along `out`; along `in` it adds up, or has one element. A chunk
 * is a range of each. */
enum { DVT_OUT, DVT_IN, DVT_AXES };

typedef enum dvt_array_kind {
  DVT_ALONG_OUT, /* a vector along an axis */
  DVT_ALONG_IN,
  DVT_MATRIX, /* along both */
  DVT_TOTAL,  /* a vector along `in` to which all chunks add; lanes have one each, which are merged */
  DVT_RESULT  /* a value; chunks leave one or more each, which are merged */
} dvt_array_kind;

typedef struct dvt_array {
  const char *name; /* of the argument */
  dvt_array_kind kind;
  bool reads, writes;
  size_t pointer; /* where its pointer stands in the arguments, */
  /* and its increment or leading dimension, int64_t; of a result a bool: it lies on the device. 0: none */
  size_t step;
  size_t element; /* bytes; 0: as the extents say */
  int border;     /* rows and columns beyond the chunk that are read where the matrix has them */
} dvt_array;

/* The operand `member` of the arguments T, called as they call it. */
#define DVT_ARRAY(T, member, which, ...)                                                                     \
  {.name = #member, .kind = which, .pointer = offsetof(T, member), __VA_ARGS__}

enum { DVT_ARRAYS = 4 };

/* What the operands measure, as the arguments say. */
typedef struct dvt_extents {
  size_t element;           /* bytes */
  int64_t length[DVT_AXES]; /* one of them 0: there is nothing to compute */
  int64_t chunk[DVT_AXES];  /* of a chunk, at most */
  int rows;                 /* the axis along which columns of matrices lie */
  int untouched;            /* rows and columns at the edges of a matrix that are not written */
  unsigned skipped;         /* a bit for each operand: it is not accessed */
  unsigned unread;          /* or only written */
  size_t result_bytes;      /* of one result */
  int64_t results;          /* that a chunk leaves */
} dvt_extents;

typedef struct dvt_range {
  int64_t begin, end;
} dvt_range;

static inline int64_t dvt_range_length(dvt_range range) {
  return range.end - range.begin;
}

typedef struct dvt_chunk {
  dvt_range range[DVT_AXES];
  int64_t number; /* along `out` */
  bool first;     /* of its lane */
  char *results;  /* of all chunks: pinned memory */
} dvt_chunk;

typedef enum dvt_order {
  DVT_WHOLE,        /* the operation is not split */
  DVT_CHUNKS_TURN,  /* a device has a range along `out`; its chunks go to its lanes in turn */
  DVT_CHUNKS_STAY,  /* a lane has a range along `out`, and keeps what it adds up */
  DVT_CHUNKS_FOLLOW /* chunks go to the devices in turn, each behind the one before */
} dvt_order;

/* ---- operations ---- */

typedef struct dvt_operation {
  const char *name;
  size_t bytes;                           /* of the arguments: at most DVT_ARGUMENT_BYTES */
  davit_status (*check)(void *arguments); /* may normalise them, as in 't' to 'T' */
  dvt_form stream, host, region, tasks;   /* stream and tasks may be NULL: there is none */
  bool (*has_tasks)(int device, const void *arguments);
  /* What the first stream form on a stream would take long for; or NULL. */
  davit_status (*prepare)(const dvt_site *site);
  void (*tune)(void *arguments, int device); /* sets what is tuned for the device; or NULL */
  /* The region form runs on host-offload devices too, where DAVIT_BLAS=target asks for it. */
  bool region_on_host;
  bool serial;        /* the host form is one thread */
  int tuned_threads;  /* dvt_tunable of the host form's threads; 0: none */
  size_t short_bytes; /* of operands that one thread is done with before others could help */

  dvt_array array[DVT_ARRAYS]; /* the first without a name ends them */
  bool typed;                  /* the arguments begin with the davit_type of the elements */
  /* Where the arguments have the lengths of the axes: first that of columns. 0: the length is 1. */
  size_t size[DVT_AXES];
  int64_t chunk;   /* elements along `out`, */
  int tuned_chunk; /* or what was tuned; 0: nothing */
  /* Corrects what follows from that, for a split into `ranges` on the device; or NULL. */
  void (*measure)(const void *arguments, int device, int ranges, dvt_extents *extents);

  dvt_order order;
  bool frozen; /* chunks have their lengths wherever they are computed, as the bits depend on them */
  /* Completes the arguments of a chunk, whose operands, steps and lengths are set; or NULL. */
  void (*part)(const void *arguments, const dvt_chunk *chunk, void *part);
  /* Makes the result of those of `count` chunks or lanes; of none where there is nothing to compute. */
  davit_status (*merge)(const void *arguments, void *results, int64_t count);
} dvt_operation;

enum { DVT_ARGUMENT_BYTES = 256 };

/* The size of arguments that are copied on the way. */
#define DVT_BYTES_OF(T)                                                                                      \
  (sizeof(T) + 0 * sizeof(struct {                                                                           \
                 _Static_assert(sizeof(T) <= DVT_ARGUMENT_BYTES, "the arguments are too large");             \
                 char nothing;                                                                               \
               }))

#endif
