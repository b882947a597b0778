! SPDX-License-Identifier: Apache-2.0
! davit for Fortran: compile this file with your program, then `use davit`, and link -ldavit.
!
! Functions have the names and the arguments of the C interface (docs/interface.md). Fortran's matrices are
! column-major, so they are passed as they are; sizes are integer(c_int64_t). The options may be left out. Each
! function returns a status, 0 for success; davit_check() stops the program with davit's sentence otherwise.
module davit
  use, intrinsic :: iso_c_binding
  implicit none
  private :: strlen

  integer(c_int), parameter :: davit_success = 0, davit_host = -1
  ! Element types and operators
  integer(c_int), parameter :: davit_float = 0, davit_double = 1, davit_int32 = 2, davit_int64 = 3
  integer(c_int), parameter :: davit_sum = 0, davit_prod = 1, davit_min = 2, davit_max = 3
  integer(c_int), parameter :: davit_scan_inclusive = 0, davit_scan_exclusive = 1
  integer(c_int), parameter :: davit_stencil_border_untouched = 0, davit_stencil_border_copy = 1, &
    davit_stencil_border_zero = 2
  integer(c_int), parameter :: davit_covariance_full = 0, davit_covariance_packed = 1

  ! Options: `devices` is c_loc() of an array of device numbers, which has the attribute target.
  type, bind(c) :: davit_options ! of gemv, axpy, dot, reduce, scan and atax
    type(c_ptr) :: devices = c_null_ptr
    integer(c_int) :: device_count = 0
    logical(c_bool) :: mapped = .false.
    integer(c_int64_t) :: reserved(4) = 0
  end type

  type, bind(c) :: davit_level3_options
    type(c_ptr) :: devices = c_null_ptr
    integer(c_int) :: device_count = 0
    logical(c_bool) :: mapped = .false.
    integer(c_int64_t) :: tile = 0
    integer(c_size_t) :: cache_bytes = 0
    logical(c_bool) :: separate_memory = .false.
    type(c_ptr) :: report = c_null_ptr
    type(c_ptr) :: explanation = c_null_ptr
    type(c_funptr) :: progress = c_null_funptr
    type(c_ptr) :: progress_context = c_null_ptr
    integer(c_int) :: predict_threads = 0
    integer(c_int) :: arithmetic = 0
    integer(c_int) :: moduli = 0
    logical(c_bool) :: exact_bits = .false.
    type(c_ptr) :: processes = c_null_ptr
    integer(c_int64_t) :: reserved(1) = 0
  end type

  type, bind(c) :: davit_stencil_options
    type(c_ptr) :: devices = c_null_ptr
    integer(c_int) :: device_count = 0
    integer(c_int) :: border = davit_stencil_border_untouched
    logical(c_bool) :: mapped = .false.
    integer(c_int64_t) :: reserved(3) = 0
  end type

  type, bind(c) :: davit_covariance_options
    type(c_ptr) :: devices = c_null_ptr
    integer(c_int) :: device_count = 0
    real(c_double) :: mean_divisor = 0
    real(c_double) :: divisor = 0
    integer(c_int) :: form = davit_covariance_full
    logical(c_bool) :: mapped = .false.
    integer(c_int64_t) :: reserved(4) = 0
  end type

  type, bind(c) :: davit_closest_pair_options
    type(c_ptr) :: devices = c_null_ptr
    integer(c_int) :: device_count = 0
    integer(c_int) :: algorithm = 0
    logical(c_bool) :: mapped = .false.
    integer(c_int64_t) :: reserved(3) = 0
  end type

  type, bind(c) :: davit_closest_pair_result
    integer(c_int64_t) :: i = 0, j = 0 ! from 0, as in C
    real(c_double) :: distance = 0
  end type

  interface
    function davit_dgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, options) bind(c) result(status)
      import :: c_char, c_int, c_int64_t, c_double, davit_level3_options
      character(kind=c_char), value :: transa, transb
      integer(c_int64_t), value :: m, n, k, lda, ldb, ldc
      real(c_double), value :: alpha, beta
      real(c_double), intent(in) :: a(lda, *), b(ldb, *)
      real(c_double), intent(inout) :: c(ldc, *)
      type(davit_level3_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    function davit_sgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, options) bind(c) result(status)
      import :: c_char, c_int, c_int64_t, c_float, davit_level3_options
      character(kind=c_char), value :: transa, transb
      integer(c_int64_t), value :: m, n, k, lda, ldb, ldc
      real(c_float), value :: alpha, beta
      real(c_float), intent(in) :: a(lda, *), b(ldb, *)
      real(c_float), intent(inout) :: c(ldc, *)
      type(davit_level3_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    function davit_dgemv(trans, m, n, alpha, a, lda, x, incx, beta, y, incy, options) bind(c) result(status)
      import :: c_char, c_int, c_int64_t, c_double, davit_options
      character(kind=c_char), value :: trans
      integer(c_int64_t), value :: m, n, lda, incx, incy
      real(c_double), value :: alpha, beta
      real(c_double), intent(in) :: a(lda, *), x(*)
      real(c_double), intent(inout) :: y(*)
      type(davit_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    function davit_sgemv(trans, m, n, alpha, a, lda, x, incx, beta, y, incy, options) bind(c) result(status)
      import :: c_char, c_int, c_int64_t, c_float, davit_options
      character(kind=c_char), value :: trans
      integer(c_int64_t), value :: m, n, lda, incx, incy
      real(c_float), value :: alpha, beta
      real(c_float), intent(in) :: a(lda, *), x(*)
      real(c_float), intent(inout) :: y(*)
      type(davit_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    function davit_daxpy(n, alpha, x, incx, y, incy, options) bind(c) result(status)
      import :: c_int, c_int64_t, c_double, davit_options
      integer(c_int64_t), value :: n, incx, incy
      real(c_double), value :: alpha
      real(c_double), intent(in) :: x(*)
      real(c_double), intent(inout) :: y(*)
      type(davit_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    function davit_ddot(n, x, incx, y, incy, product, options) bind(c) result(status)
      import :: c_int, c_int64_t, c_double, davit_options
      integer(c_int64_t), value :: n, incx, incy
      real(c_double), intent(in) :: x(*), y(*)
      real(c_double), intent(out) :: product
      type(davit_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    ! Below, element_type says what the arrays hold; results of reduce have that type.
    function davit_reduce(operator, element_type, n, x, reduced, options) bind(c) result(status)
      import :: c_int, c_int64_t, davit_options
      integer(c_int), value :: operator, element_type
      integer(c_int64_t), value :: n
      type(*), intent(in) :: x(*)
      type(*), intent(inout) :: reduced
      type(davit_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    function davit_scan(operator, element_type, kind, n, x, y, options) bind(c) result(status)
      import :: c_int, c_int64_t, davit_options
      integer(c_int), value :: operator, element_type, kind
      integer(c_int64_t), value :: n
      type(*), intent(in) :: x(*)
      type(*), intent(inout) :: y(*)
      type(davit_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    function davit_segmented_scan(operator, element_type, kind, n, x, flags, y, options) bind(c) result(status)
      import :: c_int, c_int8_t, c_int64_t, davit_options
      integer(c_int), value :: operator, element_type, kind
      integer(c_int64_t), value :: n
      type(*), intent(in) :: x(*)
      integer(c_int8_t), intent(in) :: flags(*)
      type(*), intent(inout) :: y(*)
      type(davit_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    function davit_stencil(element_type, rows, cols, a, lda, coefficients, b, ldb, options) bind(c) result(status)
      import :: c_int, c_int64_t, c_double, davit_stencil_options
      integer(c_int), value :: element_type
      integer(c_int64_t), value :: rows, cols, lda, ldb
      type(*), intent(in) :: a(*)
      real(c_double), intent(in) :: coefficients(3, 3)
      type(*), intent(inout) :: b(*)
      type(davit_stencil_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    function davit_atax(element_type, trans, m, n, a, lda, x, tmp, y, options) bind(c) result(status)
      import :: c_char, c_int, c_int64_t, davit_options
      integer(c_int), value :: element_type
      character(kind=c_char), value :: trans
      integer(c_int64_t), value :: m, n, lda
      type(*), intent(in) :: a(*), x(*)
      type(*), intent(inout), optional :: tmp(*)
      type(*), intent(inout) :: y(*)
      type(davit_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    function davit_covariance(element_type, trans, rows, cols, d, ldd, mean, centred, ldc, s, lds, options) bind(c) &
        result(status)
      import :: c_char, c_int, c_int64_t, davit_covariance_options
      integer(c_int), value :: element_type
      character(kind=c_char), value :: trans
      integer(c_int64_t), value :: rows, cols, ldd, ldc, lds
      type(*), intent(in) :: d(*)
      type(*), intent(inout), optional :: mean(*), centred(*)
      type(*), intent(inout) :: s(*)
      type(davit_covariance_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    function davit_closest_pair(element_type, dim, n, points, pair, options) bind(c) result(status)
      import :: c_int, c_int64_t, davit_closest_pair_result, davit_closest_pair_options
      integer(c_int), value :: element_type, dim
      integer(c_int64_t), value :: n
      type(*), intent(in) :: points(*) ! (dim, n)
      type(davit_closest_pair_result), intent(out) :: pair
      type(davit_closest_pair_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    function davit_closest_pairs(element_type, dim, n, points, k, radius, pairs, count, options) bind(c) result(status)
      import :: c_int, c_int64_t, c_double, davit_closest_pair_result, davit_closest_pair_options
      integer(c_int), value :: element_type, dim
      integer(c_int64_t), value :: n, k
      type(*), intent(in) :: points(*) ! (dim, n)
      real(c_double), value :: radius
      type(davit_closest_pair_result), intent(inout) :: pairs(*) ! k
      integer(c_int64_t), intent(out) :: count
      type(davit_closest_pair_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    function davit_closest_pairs_count(element_type, dim, n, points, radius, count, options) bind(c) result(status)
      import :: c_int, c_int64_t, c_double, davit_closest_pair_options
      integer(c_int), value :: element_type, dim
      integer(c_int64_t), value :: n
      type(*), intent(in) :: points(*) ! (dim, n)
      real(c_double), value :: radius
      integer(c_int64_t), intent(out) :: count
      type(davit_closest_pair_options), intent(in), optional :: options
      integer(c_int) :: status
    end function

    function davit_device_count(count) bind(c) result(status)
      import :: c_int
      integer(c_int), intent(out) :: count
      integer(c_int) :: status
    end function

    function davit_set_threads(threads) bind(c) result(status)
      import :: c_int
      integer(c_int), value :: threads
      integer(c_int) :: status
    end function

    function davit_last_error() bind(c) result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function

    function strlen(text) bind(c) result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  ! The sentence of this thread's last failure.
  function davit_message() result(message)
    character(len=:), allocatable :: message
    character(kind=c_char), pointer :: text(:)
    type(c_ptr) :: address
    integer :: i
    address = davit_last_error()
    call c_f_pointer(address, text, [strlen(address)])
    allocate (character(len=size(text)) :: message)
    do i = 1, size(text)
      message(i:i) = text(i)
    end do
  end function

  ! Stops the program with davit's sentence if the status is a failure's.
  subroutine davit_check(status)
    integer(c_int), intent(in) :: status
    if (status /= davit_success) error stop davit_message()
  end subroutine
end module
