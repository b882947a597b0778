/* SPDX-License-Identifier: Apache-2.0 */
/* DAVIT_BLAS_ARITHMETIC */
#include <pthread.h>

#include "src/base/environment.h"
#include "src/dropin/dropin.h"

static dvt_products products;

static void read_products(void) {
  static bool said;
  static const char *const names[] = {"native", "exact", "exact-bits"};
  const char *text = dvt_environment("DAVIT_BLAS_ARITHMETIC");
  int i = 0;
  if (!text || !*text)
    return;
  while (i <= DVT_EXACT_BITS && strcmp(text, names[i]) != 0)
    i++;
  if (i <= DVT_EXACT_BITS)
    products = (dvt_products)i;
  else
    dvt_complain(&said, "DAVIT_BLAS_ARITHMETIC=%s is not native, exact or exact-bits; it is ignored", text);
}

dvt_products dvt_dropin_products(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_products);
  return products;
}

dvt_products dvt_products_of(const dvt_call *call) {
  return call->routine <= DVT_HERK && !dvt_keeps_diagonal(call) ? dvt_dropin_products() : DVT_NATIVE_PRODUCTS;
}
