// Leaves an error handler by an exception, N times, as bindings for C++ do.
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <stdexcept>

static void raise_error(MPI_Comm *, int *, ...) { throw std::runtime_error("MPI"); }

int main(int argc, char **argv) {
    const int n = argc > 1 ? std::atoi(argv[1]) : 1;
    int caught = 0, x = 0;
    MPI_Errhandler handler;

    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(raise_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (int i = 0; i < n; i++) {
        try {
            MPI_Send(&x, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
        } catch (const std::runtime_error &) {
            caught++;
        }
    }
    std::printf("caught %d\n", caught);
    MPI_Finalize();
}
