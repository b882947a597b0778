/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/align.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/error.h"
#include "src/cli/frame/job.h"
#include "src/cli/ranks.h"

static davit_status reserve(align_list *list, int64_t room) {
  return dvt_grow(&list->at, &list->room, room, 64, sizeof *list->at) ? DAVIT_SUCCESS
                                                                      : DAVIT_OUT_OF_HOST_MEMORY;
}

davit_status align_list_add(align_list *list, int64_t query, int64_t count, const align_hit *found) {
  const davit_status status = reserve(list, list->count + count);
  for (int64_t k = 0; k < count && status == DAVIT_SUCCESS; k++)
    list->at[list->count++] = (align_row){.query = query, .found = found[k]};
  return status;
}

void align_list_free(align_list *list) {
  for (int64_t k = 0; k < list->count; k++)
    davit_free(list->at[k].cigar);
  free(list->at);
  *list = (align_list){0};
}

int align_compare_hits(const void *x, const void *y) {
  const align_hit *a = x, *b = y;
  if (a->hit.score != b->hit.score)
    return (a->hit.score < b->hit.score) - (a->hit.score > b->hit.score);
  if (a->hit.target != b->hit.target)
    return (a->hit.target > b->hit.target) - (a->hit.target < b->hit.target);
  return (int)a->strand - (int)b->strand;
}

int align_compare_rows(const void *x, const void *y) {
  const align_row *a = x, *b = y;
  return a->query == b->query ? align_compare_hits(&a->found, &b->found)
                              : (a->query > b->query) - (a->query < b->query);
}

/* ---- several ranks ---- */

static int64_t choose(int64_t count, align_row *rows, int64_t top) {
  int64_t kept = 0, of_query = 0;
  qsort(rows, (size_t)count, sizeof *rows, align_compare_rows);
  for (int64_t k = 0, query = -1; k < count; k++) {
    of_query = rows[k].query == query ? of_query + 1 : 0;
    query = rows[k].query;
    if (of_query < top)
      rows[kept++] = rows[k];
  }
  return kept;
}

int align_list_share(int code, align_list *list, int64_t top) {
  if (!cli_ranks_several())
    return code;
  void *all;
  size_t bytes = 0;
  CLI_TRY(cli_ranks_collect(code, (size_t)list->count * sizeof *list->at, list->at, &bytes, &all));
  int64_t count = all ? choose((int64_t)(bytes / sizeof *list->at), all, top) : 0;
  cli_ranks_share(sizeof count, &count);
  code = cli_ranks_agree(cli_status(reserve(list, count)));
  if (code == CLI_OK) {
    list->count = count;
    if (all && count)
      memcpy(list->at, all, (size_t)count * sizeof *list->at);
    cli_ranks_share((size_t)count * sizeof *list->at, list->at);
  }
  free(all);
  return code;
}

/* The alignments of a rank, one behind the other: the result, the cigar's length or -1 without one, its
 * characters. */
static bool write_alignments(const align_list *list, FILE *file) {
  for (int64_t k = cli_ranks_rank(); k < list->count; k += cli_ranks_count()) {
    const align_row *r = &list->at[k];
    const int64_t length = r->cigar ? (int64_t)strlen(r->cigar) : -1;
    fwrite(&r->alignment, sizeof r->alignment, 1, file);
    fwrite(&length, sizeof length, 1, file);
    if (length > 0)
      fwrite(r->cigar, (size_t)length, 1, file);
  }
  return !ferror(file);
}

static davit_status read_alignments(align_list *list, int rank, const char **from) {
  for (int64_t k = rank; k < list->count; k += cli_ranks_count()) {
    align_row *r = &list->at[k];
    int64_t length;
    memcpy(&r->alignment, *from, sizeof r->alignment);
    memcpy(&length, *from + sizeof r->alignment, sizeof length);
    *from += sizeof r->alignment + sizeof length;
    if (length < 0)
      continue;
    void *cigar;
    DVT_TRY(davit_malloc((size_t)length + 1, DAVIT_PAGEABLE, &cigar));
    memcpy(cigar, *from, (size_t)length);
    ((char *)cigar)[length] = 0;
    r->cigar = cigar;
    *from += length;
  }
  return DAVIT_SUCCESS;
}

int align_list_gather(align_list *list) {
  size_t bytes = 0, total;
  char *own = NULL;
  void *all = NULL;
  FILE *file = open_memstream(&own, &bytes);
  const bool written = file && (cli_ranks_lead() || write_alignments(list, file)),
             closed = file && !fclose(file);
  int code = written && closed ? CLI_OK : cli_status(DAVIT_OUT_OF_HOST_MEMORY);
  code = cli_ranks_collect(code, bytes, own, &total, &all);
  const char *from = all;
  for (int rank = 1; all && rank < cli_ranks_count() && code == CLI_OK; rank++)
    code = cli_status(read_alignments(list, rank, &from));
  free(all);
  free(own);
  return code;
}
