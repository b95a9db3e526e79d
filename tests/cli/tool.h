/* A tool that counts the messages a program sends (MPI 5.0, 15.2) and tells how many when it ends.
 * With NEXT it asks the loader for the function that it stands before, otherwise it calls that by its
 * second name. With SILENT it tells nothing, and makes no calls of its own. */
#ifdef NEXT
#define _GNU_SOURCE
#include <dlfcn.h>
#endif
#include <mpi.h>
#include <stdio.h>

static int sends;

#ifdef NEXT
#define BEHIND(name, type) ((type)dlsym(RTLD_NEXT, #name))
#else
#define BEHIND(name, type) ((type)P##name)
#endif

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    sends++;
    return BEHIND(MPI_Send, int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm))(
        buffer, count, type, to, tag, comm);
}

#ifndef SILENT
int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d sends %d\n", rank, sends);
    fflush(stdout);
    return BEHIND(MPI_Finalize, int (*)(void))();
}
#endif
