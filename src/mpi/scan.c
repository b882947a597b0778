/* SPDX-License-Identifier: Apache-2.0 */
/* Scan over ranks, in the order of <davit/scan.h> over the whole array. Each rank sums the groups that lie in its
 * piece. Then rank after rank hands on what enters the group at the end of its piece, and the elements of that group
 * so far; with these as a first part each rank scans its piece by davit_monoid_scan_onward(). */
#include <davit_mpi.h>
#include <string.h>

#include "src/base/arithmetic.h"
#include "src/base/check.h"
#include "src/mpi/agree.h"

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

/* What a rank gets from the one before, and hands on. Behind it come the elements and their flags. */
typedef struct handed {
  int64_t begun;   /* elements of the group that is not whole */
  int64_t carried; /* whether something enters the group: */
  _Alignas(16) char carry[256];
} handed;

/* A rank's piece: elements that complete the group of the ranks before, whole groups, and the rest. `from` is the first
 * group that matters to the ranks behind: the last with a head, `cut` says whether there is one. */
typedef struct piece {
  int64_t group, head, groups, from;
  bool cut;
  handed in, out;
  char *memory, *in_x, *out_x, *unused, *sums;
  uint8_t *in_flags, *out_flags;
} piece;

static size_t bytes_of(const scan *s, int64_t elements) {
  return (size_t)elements * s->monoid->bytes;
}

/* Everything that needs no other rank but the place of the piece. */
static davit_status prepare(const scan *s, int64_t at, bool hands_on, piece *p) {
  p->group = DAVIT_MONOID_GROUP_TILES * s->monoid->scan_tile;
  p->head = dvt_at_most(s->n, (p->group - at % p->group) % p->group);
  p->groups = (s->n - p->head) / p->group;
  if (s->flags && p->groups > 0) {
    int64_t last;
    DVT_TRY(last_head(p->groups * p->group, s->flags + p->head, &last));
    p->cut = last >= 0;
    p->from = p->cut ? last / p->group : 0;
  }
  const size_t elements = bytes_of(s, p->group), sums = bytes_of(s, hands_on ? p->groups - p->from : 0);
  void *memory;
  DVT_TRY(davit_malloc(3 * elements + sums + 2 * (size_t)p->group, DAVIT_PAGEABLE, &memory));
  p->memory = p->in_x = memory;
  p->out_x = p->in_x + elements;
  p->unused = p->out_x + elements;
  p->sums = p->unused + elements;
  p->in_flags = (uint8_t *)p->sums + sums;
  p->out_flags = p->in_flags + p->group;
  memset(p->in_flags, 0, 2 * (size_t)p->group);
  if (!hands_on)
    return DAVIT_SUCCESS;
  const int64_t first = p->head + p->from * p->group;
  return davit_monoid_scan_groups(s->monoid, (p->groups - p->from) * p->group, s->x + bytes_of(s, first),
                                  s->flags ? s->flags + first : NULL, p->sums);
}

static bool any_head(const uint8_t *flags, int64_t n) {
  bool any = false;
  for (int64_t i = 0; i < n; i++)
    any |= flags[i] != 0;
  return any;
}

/* carry = carry ∘ sum, or the sum alone. */
static void carry_on(const scan *s, handed *h, bool cut, const char *sum) {
  _Alignas(16) char next[256];
  if (h->carried && !cut)
    s->monoid->combine(h->carry, sum, next);
  memcpy(h->carry, h->carried && !cut ? next : sum, s->monoid->bytes);
  h->carried = 1;
}

/* Elements of the piece join the group that is handed on. */
static davit_status join(const scan *s, piece *p, int64_t begin, int64_t n) {
  const int64_t at = p->out.begun;
  p->out.begun += n;
  DVT_TRY(davit_copy(bytes_of(s, n), s->x + bytes_of(s, begin), p->out_x + bytes_of(s, at)));
  return s->flags ? davit_copy((size_t)n, s->flags + begin, p->out_flags + at) : DAVIT_SUCCESS;
}

