/* Programs that do something wrong, one for each name in `cases`:
 *
 *     sunstar run -n 2 tests/cli/wrong.c NAME
 *
 * Rank 1 is the one that does it, unless the case says otherwise.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int rank;
static char buffer[64];
static int *volatile nowhere;

static void crash(void)
{
    if (rank == 1)
        *nowhere = 1;
}

static void abort_signal(void)
{
    if (rank == 1)
        abort();
}

static void killed(void)
{
    if (rank == 1)
        raise(SIGKILL);
}

/* The peer of a dead rank must not wait for ever. */
static void crash_while_awaited(void)
{
    if (rank == 1)
        *nowhere = 1;
    MPI_Recv(buffer, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exit_without_finalize(void)
{
    if (rank == 1)
        exit(0);
}

static void exit_three(void)
{
    MPI_Finalize();
    exit(rank == 1 ? 3 : 0);
}

static void mpi_abort(void)
{
    if (rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 5);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Both ranks wait for a message that neither has sent. */
static void deadlock(void)
{
    MPI_Recv(buffer, 8, MPI_BYTE, 1 - rank, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 0 waits; rank 1 has long ended. */
static void lonely(void)
{
    if (rank == 0)
        MPI_Recv(buffer, 8, MPI_BYTE, 1, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void bad_rank(void)
{
    if (rank == 1)
        MPI_Send(buffer, 1, MPI_BYTE, 7, 0, MPI_COMM_WORLD);
}

static void bad_tag(void)
{
    if (rank == 1)
        MPI_Send(buffer, 1, MPI_BYTE, 0, -5, MPI_COMM_WORLD);
}

static void bad_count(void)
{
    if (rank == 1)
        MPI_Send(buffer, -1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

static void bad_datatype(void)
{
    if (rank == 1)
        MPI_Send(buffer, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD);
}

static void bad_communicator(void)
{
    if (rank == 1)
        MPI_Send(buffer, 1, MPI_BYTE, 0, 0, MPI_COMM_NULL);
}

static void null_buffer(void)
{
    if (rank == 1)
        MPI_Send(NULL, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

/* Nothing is mapped there, large enough to be read by DMA. */
static void wild_buffer(void)
{
    if (rank == 1)
        MPI_Send((char *)4096, 4096, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(malloc(4096), 4096, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Buffers that were good once: the second message finds them gone. */
static void *page_that_goes(void)
{
    static char *page;
    if (page)
        munmap(page, 8192);
    else
        page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page;
}

static void gone_receive(void)
{
    for (int i = 0; i < 2; i++)
        if (rank == 0)
            MPI_Send(buffer, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(page_that_goes(), 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void gone_send(void)
{
    static char long_buffer[8192];
    for (int i = 0; i < 2; i++)
        if (rank == 0)
            MPI_Recv(long_buffer, 8192, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(page_that_goes(), 8192, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

/* From byte 4096 on the buffer may only be read when the message comes. */
static void read_only(int bytes)
{
    MPI_Request request;
    char *page =
        mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    page += bytes > 4096 ? 0 : 4096;
    if (rank == 1) {
        MPI_Irecv(page, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
        mprotect(page + (bytes > 4096 ? 4096 : 0), 4096, PROT_READ);
        printf("read-only: %p\n", page + (bytes > 4096 ? 4096 : 0));
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Send(page, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The result of a reduction goes where the program may only read, among its own data. */
static void read_only_result(void)
{
    static char data[3 * 4096] __attribute__((aligned(4096)));
    int one = 1;
    mprotect(data + 4096, 4096, PROT_READ);
    MPI_Allreduce(&one, data + 4096, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* A send's memory goes while the receiver fetches it. */
static void gone_under_way(void)
{
    static char message[300000];
    int code, class, done;
    MPI_Request request;
    char *page = mmap(NULL, sizeof message, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Isend(page, sizeof message, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        munmap(page, sizeof message);
        MPI_Barrier(MPI_COMM_WORLD);
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        code = MPI_Recv(message, sizeof message, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Error_class(code, &class);
    printf("MPI_ERR_OTHER: %d\n", class == MPI_ERR_OTHER);
}

static void read_only_short(void)
{
    read_only(8);
}

static void read_only_long(void)
{
    read_only(200000);
}

/* The message is longer than the buffer that is posted for it. */
static void truncated(void)
{
    if (rank == 0)
        MPI_Send(buffer, 32, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(buffer, 16, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Exported, because programs link it without calling it; not there when it is called. */
static void missing_function(void)
{
    MPI_Win window;
    if (rank == 1)
        MPI_Win_create(buffer, 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
}

static void after_finalize(void)
{
    MPI_Finalize();
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Not wrong by itself: a program to be interrupted. */
static void endless(void)
{
    printf("pid %d\n", (int)getpid());
    fflush(stdout);
    for (;;) {
        if (rank == 0)
            MPI_Send(buffer, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Ends if what it polls for comes. */
static void polls(void)
{
    if (rank == 0)
        MPI_Send(buffer, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    for (int there = rank == 0; !there;)
        MPI_Iprobe(0, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A file without a name that is larger than what `ulimit -f` allows. */
static void large_file(void)
{
    FILE *file = tmpfile();
    if (rank == 1 && (!file || ftruncate(fileno(file), 1 << 30) != 0))
        perror("large-file");
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"crash", crash},
    {"abort-signal", abort_signal},
    {"killed", killed},
    {"crash-while-awaited", crash_while_awaited},
    {"exit-without-finalize", exit_without_finalize},
    {"exit-three", exit_three},
    {"mpi-abort", mpi_abort},
    {"deadlock", deadlock},
    {"lonely", lonely},
    {"bad-rank", bad_rank},
    {"bad-tag", bad_tag},
    {"bad-count", bad_count},
    {"bad-datatype", bad_datatype},
    {"bad-communicator", bad_communicator},
    {"null-buffer", null_buffer},
    {"wild-buffer", wild_buffer},
    {"gone-receive", gone_receive},
    {"gone-send", gone_send},
    {"gone-under-way", gone_under_way},
    {"read-only-short", read_only_short},
    {"read-only-long", read_only_long},
    {"read-only-result", read_only_result},
    {"truncated", truncated},
    {"missing-function", missing_function},
    {"after-finalize", after_finalize},
    {"endless", endless},
    {"polls", polls},
    {"large-file", large_file},
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (strcmp(name, "before-init") == 0)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(name, "no-mpi-call") == 0)
        return 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(name, cases[i].name) == 0) {
            cases[i].run();
            MPI_Finalize();
            return 0;
        }
    }
    fprintf(stderr, "wrong: no case '%s'\n", name);
    return 99;
}
