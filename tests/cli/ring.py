"""A number goes round all ranks; MPI is loaded while the program runs, without any package."""

import ctypes
import platform
import time

began = time.monotonic()
time.sleep(0.25)  # simulated, though it is not yet known that this is a rank
slept = time.monotonic() - began
mpi = ctypes.CDLL("libmpi_abi.so.1")
world, integer = ctypes.c_void_p(0x101), ctypes.c_void_p(0x209)
rank, size, number = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(7)
mpi.MPI_Wtime.restype = ctypes.c_double
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
to, source = (rank.value + 1) % size.value, (rank.value - 1) % size.value
here = ctypes.byref(number)
if rank.value != 0:
    mpi.MPI_Recv(here, 1, integer, source, 1, world, None)
    number.value += 1
mpi.MPI_Send(here, 1, integer, to, 1, world)
if rank.value == 0:
    mpi.MPI_Recv(here, 1, integer, source, 1, world, None)
after = mpi.MPI_Wtime() - began
mpi.MPI_Finalize()
times = 0.25 <= slept < 0.26 and slept <= after < 0.3
print(rank.value, size.value, number.value, platform.node(), times)
