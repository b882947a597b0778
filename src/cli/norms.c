/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/norms.h"

#include <complex.h>

#include "src/cli/frame/job.h"

static double size_at(const cli_array *a, int64_t i, int64_t j) {
  return cabs((double _Complex)cli_element(a, i + j * a->shape[0]));
}

static double largest(const double *sums, int64_t count) {
  double found = 0;
  for (int64_t i = 0; i < count; i++)
    found = cli_larger(found, sums[i]);
  return found;
}

int cli_half_norm(cli_job *job, const cli_array *a, char half, double *norm) {
  const int64_t n = a->shape[0];
  double *sums;
  CLI_ROOM(job, sums, n);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = half == 'L' ? j : 0; i < (half == 'L' ? n : j + 1); i++) {
      const double _Complex x = (double _Complex)cli_element(a, i + j * n);
      const double size = i == j ? fabs(creal(x)) : cabs(x);
      sums[i] += size;
      sums[j] += i == j ? 0 : size;
    }
  *norm = largest(sums, n);
  return CLI_OK;
}

int cli_row_norm(cli_job *job, const cli_array *a, double *norm) {
  double *sums;
  CLI_ROOM(job, sums, a->shape[0]);
  for (int64_t j = 0; j < a->shape[1]; j++)
    for (int64_t i = 0; i < a->shape[0]; i++)
      sums[i] += size_at(a, i, j);
  *norm = largest(sums, a->shape[0]);
  return CLI_OK;
}

double cli_column_norm(const cli_array *a) {
  double norm = 0;
  for (int64_t j = 0; j < a->shape[1]; j++) {
    double sum = 0;
    for (int64_t i = 0; i < a->shape[0]; i++)
      sum += size_at(a, i, j);
    norm = cli_larger(norm, sum);
  }
  return norm;
}

/* |L| times the sums of the rows of |U|. */
int cli_lu_norm(cli_job *job, const cli_array *lu, double *norm) {
  const int64_t m = lu->shape[0], n = lu->shape[1], least = m < n ? m : n;
  double *of_u, *sums;
  CLI_ROOM(job, of_u, least);
  CLI_ROOM(job, sums, m);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i <= j && i < least; i++)
      of_u[i] += size_at(lu, i, j);
  for (int64_t j = 0; j < least; j++) {
    sums[j] += of_u[j];
    for (int64_t i = j + 1; i < m; i++)
      sums[i] += size_at(lu, i, j) * of_u[j];
  }
  *norm = largest(sums, m);
  return CLI_OK;
}
