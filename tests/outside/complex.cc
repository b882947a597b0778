// SPDX-License-Identifier: Apache-2.0
// A C++ program that includes all of davit's headers and passes its own complex numbers, by value and by address:
// tests/outside/install.sh builds it with the system's C++ compiler. The factors have two different parts, so that
// parts that were exchanged or lost on the way show.
#include <davit/davit.h>

#include <cstdio>

template <typename T>
static bool product(davit_status (*gemm)(char, char, int64_t, int64_t, int64_t, std::complex<T>,
                                         const std::complex<T> *, int64_t, const std::complex<T> *, int64_t,
                                         std::complex<T>, std::complex<T> *, int64_t,
                                         const davit_level3_options *)) {
  const std::complex<T> a(1, 2), b(3, -1), alpha(2, 3), beta(-1, 4), before(5, 7);
  const int host = DAVIT_HOST;
  davit_level3_options options = davit_level3_options();
  options.devices = &host;
  options.device_count = 1;
  std::complex<T> c = before;
  if (gemm('N', 'C', 1, 1, 1, alpha, &a, 1, &b, 1, beta, &c, 1, &options) != DAVIT_SUCCESS) {
    std::fprintf(stderr, "%s\n", davit_last_error());
    return false;
  }
  return c == alpha * a * std::conj(b) + beta * before; // small whole numbers: exact
}

int main() {
  const bool right = product<double>(davit_zgemm) && product<float>(davit_cgemm);
  std::printf("complex numbers of C++: %s\n", right ? "as C's" : "wrong");
  return right ? 0 : 1;
}
