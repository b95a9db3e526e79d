/* A put that is refused for its arguments uses nothing up: of a descriptor for one operation, which hangs in
 * the match list, too, rank 1 tries to put to nobody and more than there is; then rank 0 puts into it. */
#include <mpi.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    static char memory[8];
    ptl_handle_ni_t ni;
    ptl_handle_eq_t queue;
    ptl_handle_me_t entry;
    ptl_handle_md_t md;
    ptl_process_id_t to, nobody = {60000, 1};
    ptl_event_t event;
    int interfaces, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PtlInit(&interfaces);
    PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
    PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &queue);
    PtlGetRankId(ni, 1 - rank, &to);
    ptl_md_t once = {.start = memory,
                     .length = sizeof(memory),
                     .threshold = 1,
                     .options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE,
                     .eq_handle = queue};
    if (rank == 1) {
        PtlMEAttach(ni, 4, anybody, 7, 0, PTL_RETAIN, PTL_INS_AFTER, &entry);
        PtlMDAttach(entry, once, PTL_RETAIN, &md);
        int nowhere = PtlPut(md, PTL_NO_ACK_REQ, nobody, 4, 0, 7, 0, 0);
        int beyond = PtlPutRegion(md, 4, 5, PTL_NO_ACK_REQ, to, 4, 0, 7, 0, 0);
        printf("refused: %d %d\n", nowhere == PTL_PROCESS_INVALID, beyond == PTL_MD_ILLEGAL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    memory[0] = (char)(5 + rank);
    if (rank == 0) {
        PtlMDBind(ni, once, PTL_RETAIN, &md);
        PtlPut(md, PTL_NO_ACK_REQ, to, 4, 0, 7, 0, 99);
    }
    if (PtlEQWait(queue, &event) != PTL_OK)
        exit(1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        printf("got %d with %d\n", memory[0], (int)event.hdr_data);
    MPI_Finalize();
    return 0;
}
