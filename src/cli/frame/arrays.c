/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/frame/arrays.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/cli/formats/array_file.h"
#include "src/cli/ranks.h"

static const char *path_of(cli_job *job, const cli_array_row *row) {
  return row->path ? *(const char **)cli_member(job, row->path) : NULL;
}

static int trans_of(cli_job *job, const cli_array_row *row) {
  return row->trans ? *(int *)cli_member(job, row->trans) : CLI_NOT_TRANSPOSED;
}

static bool is_matrix(const cli_array_row *row) {
  return row->shape && strlen(row->shape) == 2;
}

/* The dimension in the file that is `dimension` of op(A). */
static int in_file(cli_job *job, const cli_array_row *row, int dimension) {
  return trans_of(job, row) ? !dimension : dimension;
}

/* ---- sizes ---- */

/* The size behind the names is 1, for dimensions that an array does not have. */
static cli_size *size_of(cli_job *job, char letter) {
  cli_size *size = job->sizes;
  for (const char *const *name = job->command->sizes; *name && **name != letter; name++)
    size++;
  return size;
}

static cli_size *size_at(cli_job *job, const cli_array_row *row, int dimension) {
  return size_of(job, dimension < (int)strlen(row->shape) ? row->shape[dimension] : 0);
}

/* Where rank `rank` is along a size: the first size varies fastest. */
static int place_of(const cli_job *job, const cli_size *size, int rank) {
  for (const cli_size *before = job->sizes; before < size; before++)
    rank /= before->count;
  return rank % size->count;
}

/* Where the part of the rank at `place` begins, and the one before it ends. */
static int64_t begin_of(const cli_job *job, const cli_size *size, int place) {
  return cli_part_begin(size->whole, job->command->step, place, size->count);
}

enum { UNKNOWN = -1 };

static void forget_sizes(cli_job *job) {
  const cli_size unknown = {.whole = UNKNOWN, .count = 1}, one = {.whole = 1, .here = 1, .count = 1};
  for (int i = 0; i <= CLI_SIZES; i++)
    job->sizes[i] = job->command->sizes[i] ? unknown : one;
}

/* The sizes to cut, as far as the files say them at their beginnings; else 1. */
static int peek_sizes(cli_job *job) {
  for (const cli_array_row *row = job->command->arrays; row->at; row++)
    for (int i = 0; path_of(job, row) && row->shape[i]; i++) {
      cli_size *size = size_at(job, row, i);
      cli_array x;
      bool known = false;
      if (!strchr(job->command->cut, row->shape[i]) || size->whole != UNKNOWN)
        continue;
      CLI_TRY(cli_array_peek(path_of(job, row), &job->common.reading, &x, &known));
      size->whole = known ? x.shape[in_file(job, row, i)] : 1;
    }
  return CLI_OK;
}

/* The grid for which ranks read least. */
static void choose_grid(cli_size *rows, cli_size *cols) {
  const int ranks = cli_ranks_count();
  double least = INFINITY;
  for (int along = 1; along <= ranks; along++) {
    const double read = (double)rows->whole / along + (double)cols->whole * along / ranks;
    if (ranks % along == 0 && read < least) {
      least = read;
      rows->count = along;
      cols->count = ranks / along;
    }
  }
}

static int cut_sizes(cli_job *job) {
  const char *cut = job->command->cut;
  const bool cuts = cut && cli_ranks_several();
  forget_sizes(job);
  cli_ranks_note(cuts);
  if (!cuts)
    return CLI_OK;
  if (cut[1]) {
    CLI_TRY(peek_sizes(job));
    choose_grid(size_of(job, cut[0]), size_of(job, cut[1]));
  } else {
    size_of(job, *cut)->count = cli_ranks_count();
  }
  for (int i = 0; job->command->sizes[i]; i++) {
    cli_size *size = &job->sizes[i];
    size->whole = UNKNOWN;
    size->index = place_of(job, size, cli_ranks_rank());
    cli_ranks_note(size->count);
  }
  return CLI_OK;
}

/* ---- operands ---- */

static cli_part part_of(cli_job *job, const cli_array_row *row, int dimension) {
  const cli_size *size = size_at(job, row, dimension);
  return (cli_part){.cut = !is_matrix(row)                     ? CLI_CUT_ELEMENTS
                           : in_file(job, row, dimension) == 0 ? CLI_CUT_ROWS
                                                               : CLI_CUT_COLS,
                    .index = size->index,
                    .count = size->count,
                    .step = job->command->step};
}

static bool is_cut(cli_job *job, const cli_array_row *row, int dimension) {
  return size_at(job, row, dimension)->count > 1;
}

