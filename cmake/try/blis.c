/* SPDX-License-Identifier: Apache-2.0 */
/* Tried at configuration: the parts of BLIS that davit calls exist and link. */
#include <blis.h>

int main(void) {
  rntm_t runtime = BLIS_RNTM_INITIALIZER;
  bli_rntm_set_num_threads(1, &runtime);
  double one = 1, a = 2, b = 3, c = 0;
  bli_dgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, 1, 1, 1, &one, &a, 1, 1, &b, 1, 1, &one, &c, 1, 1, NULL,
               &runtime);
  return c != 6;
}
