/* Two ranks that send each other messages and look for them again and again. The first argument says how, the
 * second how often; each rank says what time that took and how many looks.
 *
 * sunstar run -n 2 --machine redstorm-accelerated tests/portals/polls.c one 10 */
#include <mpi.h>
#include <portals3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTAL 4
#define BITS 0x5eed
#define MESSAGES_MAX 100000

static char buffer[64];
static ptl_handle_eq_t arrived, sent;
static ptl_handle_md_t descriptor;
static ptl_process_id_t target;
static unsigned long looks, waiting;
static int together; /* both queues are looked at */
static int waits;    /* nothing is looked at */
static atomic_int set;

static void check(int code, const char *what)
{
    if (code != PTL_OK) {
        fprintf(stderr, "%s: %s\n", what, PtlErrorStr(code));
        exit(1);
    }
}

static void send(void)
{
    check(PtlPut(descriptor, PTL_NOACK_REQ, target, PORTAL, 0, BITS, 0, 0), "PtlPut");
}

/* True if there was an event. */
static int look(ptl_handle_eq_t queue)
{
    ptl_event_t event;
    looks++;
    const int code = waits ? PtlEQWait(queue, &event) : PtlEQGet(queue, &event);
    if (code == PTL_EQ_EMPTY)
        return 0;
    check(code, "PtlEQGet");
    waiting += event.type == PTL_EVENT_PUT_END;
    return 1;
}

/* The same at both queues, by one call. */
static int look_at_both(void)
{
    ptl_handle_eq_t queues[] = {sent, arrived};
    ptl_event_t event;
    int which;
    looks++;
    const int code = PtlEQPoll(queues, 2, 0, &event, &which);
    if (code == PTL_EQ_EMPTY)
        return 0;
    check(code, "PtlEQPoll");
    waiting += event.type == PTL_EVENT_PUT_END;
    return 1;
}

/* Looks until a message has come. */
static void receive(void)
{
    while (waiting == 0) {
        if (together) {
            look_at_both();
            continue;
        }
        look(arrived);
        if (sent != PTL_EQ_NONE)
            look(sent);
    }
    waiting--;
}

static void ping_pong(int rank, int times)
{
    for (int i = 0; i < times; i++) {
        if (rank == 0)
            send();
        receive();
        if (rank == 1)
            send();
    }
}

/* Looks a few times before each message, whatever that finds. */
static void exchange(int times, int before)
{
    for (int i = 0; i < times; i++) {
        for (int j = 0; j < before; j++)
            together ? look_at_both() : look(arrived);
        send();
    }
    for (int i = 0; i < times; i++)
        receive();
}

/* Looks and reads a clock until a time has come. */
static void until(double seconds)
{
    const double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end)
        look(arrived);
}

/* Computes, in real time, and makes no call meanwhile. */
static void compute(void)
{
    volatile unsigned long sum = 0;
    for (unsigned long i = 0; i < 30000000; i++)
        sum += i;
}

static void *sets(void *unused)
{
    compute();
    atomic_store(&set, 1);
    return unused;
}

static void *sends(void *unused)
{
    compute();
    send();
    return unused;
}

static void beside(void *(*run)(void *), int sets_flag)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    if (sets_flag)
        while (!atomic_load(&set))
            look(arrived);
    else
        receive();
    pthread_join(thread, NULL);
}

static void open_all(int rank, const char *how)
{
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    int interfaces;
    ptl_handle_ni_t interface;
    ptl_handle_me_t entry;
    check(PtlInit(&interfaces), "PtlInit");
    check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &interface), "PtlNIInit");
    check(PtlEQAlloc(interface, MESSAGES_MAX, PTL_EQ_HANDLER_NONE, &arrived), "PtlEQAlloc");
    const int two = strcmp(how, "two") == 0 || strcmp(how, "poll") == 0;
    sent = PTL_EQ_NONE;
    if (two || together)
        check(PtlEQAlloc(interface, MESSAGES_MAX, PTL_EQ_HANDLER_NONE, &sent), "PtlEQAlloc");
    ptl_md_t md = {.start = buffer,
                   .length = 8,
                   .threshold = PTL_MD_THRESH_INF,
                   .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE,
                   .eq_handle = arrived};
    ptl_handle_md_t handle;
    check(PtlMEAttach(interface, PORTAL, anybody, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, &entry),
          "PtlMEAttach");
    check(PtlMDAttach(entry, md, PTL_RETAIN, &handle), "PtlMDAttach");
    md.options = PTL_MD_EVENT_START_DISABLE;
    md.eq_handle = sent;
    check(PtlMDBind(interface, md, PTL_RETAIN, &descriptor), "PtlMDBind");
    const unsigned peer = strcmp(how, "sends") == 0 ? (unsigned)rank : 1u - (unsigned)rank;
    check(PtlGetRankId(interface, peer, &target), "PtlGetRankId");
}

int main(int argc, char **argv)
{
    int rank, provided;
    const char *how = argc > 1 ? argv[1] : "one";
    const int times = argc > 2 ? atoi(argv[2]) : 10;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    together = strcmp(how, "poll") == 0 || strcmp(how, "thousand") == 0;
    waits = strcmp(how, "wait") == 0;
    open_all(rank, how);
    /* Nothing may be sent before it is expected. */
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (strcmp(how, "twice") == 0)
        exchange(times, 2);
    else if (strcmp(how, "thousand") == 0)
        exchange(times, 1000);
    else if (strcmp(how, "until") == 0)
        until(times * 1e-6);
    else if (strcmp(how, "sets") == 0)
        beside(sets, 1);
    else if (strcmp(how, "sends") == 0)
        beside(sends, 0);
    else
        ping_pong(rank, times);
    printf("rank %d: %.0f ns, %lu looks\n", rank, (MPI_Wtime() - start) * 1e9, looks);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
