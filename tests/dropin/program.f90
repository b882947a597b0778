! SPDX-License-Identifier: Apache-2.0
! A Fortran program on the drop-in: functions with complex results, and errors that reach its own XERBLA.
program dropin
  implicit none
  integer, parameter :: n = 40
  double precision :: a(n, n), b(n, n), c(n, n)
  complex :: x(3), y(3), cdotu, cdotc
  double complex :: z(3), w(3), zdotu, zdotc
  real :: sdot, s(3)
  integer :: i, j, reported
  character(len=8) :: routine
  external cdotu, cdotc, zdotu, zdotc, sdot
  common /errors/ reported, routine

  do j = 1, n
    do i = 1, n
      a(i, j) = mod(i * 7 + j * 3, 11) - 5
      b(i, j) = mod(i * 5 + j * 2, 13) - 6
    end do
  end do
  call dgemm('N', 'T', n, n, n, 1d0, a, n, b, n, 0d0, c, n)
  if (any(c /= matmul(a, transpose(b)))) stop 1
  x = [(1.0, 2.0), (-3.0, 1.0), (2.0, 0.5)]
  y = [(0.0, 1.0), (2.0, 2.0), (-1.0, 4.0)]
  z = x
  w = y
  if (cdotu(3, x, 1, y, 1) /= sum(x * y)) stop 2
  if (cdotc(3, x, 1, y, 1) /= sum(conjg(x) * y)) stop 3
  if (zdotu(3, z, 1, w, 1) /= sum(z * w)) stop 4
  if (zdotc(3, z, 1, w, 1) /= sum(conjg(z) * w)) stop 5
  s = [1.0, 2.0, 3.0]
  if (sdot(3, s, 1, s, -1) /= 10.0) stop 6
  reported = 0
  call dsyrk('U', 'N', n, n, 1d0, a, n, 0d0, c, n - 1)
  if (reported /= 10 .or. routine /= 'DSYRK') stop 7
  print *, 'right'
end program

subroutine xerbla(name, argument)
  implicit none
  character(len=*), intent(in) :: name
  integer, intent(in) :: argument
  integer :: reported
  character(len=8) :: routine
  common /errors/ reported, routine
  if (len(name) < 5 .or. len(name) > 8) stop 8
  reported = argument
  routine = name
end subroutine
