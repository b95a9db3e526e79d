/* Queues of a random shape: what it does is a function of its arguments, SEED [DEPTH [ROUNDS]], and of
 * the number of ranks. DEPTH is the most that a rank posts, and that it is sent, in a round.
 *
 * Any receives at all are posted, in any order with sends, probes and cancels: from whom, with which
 * tag, of either or of anything. So a receive may get the message that another was meant for, and
 * many get none. What came is counted: at the end of a round a rank takes back what is still open,
 * and receives what is left, whatever it is. Order is the judge's (sunstar run --judge); here bytes,
 * statuses and numbers are compared. What is wrong ends the run with MPI_Abort and status 77. */
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRONG = 77, DEPTH_MAX = 2000, CONTEXTS = 2, TAGS = 4, HELD_MAX = 16 };

static int rank, size, round_number, depth = 40;
static MPI_Comm contexts[CONTEXTS], aside;

/* SplitMix64. */
static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int below(uint64_t *state, int bound) { return (int)(next(state) % (uint64_t)bound); }

static void stop(const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    fprintf(stderr, "queues: rank %d, round %d: ", rank, round_number);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    MPI_Abort(MPI_COMM_WORLD, WRONG);
}

static void *some(int count, size_t bytes) {
    void *all = calloc((size_t)count + 1, bytes);

    if (!all) stop("there is no memory for %d", count);
    return all;
}

/* What a rank sends, in this order. */
struct message {
    int from, to, context, tag, length, synchronous;
};

static struct message *plan;
static int messages, most, due[CONTEXTS];
static char *came;

/* Lengths on both sides of where something changes: no payload, kept in parts of pages of several
 * sizes, the longest that is sent at once, one that is asked for. */
static int length_of(uint64_t *state) {
    static const int edges[] = {0, 0, 4, 8, 8, 60, 64, 65, 300, 1024};

    if (below(state, 30) == 0) return 4094 + below(state, 5);
    if (below(state, 60) == 0) return 4097 + below(state, 140000);
    return edges[below(state, 10)];
}

static unsigned char byte_of(int id, int at) {
    return (unsigned char)(at < 4 ? id >> (8 * at) : id * 31 + at * 7 + (at >> 8));
}

static unsigned char *bytes_of(int id, int length) {
    unsigned char *bytes = some(length, 1);

    for (int i = 0; i < length; i++) bytes[i] = byte_of(id, i);
    return bytes;
}

/* Which message it was stands in its first bytes, if it has so many. */
static void check_received(const unsigned char *bytes, int context, int error, MPI_Status *status) {
    int length, id, class = MPI_SUCCESS;

    if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
    if (class != MPI_SUCCESS && class != MPI_ERR_TRUNCATE)
        stop("a receive failed: class %d", class);
    if (--due[context] < 0) stop("more came in context %d than was sent", context);
    MPI_Get_count(status, MPI_BYTE, &length);
    if (class == MPI_ERR_TRUNCATE || length < 4) return;
    id = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24;
    if (id < 0 || id >= messages) stop("no message begins with %d", id);
    const struct message *m = &plan[id];
    if (m->to != rank || m->from != status->MPI_SOURCE || m->tag != status->MPI_TAG ||
        m->context != context || m->length != length)
        stop("message %d came as one of %d bytes from %d with tag %d", id, length,
             status->MPI_SOURCE, status->MPI_TAG);
    if (came[id]++) stop("message %d came twice", id);
    for (int i = 4; i < length; i++)
        if (bytes[i] != byte_of(id, i))
            stop("message %d: byte %d is %d instead of %d", id, i, bytes[i], byte_of(id, i));
}

/* Receives that are open. */
struct receive {
    MPI_Request request;
    unsigned char *bytes;
    int context;
};

static struct receive *open;
static int opened, first_open;

static void ended(struct receive *receive, int error, MPI_Status *status) {
    int cancelled;

    MPI_Test_cancelled(status, &cancelled);
    if (!cancelled) check_received(receive->bytes, receive->context, error, status);
    free(receive->bytes);
    receive->bytes = NULL;
}