/* What the ranks behind get. */
static davit_status hand_on(const scan *s, piece *p) {
  p->out = p->in;
  memcpy(p->out_x, p->in_x, bytes_of(s, p->in.begun));
  memcpy(p->out_flags, p->in_flags, (size_t)p->in.begun);
  if (p->head > 0)
    DVT_TRY(join(s, p, 0, p->head));
  if (p->out.begun == p->group) {
    _Alignas(16) char sum[256];
    const bool cut = any_head(p->out_flags, p->group);
    DVT_TRY(davit_monoid_scan_groups(s->monoid, p->group, p->out_x, cut ? p->out_flags : NULL, sum));
    carry_on(s, &p->out, cut, sum);
    p->out.begun = 0;
  }
  for (int64_t g = p->from; g < p->groups; g++)
    carry_on(s, &p->out, p->cut && g == p->from, p->sums + bytes_of(s, g - p->from));
  const int64_t whole = p->head + p->groups * p->group;
  memset(p->out_flags + p->out.begun, 0, (size_t)(p->group - p->out.begun));
  return s->n > whole ? join(s, p, whole, s->n - whole) : DAVIT_SUCCESS;
}

/* From rank to rank. A rank that fails hands on what it has. */
static davit_status chain(MPI_Comm comm, int me, int ranks, const scan *s, piece *p, dvt_error *failure) {
  enum { TAG = 1 };
  if (me > 0) {
    DVT_TRY_MPI(MPI_Recv(&p->in, sizeof p->in, MPI_BYTE, me - 1, TAG, comm, MPI_STATUS_IGNORE));
    DVT_TRY_MPI(
        MPI_Recv(p->in_x, (int)bytes_of(s, p->in.begun), MPI_BYTE, me - 1, TAG, comm, MPI_STATUS_IGNORE));
    DVT_TRY_MPI(MPI_Recv(p->in_flags, (int)p->in.begun, MPI_BYTE, me - 1, TAG, comm, MPI_STATUS_IGNORE));
  }
  if (me + 1 == ranks)
    return DAVIT_SUCCESS;
  dvt_error_keep(failure, hand_on(s, p));
  DVT_TRY_MPI(MPI_Send(&p->out, sizeof p->out, MPI_BYTE, me + 1, TAG, comm));
  DVT_TRY_MPI(MPI_Send(p->out_x, (int)bytes_of(s, p->out.begun), MPI_BYTE, me + 1, TAG, comm));
  return dvt_mpi_status(MPI_Send(p->out_flags, (int)p->out.begun, MPI_BYTE, me + 1, TAG, comm));
}

/* Flags without a head for a piece that has none, if the group before it has one. */
static davit_status make_flags(const scan *s, const piece *p, void **flags) {
  int place;
  if (s->n == 0 || s->flags || !any_head(p->in_flags, p->in.begun))
    return DAVIT_SUCCESS;
  DVT_TRY(davit_pointer_place(s->y, &place));
  DVT_TRY(davit_malloc((size_t)s->n, place, flags));
  return davit_fill((size_t)s->n, 0, *flags);
}

static davit_status scan_piece(const scan *s, piece *p) {
  void *made = NULL;
  davit_status status = make_flags(s, p, &made);
  const uint8_t *flags = made ? made : s->flags;
  const davit_scan_part parts[] = {{p->in.begun, p->in_x, flags ? p->in_flags : NULL, p->unused},
                                   {s->n, s->x, flags, s->y}};
  if (status == DAVIT_SUCCESS && s->n > 0)
    status = davit_monoid_scan_onward(s->monoid, s->kind, p->in.carried ? p->in.carry : NULL, 2, parts);
  davit_free(made);
  return status;
}

static davit_status exchange(MPI_Comm comm, const scan *s) {
  int me, ranks;
  int64_t at = 0;
  piece p = {0};
  dvt_error failure = {.status = DAVIT_SUCCESS};
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  DVT_TRY_MPI(MPI_Exscan(&s->n, &at, 1, MPI_INT64_T, MPI_SUM, comm));
  if (me == 0)
    at = 0;
  dvt_error_keep(&failure, prepare(s, at, me + 1 < ranks, &p));
  davit_status status = dvt_mpi_agree(comm, dvt_error_report(&failure));
  if (status == DAVIT_SUCCESS)
    status = chain(comm, me, ranks, s, &p, &failure);
  /* Nobody writes y before all have succeeded so far. */
  if (status == DAVIT_SUCCESS)
    status = dvt_mpi_agree(comm, dvt_error_report(&failure));
  if (status == DAVIT_SUCCESS)
    status = dvt_mpi_agree(comm, scan_piece(s, &p));
  davit_free(p.memory);
  return status;
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
  if (status == DAVIT_SUCCESS)
    status = check(s);
  if (status == DAVIT_SUCCESS)
    arguments = DVT_MPI_DIGEST(DVT_MPI_DIGEST(arguments, s->monoid->bytes), s->kind);
  status = dvt_mpi_agree_on(comm, status, arguments);
  return status == DAVIT_SUCCESS ? exchange(comm, s) : status;
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
