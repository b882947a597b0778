/* SPDX-License-Identifier: Apache-2.0 */
/* Scan over ranks. Each rank reduces what it hands on, MPI_Exscan() combines that, and each scans its piece
 * behind what comes in, which is a first part of one element to davit_monoid_scan_parts(). */
#include <string.h>

#include "src/base/arithmetic.h"
#include "src/base/check.h"
#include "src/mpi/agree.h"
#include "src/mpi/operator.h"

typedef struct scan {
  const davit_monoid *monoid;
  davit_scan_kind kind;
  int64_t n;
  const char *x;
  const uint8_t *flags;
  char *y;
} scan;

/* The index of the last head, -1 if there is none; flags are copied here in windows from the end. */
static davit_status last_head(int64_t n, const uint8_t *flags, int64_t *head) {
  enum { FIRST = 1 << 12, MAXIMUM = 1 << 24 };
  void *window = NULL;
  *head = -1;
  for (int64_t end = n, size = FIRST; end > 0 && *head < 0; size = size < MAXIMUM ? 16 * size : size) {
    const int64_t length = dvt_at_most(end, size);
    davit_free(window);
    DVT_TRY(davit_malloc((size_t)length, DAVIT_PAGEABLE, &window));
    const davit_status status = davit_copy((size_t)length, flags + end - length, window);
    if (status != DAVIT_SUCCESS) {
      davit_free(window);
      return status;
    }
    const uint8_t *seen = window;
    int64_t i = length - 1;
    while (i >= 0 && !seen[i])
      i--;
    *head = i < 0 ? -1 : end - length + i;
    end -= length;
  }
  return davit_free(window);
}

/* What this piece hands on. */
static davit_status reduce_piece(const scan *s, char *carry) {
  dvt_carry_state state = s->n > 0 ? DVT_CARRY_SUM : DVT_CARRY_NOTHING;
  int64_t begin = 0;
  if (s->flags && s->n > 0) {
    DVT_TRY(last_head(s->n, s->flags, &begin));
    state = begin < 0 ? DVT_CARRY_SUM : DVT_CARRY_CUT;
    begin = dvt_at_least(begin, 0);
  }
  memcpy(carry, &state, sizeof state);
  const davit_reduce_part part = {s->n - begin, s->x + (size_t)begin * s->monoid->bytes};
  return davit_monoid_reduce_parts(s->monoid, s->n > 0, &part, carry + DVT_CARRY_HEADER);
}

static davit_status scan_piece(const scan *s, char *carry) {
  static const uint8_t head = 1;
  _Alignas(16) char unused[256];
  dvt_carry_state state;
  memcpy(&state, carry, sizeof state);
  const davit_scan_part parts[] = {{1, carry + DVT_CARRY_HEADER, s->flags ? &head : NULL, unused},
                                   {s->n, s->x, s->flags, s->y}};
  const int first = state == DVT_CARRY_NOTHING;
  return s->n > 0 ? davit_monoid_scan_parts(s->monoid, s->kind, 2 - first, parts + first) : DAVIT_SUCCESS;
}

static davit_status exchange(MPI_Comm comm, const scan *s, MPI_Datatype type, MPI_Op op, char *own,
                             char *before) {
  const dvt_carry_state nothing = DVT_CARRY_NOTHING;
  int me, ranks;
  dvt_error failure = {.status = DAVIT_SUCCESS};
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  memcpy(own, &nothing, sizeof nothing);
  if (me + 1 < ranks) /* nobody comes after the last one */
    dvt_error_keep(&failure, reduce_piece(s, own));
  DVT_TRY_MPI(MPI_Exscan(own, before, 1, type, op, comm));
  if (me == 0)
    memcpy(before, &nothing, sizeof nothing);
  /* Nobody writes y before all have succeeded so far. */
  DVT_TRY(dvt_mpi_agree(comm, dvt_error_report(&failure)));
  dvt_error_keep(&failure, scan_piece(s, before));
  return dvt_mpi_agree(comm, dvt_error_report(&failure));
}

static davit_status check(const scan *s) {
  DVT_TRY(dvt_check_monoid(s->monoid));
  DVT_TRY(dvt_check_kind(s->kind));
  DVT_TRY(dvt_check_length("n", s->n));
  if (s->n > 0) {
    DVT_TRY(dvt_check_pointer("x", s->x));
    DVT_TRY(dvt_check_pointer("y", s->y));
  }
  return DAVIT_SUCCESS;
}

/* `arguments` is a digest of what says which monoid it is. */
static davit_status run(MPI_Comm comm, const scan *s, davit_status status, uint64_t arguments) {
  _Alignas(16) char own[DVT_CARRY_HEADER + 256], before[DVT_CARRY_HEADER + 256];
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  if (status == DAVIT_SUCCESS)
    status = check(s);
  if (status == DAVIT_SUCCESS)
    status = dvt_carry_operator(s->monoid, &type, &op);
  if (status == DAVIT_SUCCESS)
    arguments = DVT_MPI_DIGEST(DVT_MPI_DIGEST(arguments, s->monoid->bytes), s->kind);
  status = dvt_mpi_agree_on(comm, status, arguments);
  if (status == DAVIT_SUCCESS)
    status = exchange(comm, s, type, op, own, before);
  if (type != MPI_DATATYPE_NULL) {
    MPI_Type_free(&type);
    MPI_Op_free(&op);
  }
  return status;
}

davit_status davit_mpi_monoid_scan(MPI_Comm comm, const davit_monoid *monoid, davit_scan_kind kind, int64_t n,
                                   const void *x, const uint8_t *flags, void *y) {
  DVT_TRY(dvt_mpi_check(comm));
  const scan s = {monoid, kind, n, x, flags, y};
  return run(comm, &s, DAVIT_SUCCESS, 0);
}

davit_status davit_mpi_scan(MPI_Comm comm, davit_operator op, davit_type type, davit_scan_kind kind,
                            int64_t n, const void *x, void *y) {
  DVT_TRY(dvt_mpi_check(comm));
  scan s = {NULL, kind, n, x, NULL, y};
  const davit_status status = davit_monoid_builtin(op, type, &s.monoid);
  return run(comm, &s, status, DVT_MPI_DIGEST_NUMBERS(op, type));
}

davit_status davit_mpi_segmented_scan(MPI_Comm comm, davit_operator op, davit_type type, davit_scan_kind kind,
                                      int64_t n, const void *x, const uint8_t *flags, void *y) {
  DVT_TRY(dvt_mpi_check(comm));
  scan s = {NULL, kind, n, x, flags, y};
  davit_status status = davit_monoid_builtin(op, type, &s.monoid);
  if (status == DAVIT_SUCCESS && n > 0)
    status = dvt_check_pointer("flags", flags);
  return run(comm, &s, status, DVT_MPI_DIGEST_NUMBERS(op, type));
}
