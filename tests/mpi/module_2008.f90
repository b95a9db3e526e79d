! The module mpi_f08: handles are types, error codes may be left out.

module callbacks
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_ptr
  implicit none
  logical :: noticed = .false.

contains
  subroutine absolute_maximum(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    double precision, pointer :: in(:), inout(:)
    if (datatype /= MPI_DOUBLE_PRECISION) return
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    where (abs(in) > abs(inout)) inout = in
  end subroutine absolute_maximum

  subroutine twice(comm, keyval, extra_state, value_in, value_out, flag, error)
    type(MPI_Comm) :: comm
    integer :: keyval, error
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    value_out = 2 * value_in + extra_state
    flag = comm /= MPI_COMM_NULL .and. keyval /= MPI_KEYVAL_INVALID
    error = MPI_SUCCESS
  end subroutine twice

  subroutine notice(comm, code)
    type(MPI_Comm) :: comm
    integer :: code, class
    call MPI_Error_class(code, class)
    noticed = class == MPI_ERR_RANK .and. comm /= MPI_COMM_WORLD
  end subroutine notice
end module callbacks

program module_2008
  use mpi_f08
  use callbacks
  use, intrinsic :: iso_c_binding, only: c_associated, c_loc, c_ptr
  implicit none

  integer :: rank, size, said_lines = 0
  character(len=120) :: said(100)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call messages()
  call operations()
  call objects()
  call buffers()
  call print_all()
  call MPI_Finalize()

contains
  include 'say.inc'

  subroutine messages()
    type(MPI_Request) :: requests(3)
    type(MPI_Status) :: status, states(3)
    integer :: numbers(3), next, last, i, index, count, error, words(MPI_STATUS_SIZE)
    next = mod(rank + 1, size)
    last = mod(rank + size - 1, size)
    do i = 1, 3
      call MPI_Irecv(numbers(i), 1, MPI_INTEGER, last, i, MPI_COMM_WORLD, requests(i))
    end do
    do i = 1, 3
      call MPI_Send([10 * rank + i], 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, error)
    end do
    call MPI_Waitall(3, requests, states, error)
    call say_integers('received', [numbers, states%MPI_TAG, states%MPI_SOURCE, error])
    call say_logicals('done', [requests(1) == MPI_REQUEST_NULL, requests(2) /= MPI_REQUEST_NULL])
    requests = MPI_REQUEST_NULL
    call MPI_Ibarrier(MPI_COMM_WORLD, requests(2))
    call MPI_Waitany(3, requests, index, MPI_STATUS_IGNORE)
    call say_integers('barrier', [index])
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
    call MPI_Sendrecv(numbers, 2, MPI_INTEGER, MPI_PROC_NULL, 0, numbers(3), 0, MPI_INTEGER, &
      MPI_PROC_NULL, 0, MPI_COMM_SELF, status, error)
    call say_logicals('nobody', [status%MPI_SOURCE == MPI_PROC_NULL, error == MPI_SUCCESS])
    call MPI_Sendrecv(numbers, 1, MPI_INTEGER, 0, 0, numbers(3), 1, MPI_INTEGER, &
      0, MPI_ANY_TAG, MPI_COMM_SELF, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call MPI_Status_f082f(status, words)
    call MPI_Status_f2f08(words, states(1))
    call say_integers('status', [count, words(MPI_SOURCE), states(1)%MPI_TAG])
    call say_logicals('same', [numbers(3) == numbers(1)])
  end subroutine messages

  subroutine operations()
    type(MPI_Op) :: op
    double precision :: mine(3), all(3)
    integer :: bytes
    procedure(MPI_User_function), pointer :: function
    function => absolute_maximum
    call MPI_Op_create(function, .true., op)
    mine = [1d0, -1d0, 0.5d0] * (rank - 1.25d0)
    call MPI_Allreduce(mine, all, 3, MPI_DOUBLE_PRECISION, op, MPI_COMM_WORLD)
    call say_reals('largest', all)
    call MPI_Allreduce(MPI_IN_PLACE, mine, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call say_reals('sums', mine)
    call MPI_Op_free(op)
    call say_logicals('freed', [op == MPI_OP_NULL])
    call MPI_Sizeof(mine(1), bytes)
    call say_integers('bytes', [bytes])
  end subroutine operations

  subroutine objects()
    type(MPI_Comm) :: comm, twin
    type(MPI_Group) :: group
    type(MPI_Datatype) :: datatype
    type(MPI_Errhandler) :: errhandler
    integer :: key, error, class, n
    integer(kind=MPI_ADDRESS_KIND) :: value, lower, extent
    logical :: found
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, comm)
    call MPI_Comm_create_keyval(twice, MPI_COMM_NULL_DELETE_FN, key, 5_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(comm, key, int(rank, MPI_ADDRESS_KIND))
    call MPI_Comm_dup(comm, twin)
    call MPI_Comm_get_attr(twin, key, value, found)
    call say_integers('attribute', [int(value)])
    call MPI_Comm_set_name(twin, 'twin')
    call MPI_Comm_get_name(twin, name, n)
    call say(trim(name))
    call MPI_Comm_group(twin, group)
    call MPI_Group_size(group, n)
    call say_integers('group', [n])
    call MPI_Group_free(group)
    call MPI_Comm_create_errhandler(notice, errhandler)
    call MPI_Comm_set_errhandler(twin, errhandler)
    call MPI_Send(n, 1, MPI_INTEGER, 1000, 0, twin, error)
    call say_logicals('noticed', [noticed])
    call MPI_Errhandler_free(errhandler)
    call MPI_Comm_set_errhandler(twin, MPI_ERRORS_RETURN)
    call MPI_Send(n, 1, MPI_INTEGER, 0, -5, twin, error)
    call MPI_Error_class(error, class)
    call say_integers('class', [class])
    call MPI_Comm_free(twin)
    call MPI_Comm_free(comm)
    call MPI_Comm_free_keyval(key)
    call say_logicals('null', [comm == MPI_COMM_NULL, twin /= MPI_COMM_NULL])
    call MPI_Type_vector(3, 2, 4, MPI_REAL, datatype)
    call MPI_Type_get_extent(datatype, lower, extent)
    call say_integers('extent', [int(lower), int(extent)])
    call MPI_Type_free(datatype)
  end subroutine objects

  ! A buffer that is detached comes back as a pointer.
  subroutine buffers()
    character, target :: buffer(2000)
    type(c_ptr) :: detached
    integer :: length, number
    call MPI_Buffer_attach(buffer, 2000)
    call MPI_Bsend(rank, 1, MPI_INTEGER, mod(rank + 1, size), 3, MPI_COMM_WORLD)
    call MPI_Recv(number, 1, MPI_INTEGER, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Buffer_detach(detached, length)
    call say_integers('detached', [length, number])
    call say_logicals('the same', [c_associated(detached, c_loc(buffer))])
  end subroutine buffers
end program module_2008