static void post(uint64_t *state, int wildness) {
    struct receive *receive = &open[opened++];
    int source = below(state, 10) < wildness ? MPI_ANY_SOURCE : below(state, size);
    int tag = below(state, 10) < wildness ? MPI_ANY_TAG : below(state, TAGS);
    int room = below(state, 12) ? most : below(state, 4) ? below(state, most + 1) : 0;

    receive->context = below(state, CONTEXTS);
    receive->bytes = some(room, 1);
    MPI_Irecv(receive->bytes, room, MPI_BYTE, source, tag, contexts[receive->context],
              &receive->request);
}

/* One that is open, or none. */
static struct receive *any_open(uint64_t *state) {
    while (first_open < opened && !open[first_open].bytes) first_open++;
    if (first_open == opened) return NULL;
    struct receive *receive = &open[first_open + below(state, opened - first_open)];
    return receive->bytes ? receive : NULL;
}

static void cancel(struct receive *receive) {
    MPI_Status status;

    MPI_Cancel(&receive->request);
    int error = MPI_Wait(&receive->request, &status);
    ended(receive, error, &status);
}

static void test(struct receive *receive) {
    MPI_Status status;
    int flag;
    int error = MPI_Test(&receive->request, &flag, &status);

    if (flag) ended(receive, error, &status);
}

/* Messages that a matching probe has taken. */
static struct held {
    MPI_Message message;
    int context, length;
} held[HELD_MAX];
static int holding;

static void receive_held(uint64_t *state) {
    struct held one = held[below(state, holding)];
    MPI_Status status;

    for (int i = 0, kept = 0; i < holding; i++)
        if (held[i].message != one.message) held[kept++] = held[i];
    holding--;
    unsigned char *bytes = some(one.length, 1);
    int error = MPI_Mrecv(bytes, one.length, MPI_BYTE, &one.message, &status);
    check_received(bytes, one.context, error, &status);
    free(bytes);
}

static void probe(uint64_t *state) {
    int source = below(state, 2) ? MPI_ANY_SOURCE : below(state, size), flag;
    int tag = below(state, 2) ? MPI_ANY_TAG : below(state, TAGS), context = below(state, CONTEXTS);
    MPI_Status status;

    if (holding < HELD_MAX && below(state, 2)) {
        struct held *one = &held[holding];
        MPI_Improbe(source, tag, contexts[context], &flag, &one->message, &status);
        one->context = context;
        MPI_Get_count(&status, MPI_BYTE, &one->length);
        if (flag) holding++;
    } else {
        MPI_Iprobe(source, tag, contexts[context], &flag, &status);
    }
}

/* Lets simulated time pass. */
static void linger(double seconds) {
    for (double start = MPI_Wtime(); MPI_Wtime() - start < seconds;) {
    }
}

static void make_plan(uint64_t *state) {
    int hot = below(state, 2 * size);

    messages = 1 + below(state, depth * (hot < size ? 1 : size));
    plan = some(messages, sizeof *plan);
    came = some(messages, 1);
    most = 0;
    due[0] = due[1] = 0;
    for (int i = 0; i < messages; i++) {
        struct message *m = &plan[i];
        m->from = below(state, size);
        m->to = hot < size && below(state, 8) ? hot : below(state, size);
        m->context = below(state, CONTEXTS);
        m->tag = below(state, TAGS);
        m->length = length_of(state);
        m->synchronous = below(state, 12) == 0;
        if (m->length > most) most = m->length;
        if (m->to == rank) due[m->context]++;
    }
}

