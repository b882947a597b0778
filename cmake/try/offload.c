/* SPDX-License-Identifier: Apache-2.0 */
/* Tried at configuration: exits 0 when a target region runs on a device and its result comes back. */
#include <omp.h>

int main(void) {
  int on_host = 1;
  double sum = 0;
#pragma omp target map(from : on_host)
  on_host = omp_is_initial_device();
#pragma omp target teams distribute parallel for reduction(+ : sum)
  for (int i = 0; i < 1000; i++)
    sum += i;
  return !(omp_get_num_devices() > 0 && !on_host && sum == 499500);
}
