/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/deal.h"

#include <davit_mpi.h>

#include "src/base/arithmetic.h"

/* Of the indices below `i` of a deal without offset, those of the process `distance` after the first. */
static int64_t below(int64_t i, int64_t block, int distance, int count) {
  const int64_t blocks = i / block, rounds = blocks / count, turn = blocks % count;
  return rounds * block + (distance < turn ? block : distance == turn ? i % block : 0);
}

static int distance_of(int process, int first, int count) {
  return (process - first + count) % count;
}

int64_t davit_mpi_local_size(int64_t n, int64_t block, int position, int first, int count) {
  if (n < 0 || block < 1 || count < 1 || position < 0 || position >= count || first < 0 || first >= count)
    return 0;
  return below(n, block, distance_of(position, first, count), count);
}

dvt_deal dvt_deal_part(int64_t n, int64_t begin, int64_t block, int first, int count) {
  const int owner = (int)((first + begin / block) % count);
  return (dvt_deal){.n = n, .block = block, .offset = begin % block, .first = owner, .count = count};
}

int dvt_deal_owner(const dvt_deal *deal, int64_t i) {
  return (int)((deal->first + (deal->offset + i) / deal->block) % deal->count);
}

int64_t dvt_deal_end(const dvt_deal *deal, int64_t i) {
  if (deal->count == 1)
    return deal->n;
  const int64_t end = ((deal->offset + i) / deal->block + 1) * deal->block - deal->offset;
  return dvt_at_most(end, deal->n);
}

int64_t dvt_deal_below(const dvt_deal *deal, int process, int64_t i) {
  const int distance = distance_of(process, deal->first, deal->count);
  return below(deal->offset + i, deal->block, distance, deal->count) - (distance == 0 ? deal->offset : 0);
}

int64_t dvt_deal_index(const dvt_deal *deal, int process, int64_t l) {
  const int distance = distance_of(process, deal->first, deal->count);
  l += distance == 0 ? deal->offset : 0;
  return (l / deal->block * deal->count + distance) * deal->block + l % deal->block - deal->offset;
}

bool dvt_deals_equal(const dvt_deal *a, const dvt_deal *b) {
  if (a->count == 1)
    return b->count == 1;
  return a->block == b->block && a->offset == b->offset && a->first == b->first && a->count == b->count;
}
