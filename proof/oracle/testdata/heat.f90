! Module procedures, a contained procedure, one that is recursive, a procedure as an argument, and
! allocatable arrays.
module heat
  implicit none
  interface
    real function source(x)
      real, intent(in) :: x
    end function
  end interface
contains
  subroutine step(field, rate)
    real, intent(inout) :: field(:)
    real, intent(in) :: rate
    real, allocatable :: before(:)
    integer :: i
    before = field
    do i = 2, size(field) - 1
      field(i) = before(i) + rate * laplace(i)
    end do
  contains
    real function laplace(i)
      integer, intent(in) :: i
      laplace = before(i - 1) - 2 * before(i) + before(i + 1)
    end function
  end subroutine

  recursive integer function levels(n) result(depth)
    integer, intent(in) :: n
    depth = 1
    if (n > 1) depth = 1 + max(levels(n / 2), levels((n - 1) / 2))
  end function

  subroutine fill(field, f)
    real, intent(out) :: field(:)
    procedure(source) :: f
    integer :: i
    do i = 1, size(field)
      field(i) = f(real(i) / size(field))
    end do
  end subroutine

  subroutine never(field)
    real, intent(inout) :: field(:)
    field = -field
  end subroutine
end module

real function bump(x)
  real, intent(in) :: x
  bump = 0
  if (x > 0.4 .and. x < 0.6) bump = 100
end function

program main
  use heat
  implicit none
  real, external :: bump
  real :: field(40)
  integer :: i
  call fill(field, bump)
  do i = 1, 25
    call step(field, 0.2)
  end do
  if (any(field < 0)) call never(field)
  select case (levels(40))
  case (:3)
    print *, 'flat'
  case (4:6)
    print *, 'deep', levels(40)
  case default
    print *, 'too deep'
  end select
  write (*, '(8f8.3)') field(13:28)
end program