/* `known`: bits of the dimensions that earlier operands have said. */
static int shape_fail(cli_job *job, const cli_array_row *row, const cli_array *all, int known) {
  const char *path = path_of(job, row);
  const int dimension = known == 2;
  const int64_t whole = size_at(job, row, dimension)->whole;
  if (row->numbers == CLI_NUMBERS_HEADS)
    return cli_shape_fail(path, all, "a vector of %" PRId64 " as in %s", whole,
                          path_of(job, job->command->arrays));
  if (!is_matrix(row))
    return cli_shape_fail(path, all, "a vector of %" PRId64, whole);
  if (row->vector)
    return cli_shape_fail(path, all, "a vector of %" PRId64 " or a matrix with as many rows", whole);
  if (row->shape[0] == row->shape[1])
    return cli_shape_fail(path, all, "a square matrix");
  return known == 3 ? cli_shape_fail(path, all, "%" PRId64 " x %" PRId64, whole, size_at(job, row, 1)->whole)
                    : cli_shape_fail(path, all, "%" PRId64 " %s, the other dimension of the product", whole,
                                     in_file(job, row, dimension) ? "columns" : "rows");
}

/* Sets the sizes that the operand is the first to have, and compares the others. */
static int take_shape(cli_job *job, const cli_array_row *row, const cli_array *all) {
  int known = 0;
  bool fits = !row->vector || all->ndim == 1 || all->ndim == 2;
  for (int i = 0; row->shape[i]; i++) {
    cli_size *size = size_at(job, row, i);
    const int64_t found = is_matrix(row) ? all->shape[in_file(job, row, i)] : cli_array_count(all);
    known |= size->whole == UNKNOWN ? 0 : 1 << i;
    size->whole = size->whole == UNKNOWN ? found : size->whole;
    fits &= size->whole == found;
    size->begin = begin_of(job, size, size->index);
    size->here = begin_of(job, size, size->index + 1) - size->begin;
  }
  return fits ? CLI_OK : shape_fail(job, row, all, known);
}

static int check_factors(cli_job *job, cli_type type) {
  for (const cli_option *row = job->command->options; row && row->name; row++)
    if (row->kind == CLI_COMPLEX)
      CLI_TRY(cli_check_scalar(row->name + 2, *(double _Complex *)cli_member(job, row->at), type));
  return CLI_OK;
}

/* What is read in two dimensions of its own is cut in the second here. */
static int finish_operand(cli_job *job, const cli_array_row *row, cli_array *array) {
  if (is_cut(job, row, 0) && is_cut(job, row, 1)) {
    cli_part part = part_of(job, row, 1);
    CLI_TRY(cli_part_take(&part, array));
  }
  if (row->at == job->command->initial)
    CLI_TRY(cli_array_to_fortran(array));
  if (trans_of(job, row) == CLI_CONJUGATED)
    cli_array_conjugate(array);
  return CLI_OK;
}

static int read_operand(cli_job *job, const cli_array_row *row) {
  cli_array *array = cli_member(job, row->at), *first = cli_member(job, job->command->arrays->at);
  const cli_reading other = cli_reading_of_other(&job->common.reading);
  const bool plain = row->at == job->command->initial || row->scratch;
  const cli_memory memory = plain ? CLI_MEMORY_PLAIN : job->memory;
  cli_part part = part_of(job, row, is_cut(job, row, 1) && !is_cut(job, row, 0));
  const int dimensions = row->numbers == CLI_NUMBERS_ANY || row->vector ? 0 : (int)strlen(row->shape);
  CLI_TRY(cli_operand_read(row->numbers, dimensions, path_of(job, row),
                           array == first ? &job->common.reading : &other, memory,
                           array == first ? NULL : first, &part, array));
  if (array == first) {
    job->first = part.all;
    CLI_TRY(check_factors(job, array->type));
  }
  cli_part_note(&part);
  job->bytes += (double)cli_array_count(&part.all) * (double)cli_type_bytes(array->type);
  CLI_TRY(take_shape(job, row, &part.all));
  return finish_operand(job, row, array);
}

static int read_operands(cli_job *job) {
  job->bytes = 0;
  for (const cli_array_row *row = job->command->arrays; row->at; row++)
    if (path_of(job, row))
      CLI_TRY(read_operand(job, row));
    else if (row->factor)
      *(double _Complex *)cli_member(job, row->factor) = 0;
  return CLI_OK;
}

/* ---- results ---- */

static int create(cli_job *job, const cli_array_row *row) {
  const cli_array *first = cli_member(job, job->command->arrays->at);
  return row->path || !row->shape
             ? CLI_OK
             : cli_array_create(first->type, (int)strlen(row->shape), size_at(job, row, 0)->here,
                                size_at(job, row, 1)->here, row->scratch ? CLI_MEMORY_PLAIN : job->memory,
                                cli_member(job, row->at));
}

static const cli_array_row *result_row(const cli_job *job) {
  const cli_array_row *row = job->command->arrays;
  while (row->at != job->command->result)
    row++;
  return row;
}

/* The flops are those of a multiplication and an addition for all (m, n, k); the bytes those of the operands and
 * the result. */
