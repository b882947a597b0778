/* SPDX-License-Identifier: Apache-2.0 */
/* The complex numbers of the BLAS routines: DAVIT_COMPLEX_FLOAT and DAVIT_COMPLEX_DOUBLE.
 *
 * In C they are C's own complex types, in C++ std::complex, so that either language passes its own numbers
 * without a cast. Both are a real part followed by an imaginary part, and the ABIs that davit is built for
 * pass both by value in the same registers (tests/outside compares them). */
#ifndef DAVIT_COMPLEX_H
#define DAVIT_COMPLEX_H

#ifdef __cplusplus
#include <complex>
typedef std::complex<float> davit_complex_float;
typedef std::complex<double> davit_complex_double;
#else
typedef float _Complex davit_complex_float;
typedef double _Complex davit_complex_double;
#endif

#endif
