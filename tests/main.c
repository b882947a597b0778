/* SPDX-License-Identifier: Apache-2.0 */
/* The main() of test programs that have none of their own. */
#include "tests/support.h"

int main(void) {
  return run_cases(NULL, finalize);
}
