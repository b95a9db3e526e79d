/* Point to point: modes, persistent requests, probes, cancelling, completion of many. */
#include "say.h"

#include <limits.h>
#include <sys/mman.h>

static int data[65536], back[65536];

static void buffered(int right, int left)
{
    int length = 3 * (4000 + MPI_BSEND_OVERHEAD);
    char *buffer = malloc(length), *detached;
    MPI_Buffer_attach(buffer, length);
    for (int i = 0; i < 3; i++)
        MPI_Bsend(data + i, 1000, MPI_INT, right, 20 + i, MPI_COMM_WORLD);
    for (int i = 2; i >= 0; i--) {
        MPI_Recv(back, 1000, MPI_INT, left, 20 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        say("bsend %d: %d", i, back[0]);
    }
    int size_detached;
    MPI_Buffer_detach(&detached, &size_detached);
    say("detached %d %d", detached == buffer, size_detached == length);
    free(buffer);
}

static void persistent(int right, int left)
{
    MPI_Request requests[3];
    MPI_Status status[3];
    MPI_Send_init(data, 10, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(back, 10, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Ssend_init(data, 40000, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[2]);
    MPI_Wait(&requests[0], &status[0]);
    say("an inactive request: source %d", status[0].MPI_SOURCE == MPI_ANY_SOURCE);
    for (int round = 0; round < 3; round++) {
        data[0] = 100 * rank + round;
        MPI_Startall(3, requests);
        MPI_Recv(back + 100, 40000, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Waitall(3, requests, status);
        say("round %d: %d %d from %d", round, back[0], back[100], status[1].MPI_SOURCE);
    }
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
    say("freed %d", requests[1] == MPI_REQUEST_NULL);
}

static void probes(int right, int left)
{
    MPI_Status status;
    MPI_Message message;
    int count, flag = 0;
    MPI_Request request;
    MPI_Isend(data, 77, MPI_INT, right, 5, MPI_COMM_WORLD, &request);
    MPI_Probe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    say("probe %d %d %d", status.MPI_SOURCE, status.MPI_TAG, count);
    while (!flag)
        MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, &status);
    MPI_Mprobe(left, 5, MPI_COMM_WORLD, &message, &status);
    MPI_Iprobe(left, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    say("taken out: %d", flag);
    MPI_Mrecv(back, 77, MPI_INT, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    say("mrecv %d %d", count, message == MPI_MESSAGE_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(data, 50000, MPI_INT, right, 6, MPI_COMM_WORLD, &request);
    do
        MPI_Improbe(left, 6, MPI_COMM_WORLD, &flag, &message, &status);
    while (!flag);
    MPI_Request receive;
    MPI_Imrecv(back, 50000, MPI_INT, &message, &receive);
    MPI_Wait(&receive, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    say("imrecv %d %08x", count, hash(back, sizeof(int) * 50000));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* Taken out as soon as it begins to arrive, received when it is long there. */
    MPI_Isend(data, 30000, MPI_INT, right, 7, MPI_COMM_WORLD, &request);
    MPI_Mprobe(left, 7, MPI_COMM_WORLD, &message, &status);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Mrecv(back, 30000, MPI_INT, &message, &status);
    say("mprobe %08x", hash(back, sizeof(int) * 30000));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void many(int right, int left)
{
    MPI_Request requests[17];
    MPI_Status statuses[17];
    int indices[17], seen[17] = {0}, completed = 0, n, flag;
    for (int i = 0; i < 8; i++)
        MPI_Irecv(back + 100 * i, 100, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 8; i++)
        MPI_Issend(data + i, 10 * i, MPI_INT, right, i, MPI_COMM_WORLD, &requests[8 + i]);
    requests[16] = MPI_REQUEST_NULL;
    while (completed < 9) {
        MPI_Waitsome(17, requests, &n, indices, statuses);
        for (int i = 0; i < n; i++) {
            seen[indices[i]]++;
            int count;
            MPI_Get_count(&statuses[i], MPI_INT, &count);
            if (indices[i] < 8 && count != 10 * indices[i])
                say("wrong count %d", count);
        }
        completed += n;
    }
    while (completed < 12) {
        MPI_Testsome(17, requests, &n, indices, statuses);
        for (int i = 0; i < n; i++)
            seen[indices[i]]++;
        completed += n;
    }
    while (completed < 16) {
        MPI_Waitany(17, requests, &n, &statuses[0]);
        seen[n]++;
        completed++;
    }
    say_ints("seen", seen, 17);
    MPI_Waitany(17, requests, &n, MPI_STATUS_IGNORE);
    say("none left: %d", n == MPI_UNDEFINED);
    MPI_Waitsome(17, requests, &n, indices, statuses);
    say("none left: %d", n == MPI_UNDEFINED);
    MPI_Testall(17, requests, &flag, statuses);
    say("all over: %d", flag);
}

/* Room for more than a message can hold. */
static void vast(int right, int left)
{
    size_t bytes = (size_t)INT_MAX * sizeof(int);
    int *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MPI_Request request;
    MPI_Status status;
    int count;
    MPI_Irecv(room, INT_MAX, MPI_INT, left, 11, MPI_COMM_WORLD, &request);
    MPI_Send(data, 30, MPI_INT, right, 11, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    say("vast room: %d %08x", count, hash(room, 120));
    munmap(room, bytes);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, flag;
    MPI_Status status;
    for (int i = 0; i < 65536; i++)
        data[i] = rank * 1000000 + i;
    buffered(right, left);
    persistent(right, left);
    probes(right, left);
    many(right, left);
    vast(right, left);

    MPI_Request request;
    MPI_Irecv(back, 1, MPI_INT, left, 999, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    say("cancelled %d", flag);

    for (int i = 0; i < 1000; i++)
        back[i] = rank * 3 + i;
    MPI_Sendrecv_replace(back, 1000, MPI_INT, right, 8, left, 8, MPI_COMM_WORLD, &status);
    say("replaced %08x from %d", hash(back, 4000), status.MPI_SOURCE);
    MPI_Sendrecv(data, 3, MPI_INT, MPI_PROC_NULL, 0, back, 3, MPI_INT, MPI_PROC_NULL, 0,
                 MPI_COMM_WORLD, &status);
    int count;
    MPI_Get_count(&status, MPI_INT, &count);
    say("proc_null %d %d %d", status.MPI_SOURCE == MPI_PROC_NULL, status.MPI_TAG == MPI_ANY_TAG,
        count);

    void *memory;
    MPI_Alloc_mem(4096, MPI_INFO_NULL, &memory);
    memset(memory, rank, 4096);
    MPI_Sendrecv(memory, 4096, MPI_BYTE, right, 9, back, 4096, MPI_BYTE, left, 9, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    say("alloc_mem %08x", hash(back, 4096));
    MPI_Free_mem(memory);
    int initialized, finalized, version, subversion;
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    PMPI_Get_version(&version, &subversion);
    say("%d %d %d", initialized, finalized, version);
    return end();
}
