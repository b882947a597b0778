! SPDX-License-Identifier: Apache-2.0
! docs/fortran/davit.f90: every function against Fortran's own intrinsics.
program fortran
  use davit
  implicit none
  integer(c_int64_t), parameter :: m = 37, k = 23, n = 29, np = 50
  real(c_double) :: a(m, k), b(k, n), c(m, n), x(k), y(m), z(k), s(k, k), w(k, k), d(m, k), f(3, 3), e(m, n), total
  real(c_float) :: a4(m, k), b4(k, n), c4(m, n), x4(k), y4(m)
  real(c_double) :: points(3, np), least, distance
  integer(c_int64_t) :: numbers(k), sums(k), i, j
  integer(c_int8_t) :: flags(k)
  integer(c_int), target :: where(1) = [davit_host]
  type(davit_level3_options) :: everywhere
  type(davit_options) :: options
  type(davit_stencil_options) :: zero = davit_stencil_options(border=davit_stencil_border_zero)
  type(davit_covariance_options) :: population = davit_covariance_options(divisor=m)
  type(davit_closest_pair_options) :: brute = davit_closest_pair_options(algorithm=1)
  type(davit_closest_pair_result) :: pair, pairs(5)
  integer(c_int64_t) :: found
  integer(c_int) :: count

  call random_number(a)
  call random_number(b)
  call random_number(x)
  call random_number(points)
  call random_number(f)
  a4 = real(a, c_float)
  b4 = real(b, c_float)
  x4 = real(x, c_float)
  everywhere%devices = c_loc(where)
  everywhere%device_count = 1
  everywhere%tile = 8
  options%devices = c_loc(where)
  options%device_count = 1

  call davit_check(davit_set_threads(2))
  call davit_check(davit_device_count(count))
  call expect(count >= 0, 'device_count')
  call davit_check(davit_dgemm('N', 'N', m, n, k, 1.0_c_double, a, m, b, k, 0.0_c_double, c, m))
  call expect(maxval(abs(c - matmul(a, b))) < 1e-12, 'dgemm')
  call davit_check(davit_dgemm('N', 'N', m, n, k, 2.0_c_double, a, m, b, k, 1.0_c_double, c, m, everywhere))
  call expect(maxval(abs(c - 3 * matmul(a, b))) < 1e-12, 'dgemm with options')
  call davit_check(davit_sgemm('N', 'N', m, n, k, 1.0_c_float, a4, m, b4, k, 0.0_c_float, c4, m))
  call expect(maxval(abs(c4 - matmul(a4, b4))) < 1e-4, 'sgemm')
  call davit_check(davit_dgemv('N', m, k, 1.0_c_double, a, m, x, 1_c_int64_t, 0.0_c_double, y, 1_c_int64_t))
  call expect(maxval(abs(y - matmul(a, x))) < 1e-12, 'dgemv')
  call davit_check(davit_sgemv('N', m, k, 1.0_c_float, a4, m, x4, 1_c_int64_t, 0.0_c_float, y4, 1_c_int64_t, options))
  call expect(maxval(abs(y4 - matmul(a4, x4))) < 1e-4, 'sgemv')
  z = 1
  call davit_check(davit_daxpy(k, 3.0_c_double, x, 1_c_int64_t, z, 1_c_int64_t))
  call expect(maxval(abs(z - (1 + 3 * x))) < 1e-12, 'daxpy')
  call davit_check(davit_ddot(k, x, 1_c_int64_t, z, 1_c_int64_t, total))
  call expect(abs(total - dot_product(x, z)) < 1e-12, 'ddot')

  call davit_check(davit_reduce(davit_max, davit_double, m * k, a, total, options))
  call expect(total == maxval(a), 'reduce')
  numbers = [(i * i, i=1, k)]
  call davit_check(davit_scan(davit_sum, davit_int64, davit_scan_exclusive, k, numbers, sums))
  call expect(all(sums == [(sum(numbers(:i - 1)), i=1, k)]), 'scan')
  flags = 0
  flags(11) = 1
  call davit_check(davit_segmented_scan(davit_sum, davit_int64, davit_scan_inclusive, k, numbers, flags, sums))
  call expect(sums(10) == sum(numbers(:10)) .and. sums(k) == sum(numbers(11:)), 'segmented_scan')

  call davit_check(davit_stencil(davit_double, m, n, c, m, f, e, m, zero))
  call expect(abs(e(5, 7) - sum(f * c(4:6, 6:8))) < 1e-12 .and. all(e(1, :) == 0), 'stencil')
  call davit_check(davit_atax(davit_double, 'N', m, k, a, m, x, y=z))
  call expect(maxval(abs(z - matmul(transpose(a), matmul(a, x)))) < 1e-11, 'atax')
  call davit_check(davit_covariance(davit_double, 'N', m, k, a, m, ldc=m, s=s, lds=k, options=population))
  d = a - spread(sum(a, 1) / m, 1, int(m))
  w = matmul(transpose(d), d) / m
  call expect(maxval(abs(s - w)) < 1e-12, 'covariance')

  call davit_check(davit_closest_pair(davit_double, 3, np, points, pair, brute))
  least = huge(least)
  do i = 1, np
    do j = i + 1, np
      distance = norm2(points(:, i) - points(:, j))
      least = min(least, distance)
    end do
  end do
  call expect(abs(pair%distance - least) < 1e-15 .and. pair%i < pair%j .and. &
              abs(norm2(points(:, pair%i + 1) - points(:, pair%j + 1)) - least) < 1e-15, 'closest_pair')

  call davit_check(davit_closest_pairs(davit_double, 3, np, points, 5_c_int64_t, 1d300, pairs, found))
  call expect(found == 5 .and. pairs(1)%i == pair%i .and. pairs(1)%j == pair%j .and. &
              all(pairs(2:)%distance >= pairs(:4)%distance), 'closest_pairs')
  call davit_check(davit_closest_pairs_count(davit_double, 3, np, points, pairs(3)%distance, found))
  call expect(found == 3, 'closest_pairs_count')

  where = 99
  call expect(davit_reduce(davit_sum, davit_double, k, x, total, options) /= davit_success, 'a device that is none')
  call expect(index(davit_message(), '99') > 0, 'its sentence')
  print *, 'docs/fortran/davit.f90 does what Fortran does'

contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (.not. holds) error stop what
  end subroutine
end program
