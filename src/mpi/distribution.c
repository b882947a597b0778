/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/distribution.h"

#include <davit_mpi.h>

#include "src/base/arithmetic.h"

/* Of the indices below `i` of a distribution without offset, those of the process `distance` after the first. */
static int64_t below(int64_t i, int64_t block, int distance, int count) {
  const int64_t blocks = i / block, rounds = blocks / count, rest = blocks % count;
  return rounds * block + (distance < rest ? block : distance == rest ? i % block : 0);
}

static int distance_of(int process, int first, int count) {
  return (process - first + count) % count;
}

int64_t davit_mpi_local_size(int64_t n, int64_t block, int position, int first, int count) {
  if (n < 0 || block < 1 || count < 1 || position < 0 || position >= count || first < 0 || first >= count)
    return 0;
  return below(n, block, distance_of(position, first, count), count);
}

dvt_distribution dvt_distribution_part(int64_t n, int64_t begin, int64_t block, int first, int count) {
  const int owner = (int)((first + begin / block) % count);
  return (dvt_distribution){.n = n, .block = block, .offset = begin % block, .first = owner, .count = count};
}

int dvt_distribution_owner(const dvt_distribution *d, int64_t i) {
  return (int)((d->first + (d->offset + i) / d->block) % d->count);
}

int64_t dvt_distribution_end(const dvt_distribution *d, int64_t i) {
  if (d->count == 1)
    return d->n;
  const int64_t end = ((d->offset + i) / d->block + 1) * d->block - d->offset;
  return dvt_at_most(end, d->n);
}

int64_t dvt_distribution_below(const dvt_distribution *d, int process, int64_t i) {
  const int distance = distance_of(process, d->first, d->count);
  return below(d->offset + i, d->block, distance, d->count) - (distance == 0 ? d->offset : 0);
}

int64_t dvt_distribution_index(const dvt_distribution *d, int process, int64_t l) {
  const int distance = distance_of(process, d->first, d->count);
  l += distance == 0 ? d->offset : 0;
  return (l / d->block * d->count + distance) * d->block + l % d->block - d->offset;
}

bool dvt_distributions_equal(const dvt_distribution *a, const dvt_distribution *b) {
  if (a->count == 1)
    return b->count == 1;
  return a->block == b->block && a->offset == b->offset && a->first == b->first && a->count == b->count;
}
