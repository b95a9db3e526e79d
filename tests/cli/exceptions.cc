// A C++ program whose ranks throw while they wait for one another: nothing of theirs may be shared.
//
//     sunstar run -n 3 tests/cli/exceptions.cc
#include <mpi.h>

#include <iostream>
#include <stdexcept>
#include <string>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0, wrong = 0, anywhere = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++) {
        try {
            throw std::runtime_error(std::to_string(rank * 10 + i));
        } catch (const std::exception &caught) {
            MPI_Barrier(MPI_COMM_WORLD); // the other ranks are in their own handlers now
            wrong |= std::string(caught.what()) != std::to_string(rank * 10 + i);
        }
    }
    MPI_Allreduce(&wrong, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        std::cout << (anywhere ? "mixed up" : "each its own") << std::endl;
    MPI_Finalize();
    return anywhere;
}
