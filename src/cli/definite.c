/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/definite.h"

#include <complex.h>

#include "src/cli/frame/job.h"

int cli_half_norm(cli_job *job, const cli_array *a, char half, double *norm) {
  const int64_t n = a->shape[0];
  double *sums = cli_job_memory(job, (size_t)n, sizeof *sums);
  if (!sums)
    return CLI_DEVICE;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = half == 'L' ? j : 0; i < (half == 'L' ? n : j + 1); i++) {
      const double _Complex x = (double _Complex)cli_element(a, i + j * n);
      const double size = i == j ? fabs(creal(x)) : cabs(x);
      sums[i] += size;
      sums[j] += i == j ? 0 : size;
    }
  *norm = 0;
  for (int64_t i = 0; i < n; i++)
    *norm = cli_larger(*norm, sums[i]);
  return CLI_OK;
}
