/* MPI in a library that the program needs, or in one that it loads while it runs. */
#ifdef SHARED
#include <mpi.h>
int work(void)
{
    int rank, sum;
    MPI_Init(0, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum;
}
#elif defined NEEDED
int work(void);
int main(void) { return work() != 3; }
#else
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
    int (*work)(void) = library ? (int (*)(void))dlsym(library, "work") : 0;
    if (!work)
        fprintf(stderr, "%s\n", dlerror());
    return !work || work() != 3;
}
#endif
