/* What Sunstar's own MPI has not, or what other MPIs were reported to get wrong over libfabric: one
 * part, by its number, of a run with an even number of ranks. Rank 0 says "right" at its end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 50 };
static const MPI_Comm all = MPI_COMM_WORLD;
static int rank, size;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #condition);                 \
            MPI_Abort(MPI_COMM_WORLD, 77);                                                         \
        }                                                                                          \
    } while (0)

/* Messages of many senders, short and long ones, are probed for: those of each stay in order. */
static void probes(void)
{
    static int words[20000], next[64];
    if (rank > 0) {
        for (int i = 0; i < MANY; i++) {
            words[0] = i;
            MPI_Send(words, i % 10 ? 1 : 20000, MPI_INT, 0, i % 3, all);
        }
        return;
    }
    for (int i = 0; i < MANY * (size - 1); i++) {
        MPI_Status status;
        int count;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, all, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        MPI_Recv(words, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, all, MPI_STATUS_IGNORE);
        CHECK(words[0] == next[status.MPI_SOURCE]++ && status.MPI_TAG == words[0] % 3);
        CHECK(count == (words[0] % 10 ? 1 : 20000));
    }
}

/* A probed message is taken by its handle, while others with its tag come. */
static void matched_probes(void)
{
    int number = rank, got;
    if (rank > 0) {
        MPI_Send(&number, 1, MPI_INT, 0, 4, all);
        return;
    }
    int sum = 0;
    for (int i = 1; i < size; i++) {
        MPI_Message message;
        MPI_Status status;
        MPI_Mprobe(MPI_ANY_SOURCE, 4, all, &message, &status);
        MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        CHECK(got == status.MPI_SOURCE);
        sum += got;
    }
    CHECK(sum == size * (size - 1) / 2);
}

static MPI_Win window_of(int **memory, int count)
{
    MPI_Win window;
    MPI_Win_allocate(count * (int)sizeof(int), sizeof(int), MPI_INFO_NULL, all, memory, &window);
    memset(*memory, 0, (size_t)count * sizeof(int));
    MPI_Barrier(all);
    return window;
}

static void locks(void)
{
    int *memory, one = 1, before, largest = -1;
    MPI_Win window = window_of(&memory, 2);
    for (int i = 0; i < 5; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Get(&before, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_flush(0, window);
        CHECK(before > largest);
        largest = before++;
        MPI_Put(&before, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_unlock(0, window);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 1, MPI_SUM, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Barrier(all);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    CHECK(rank != 0 || (memory[0] == 5 * size && memory[1] == 5 * size));
    MPI_Win_unlock(rank, window);
    MPI_Win_free(&window);
}

static void fences(void)
{
    enum { LONG = 30000 };
    int *memory, *own = malloc(LONG * sizeof *own);
    MPI_Win window = window_of(&memory, LONG);
    for (int i = 0; i < LONG; i++)
        own[i] = rank * LONG + i;
    MPI_Win_fence(0, window);
    MPI_Put(own, LONG, MPI_INT, (rank + 1) % size, 0, LONG, MPI_INT, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < LONG; i++)
        CHECK(memory[i] == (rank + size - 1) % size * LONG + i);
    MPI_Win_free(&window);
    free(own);
}

static void between_groups(void)
{
    MPI_Comm half, other;
    int sum = 0;
    MPI_Comm_split(all, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, all, 1 - rank % 2, 9, &other);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, other);
    int wanted = 0;
    for (int i = 1 - rank % 2; i < size; i += 2)
        wanted += i;
    CHECK(sum == wanted);
    MPI_Comm_free(&other);
    MPI_Comm_free(&half);
}

static void files(void)
{
    MPI_File file;
    int number = 100 + rank, got;
    MPI_File_open(all, "small.data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof number, &number, 1, MPI_INT,
                          MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(all);
    MPI_File_read_at_all(file, (rank + 1) % size * (MPI_Offset)sizeof got, &got, 1, MPI_INT,
                         MPI_STATUS_IGNORE);
    CHECK(got == 100 + (rank + 1) % size);
    MPI_File_close(&file);
}

static void sessions(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int sum;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "small", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

/* Many short and long messages that nobody has asked for, received last one first. */
static void backwards(void)
{
    static int words[MANY][9000];
    MPI_Request requests[MANY];
    for (int i = 0; i < MANY; i++)
        words[i][0] = words[i][8999] = i;
    for (int i = 0; rank % 2 == 0 && i < MANY; i++)
        MPI_Isend(words[i], i % 5 ? 1 : 9000, MPI_INT, rank + 1, i, all, &requests[i]);
    if (rank % 2 == 0) {
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        return;
    }
    memset(words, 0xff, sizeof words);
    for (int i = MANY - 1; i >= 0; i--) {
        MPI_Recv(words[i], 9000, MPI_INT, rank - 1, i, all, MPI_STATUS_IGNORE);
        CHECK(words[i][0] == i && (i % 5 || words[i][8999] == i));
    }
}

static void parts(void)
{
    enum { PARTS = 8 };
    static double data[PARTS * 1000];
    MPI_Request request;
    const int peer = rank ^ 1;
    if (rank % 2 == 0) {
        MPI_Psend_init(data, PARTS, 1000, MPI_DOUBLE, peer, 3, all, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        for (int i = PARTS - 1; i >= 0; i--) {
            data[1000 * i + 999] = i + 0.5;
            MPI_Pready(i, request);
        }
    } else {
        MPI_Precv_init(data, PARTS, 1000, MPI_DOUBLE, peer, 3, all, MPI_INFO_NULL, &request);
        MPI_Start(&request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < PARTS; i++)
        CHECK(data[1000 * i + 999] == i + 0.5);
    MPI_Request_free(&request);
}

static void too_little_room(void)
{
    char bytes[100] = {0};
    int class;
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    if (rank % 2 == 0) {
        MPI_Send(bytes, 100, MPI_CHAR, rank + 1, 0, all);
    } else {
        MPI_Error_class(MPI_Recv(bytes, 50, MPI_CHAR, rank - 1, 0, all, MPI_STATUS_IGNORE), &class);
        CHECK(class == MPI_ERR_TRUNCATE);
    }
}

int main(int count, char **words)
{
    static void (*const pieces[])(void) = {probes,         matched_probes, locks,     fences,
                                           between_groups, files,          sessions,  backwards,
                                           parts,          too_little_room};
    MPI_Init(&count, &words);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    pieces[atoi(words[1])]();
    MPI_Barrier(all);
    if (rank == 0)
        puts("right");
    MPI_Finalize();
    return 0;
}