static void one_round(uint64_t *state) {
    make_plan(state);
    /* Both queues may be long, either, or none; posts before messages, or behind, or among them. */
    int order = below(state, 4), apart = below(state, 3);
    uint64_t own = *state + (uint64_t)rank * 7919u;
    int posts = below(&own, 3) ? below(&own, depth + 1) : depth, wildness = below(&own, 6);
    int cancels = below(&own, 3) ? 0 : 1 + below(&own, 8), probes = below(&own, 3) ? 0 : 4;
    int sends = 0;
    MPI_Request *sending = some(messages, sizeof *sending);
    unsigned char **out = some(messages, sizeof *out);

    open = some(posts, sizeof *open);
    opened = first_open = holding = 0;
    for (int i = 0; i < messages || opened < posts;) {
        int posting = order == 0 ? opened < posts : order == 1 ? i == messages : below(&own, 2);
        if (opened < posts && (posting || i == messages)) {
            post(&own, wildness);
            /* Everything is posted before anything is sent, or the other way round. */
            if (order == 0 && apart && opened == posts) MPI_Barrier(aside);
        } else if (i < messages) {
            if (order == 0 && apart && i == 0 && !posts) MPI_Barrier(aside);
            const struct message *m = &plan[i];
            if (m->from == rank) {
                out[sends] = bytes_of(i, m->length);
                (m->synchronous ? MPI_Issend : MPI_Isend)(out[sends], m->length, MPI_BYTE, m->to,
                                                          m->tag, contexts[m->context],
                                                          &sending[sends]);
                sends++;
            }
            if (++i == messages && order == 1 && apart) MPI_Barrier(aside);
        }
        struct receive *receive = below(&own, 16) < cancels ? any_open(&own) : NULL;
        if (receive) {
            if (below(&own, 3)) test(receive);
            else cancel(receive);
        }
        if (below(&own, 16) < probes) probe(&own);
        if (holding && below(&own, 8) == 0) receive_held(&own);
        if (below(&own, 200) == 0) linger(1e-6 * below(&own, 20));
    }
    if (below(&own, 2)) linger(1e-6 * below(&own, 100));
    for (int i = 0; i < opened; i++) {
        /* From one end, from the other, or from both in turn. */
        int at = order == 0 ? i : order == 1 ? opened - 1 - i : i % 2 ? i / 2 : opened - 1 - i / 2;
        if (open[at].bytes) cancel(&open[at]);
    }
    while (holding) receive_held(&own);
    unsigned char *bytes = some(most, 1);
    for (int context = 0; context < CONTEXTS; context++) {
        while (due[context]) {
            MPI_Status status;
            int error = MPI_Recv(bytes, most, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                                 contexts[context], &status);
            check_received(bytes, context, error, &status);
        }
    }
    MPI_Waitall(sends, sending, MPI_STATUSES_IGNORE);
    /* Whatever is still under way now was never sent. */
    MPI_Barrier(aside);
    for (int context = 0; context < CONTEXTS; context++) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, contexts[context], &flag, MPI_STATUS_IGNORE);
        if (flag) stop("context %d has one message more", context);
    }
    MPI_Barrier(aside);
    for (int i = 0; i < sends; i++) free(out[i]);
    free(bytes);
    free(out);
    free(sending);
    free(open);
    free(plan);
    free(came);
}

int main(int argc, char **argv) {
    uint64_t state = argc > 1 ? strtoull(argv[1], 0, 10) : 1;
    int rounds = 2;

    if (argc > 2) depth = atoi(argv[2]);
    if (argc > 3) rounds = atoi(argv[3]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (depth < 1 || depth > DEPTH_MAX) stop("a depth is 1 to %d", DEPTH_MAX);
    for (int i = 0; i < CONTEXTS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &contexts[i]);
        MPI_Comm_set_errhandler(contexts[i], MPI_ERRORS_RETURN);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &aside);
    for (round_number = 0; round_number < rounds; round_number++) {
        uint64_t plan_state = next(&state);
        one_round(&plan_state);
    }
    if (rank == 0) printf("%d rounds, all right\n", rounds);
    for (int i = 0; i < CONTEXTS; i++) MPI_Comm_free(&contexts[i]);
    MPI_Comm_free(&aside);
    MPI_Finalize();
    return 0;
}