static void set_rate(cli_job *job) {
  const cli_array_row *result = result_row(job);
  const cli_type type = ((const cli_array *)cli_member(job, job->command->arrays->at))->type;
  double flops = cli_flops(type), bytes = job->bytes;
  for (int i = 0; i <= CLI_SIZES; i++)
    flops *= (double)job->sizes[i].whole;
  if (result->shape)
    bytes += (double)cli_type_bytes(type) * (double)size_at(job, result, 0)->whole *
             (double)size_at(job, result, 1)->whole;
  job->rate = (cli_rate){job->command->unit, job->command->unit == CLI_GFLOPS ? flops : bytes};
}

static int prepare(cli_job *job) {
  CLI_TRY(read_operands(job));
  set_rate(job);
  return job->command->prepare ? job->command->prepare(job) : CLI_OK;
}

int cli_arrays_read(cli_job *job) {
  CLI_TRY(cut_sizes(job));
  if (job->command->ranks_on_host && job->sizes->count > 1)
    cli_job_on_host(job);
  CLI_TRY(prepare(job));
  for (const cli_array_row *row = job->command->arrays; row->at; row++)
    CLI_TRY(create(job, row));
  return job->command->create ? job->command->create(job) : CLI_OK;
}

/* ---- several ranks ---- */

/* The block that a rank has of the result, which is column-major. */
typedef struct block {
  int64_t begin[2], length[2];
  size_t bytes;
} block;

static block block_of(cli_job *job, const cli_array_row *row, int rank) {
  const cli_array *own = cli_member(job, row->at);
  block b;
  for (int i = 0; i < 2; i++) {
    const cli_size *size = size_at(job, row, i);
    const int place = place_of(job, size, rank);
    b.begin[i] = begin_of(job, size, place);
    b.length[i] = begin_of(job, size, place + 1) - b.begin[i];
  }
  b.bytes = cli_type_bytes(own->type) * (size_t)b.length[0] * (size_t)b.length[1];
  return b;
}

/* Puts a block without gaps where it belongs. */
static void put_block(const block *b, const char *data, cli_array *whole) {
  const size_t bytes = cli_type_bytes(whole->type), column = (size_t)b->length[0] * bytes;
  for (int64_t j = 0; j < b->length[1] && column; j++)
    memcpy((char *)whole->data + (size_t)((b->begin[1] + j) * whole->shape[0] + b->begin[0]) * bytes,
           data + (size_t)j * column, column);
}

static void receive_blocks(cli_job *job, const cli_array_row *row, char *room, cli_array *whole) {
  for (int rank = 0; rank < cli_ranks_count(); rank++) {
    const block b = block_of(job, row, rank);
    if (rank > 0)
      cli_ranks->receive(rank, b.bytes, room);
    put_block(&b, rank > 0 ? room : ((const cli_array *)cli_member(job, row->at))->data, whole);
  }
}

/* On rank 0: an array for the result, and a block for the largest part of another rank. */
static int make_room(cli_job *job, const cli_array_row *row, cli_array *whole, cli_array *room) {
  const cli_array *own = cli_member(job, row->at);
  size_t most = 0;
  for (int rank = 1; rank < cli_ranks_count(); rank++) {
    const size_t bytes = block_of(job, row, rank).bytes;
    most = bytes > most ? bytes : most;
  }
  CLI_TRY(cli_array_create(own->type, own->ndim, size_at(job, row, 0)->whole, size_at(job, row, 1)->whole,
                           CLI_MEMORY_PLAIN, whole));
  return cli_array_create(CLI_U1, 1, (int64_t)most, 1, CLI_MEMORY_PLAIN, room);
}

static int collect(cli_job *job, const cli_array_row *row) {
  cli_array whole = {0}, room = {0}, *own = cli_member(job, row->at);
  const int code = cli_ranks_agree(cli_ranks_lead() ? make_room(job, row, &whole, &room) : CLI_OK);
  if (code != CLI_OK) {
    cli_array_free(&whole);
  } else if (cli_ranks_lead()) {
    receive_blocks(job, row, room.data, &whole);
    cli_array_replace(own, &whole);
  } else {
    cli_ranks->send(own->bytes, own->data);
  }
  cli_array_free(&room);
  return code;
}

static int read_whole(cli_job *job) {
  forget_sizes(job);
  for (const cli_array_row *row = job->command->arrays; row->at; row++)
    if (row->at != job->command->result)
      cli_array_free(cli_member(job, row->at));
  return prepare(job);
}

int cli_arrays_gather(cli_job *job) {
  const cli_array_row *row = result_row(job);
  if (job->sizes[0].count * job->sizes[1].count == 1)
    return CLI_OK; /* every rank has done all of it */
  if (row->shape)
    CLI_TRY(collect(job, row));
  return cli_ranks_lead() && job->common.check ? read_whole(job) : CLI_OK;
}
