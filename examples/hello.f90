! The smallest MPI program in Fortran: sunstar run -n 4 examples/hello.f90
program hello
  use mpi
  implicit none
  integer :: rank, size, length, error
  character(len=MPI_MAX_PROCESSOR_NAME) :: name
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  call MPI_Get_processor_name(name, length, error)
  print '("hello from rank ", i0, " of ", i0, " on ", a)', rank, size, trim(name)
  call MPI_Finalize(error)
end program hello
