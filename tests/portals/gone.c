/* Operations that fail for the memory of one side, told to both: rank 0 puts and adds what is
 * gone, and gets from and adds to memory of rank 1 that is gone or may only be read. */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096
enum { GOOD, GONE, CONSTANT };

static int rank, ends, failed;
static ptl_handle_ni_t ni;
static ptl_handle_eq_t queue;

static ptl_md_t describe(char *start, unsigned options)
{
    const ptl_md_t md = {.start = start,
                         .length = 8,
                         .threshold = PTL_MD_THRESH_INF,
                         .options = options | PTL_MD_EVENT_START_DISABLE,
                         .eq_handle = queue};
    return md;
}

static ptl_handle_md_t bind(char *start)
{
    ptl_handle_md_t md;
    if (PtlMDBind(ni, describe(start, 0), PTL_RETAIN, &md) != PTL_OK)
        exit(1);
    return md;
}

static void wait(int events)
{
    ptl_event_t event;
    while (events--) {
        if (PtlEQWait(queue, &event) != PTL_OK)
            exit(1);
        ends++;
        failed += event.ni_fail_type == PTL_NI_FAIL;
    }
}

int main(int argc, char **argv)
{
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    const unsigned all = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
    ptl_handle_md_t hung, good, gone, answer;
    ptl_handle_me_t entry;
    ptl_process_id_t to;
    int interfaces;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PtlInit(&interfaces);
    PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
    PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &queue);
    char *memory =
        mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int which = GOOD; which <= CONSTANT; which++) {
        PtlMEAttach(ni, 4, anybody, which, 0, PTL_RETAIN, PTL_INS_AFTER, &entry);
        PtlMDAttach(entry, describe(memory + which * PAGE, all), PTL_RETAIN, &hung);
    }
    good = bind(memory + GOOD * PAGE);
    gone = bind(memory + GONE * PAGE);
    answer = bind(memory + 3 * PAGE);
    munmap(memory + GONE * PAGE, PAGE);
    mprotect(memory + CONSTANT * PAGE, PAGE, PROT_READ);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        PtlGetRankId(ni, 1, &to);
        PtlPut(gone, PTL_ACK_REQ, to, 4, 0, GOOD, 0, 0);
        wait(1);
        PtlGet(answer, to, 4, 0, GONE, 0);
        wait(1);
        PtlGetAdd(answer, good, to, 4, 0, GONE, 0, 0);
        wait(2);
        PtlGetAdd(answer, good, to, 4, 0, CONSTANT, 0, 0);
        wait(2);
        PtlGetAdd(answer, gone, to, 4, 0, GOOD, 0, 0);
        wait(2);
    } else {
        wait(5);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: %d of %d failed\n", rank, failed, ends);
    MPI_Finalize();
    return 0;
}
