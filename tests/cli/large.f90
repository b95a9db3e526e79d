! Procedures of mpi_f08 with counts of MPI_COUNT_KIND: the same names, chosen by the kinds of their arguments.
program large
  use mpi_f08
  implicit none
  integer(kind=MPI_COUNT_KIND) :: count, size, counts(2), lb, extent
  integer(kind=MPI_ADDRESS_KIND) :: places(2)
  integer :: rank, ranks, small, all(4), own(2), error
  type(MPI_Status) :: status
  type(MPI_Datatype) :: row
  type(MPI_Op) :: op
  type(MPI_Request) :: request

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  own = [10 * rank, 10 * rank + 1]
  count = 2
  ! One side with a large count, the other without.
  if (rank == 0) call MPI_Send(own, count, MPI_INTEGER, 1, 7, MPI_COMM_WORLD)
  if (rank == 1) then
    call MPI_Irecv(all, 4, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, request)
    call MPI_Wait(request, status)
    call MPI_Get_count(status, MPI_INTEGER, count, error)
    call MPI_Get_count(status, MPI_INTEGER, small)
    print '(a, 5i4)', 'received', all(1:2), count, small, error
  end if
  counts = [2, 2]
  places = [2, 0]
  call MPI_Allgatherv(own, counts(1), MPI_INTEGER, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
  if (rank == 0) print '(a, 4i4)', 'gathered', all
  ! Beyond what an integer holds.
  count = 2_MPI_COUNT_KIND**33
  call MPI_Type_contiguous(count, MPI_INTEGER, row)
  call MPI_Type_size(row, size)
  call MPI_Type_size(row, small)
  call MPI_Type_get_extent(row, lb, extent)
  if (rank == 0) print '(a, 3i12, l2)', 'large', size, lb, extent, small == MPI_UNDEFINED
  call MPI_Pack_size(count, MPI_INTEGER, MPI_COMM_WORLD, size)
  if (rank == 0) print '(a, i12)', 'packed', size
  ! Functions choose no form: this one has a name of its own.
  call MPI_Op_create_c(larger, .true., op)
  count = 2
  call MPI_Allreduce(MPI_IN_PLACE, own, count, MPI_INTEGER, op, MPI_COMM_WORLD)
  if (rank == 0) print '(a, 2i4)', 'reduced', own
  call MPI_Op_free(op)
  call MPI_Type_free(row)
  call MPI_Finalize()

contains

  subroutine larger(in, inout, len, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, [len])
    call c_f_pointer(inout, b, [len])
    if (datatype == MPI_INTEGER) b = max(a, b)
  end subroutine larger
end program large
