/* The price of a call: each rank opens Portals by the bridge that the argument names (user, kernel), and
 * allocates and frees event queues. Rank 0 prints what a call takes, in nanoseconds of simulated time. */
#include <mpi.h>
#include <portals3.h>
#include <stdio.h>
#include <string.h>

#define CALLS 100

int main(int argc, char **argv)
{
    const int in_kernel = argc > 1 && strcmp(argv[1], "kernel") == 0;
    const ptl_interface_t bridge =
        in_kernel ? IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_KERN, PTL_IFACE_SS) : PTL_IFACE_DEFAULT;
    ptl_handle_ni_t interface;
    ptl_handle_eq_t queue;
    int interfaces, rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PtlInit(&interfaces);
    const int opened = PtlNIInit(bridge, PTL_PID_ANY, NULL, NULL, &interface);
    if (opened != PTL_OK) {
        printf("PtlNIInit: %s\n", PtlErrorStr(opened));
        MPI_Finalize();
        return 0;
    }
    const double start = MPI_Wtime();
    for (int i = 0; i < CALLS; i++) {
        wrong += PtlEQAlloc(interface, 4, PTL_EQ_HANDLER_NONE, &queue) != PTL_OK;
        wrong += PtlEQFree(queue) != PTL_OK;
    }
    const double each = (MPI_Wtime() - start) * 1e9 / (2 * CALLS);
    if (rank == 0)
        printf("%.0f ns a call, %d wrong\n", each, wrong);
    PtlNIFini(interface);
    PtlFini();
    MPI_Finalize();
    return 0;
}
