/* A random program: what it does is a function of its arguments, SEED [ROUNDS], and of the number of
 * ranks.
 *
 * Every rank makes the same plan from the seed and does its part. Whatever arrives is compared with
 * what was sent, bytes beside the buffers included. What is wrong ends the run with MPI_Abort and
 * status 77, an operation that MPI says has failed with 76. */
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRONG = 77, FAILED = 76, GUARD = 16, MESSAGES_MAX = 48 };

static int rank, size, round_number;
static MPI_Comm world; /* Errors are returned: receives that are too short are meant. */

/* SplitMix64. */
static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int below(uint64_t *state, int bound) { return (int)(next(state) % (uint64_t)bound); }

static void stop(int status, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    fprintf(stderr, "random: rank %d, round %d: ", rank, round_number);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    MPI_Abort(MPI_COMM_WORLD, status);
}

static void check(int code, const char *call) {
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (code == MPI_SUCCESS) return;
    MPI_Error_string(code, text, &length);
    stop(FAILED, "%s: %s", call, text);
}

/* Lengths around the places where something changes: in the header, in one packet, copied by the
 * library, in one page, sent with the first put. */
static int length_of(uint64_t *state) {
    static const int edges[] = {0, 1, 12, 13, 16, 64, 76, 128, 512, 513, 4096, 20000};
    int most = below(state, 8);

    if (most == 0) return 131072 + below(state, 3) - 1;
    if (most == 1) return below(state, 40000);
    return edges[below(state, 12)] + below(state, 2);
}

static unsigned char byte_of(int key, int at) {
    uint64_t state = (uint64_t)key * 1000003u + (uint64_t)(at / 8);

    return (unsigned char)(next(&state) >> (8 * (at % 8)));
}

/* A buffer with guards around it. */
static unsigned char *buffer(int length) {
    unsigned char *all = malloc((size_t)length + 2 * GUARD);

    memset(all, 0xa5, (size_t)length + 2 * GUARD);
    return all + GUARD;
}

static void fill(unsigned char *bytes, int length, int key) {
    for (int i = 0; i < length; i++) bytes[i] = byte_of(key, i);
}

/* The first `length` bytes are those of `key`, and those around the buffer of `room` are as they
 * were. */
static void compare(const unsigned char *bytes, int length, int room, int key, const char *what) {
    for (int i = 0; i < length; i++)
        if (bytes[i] != byte_of(key, i))
            stop(WRONG, "%s: byte %d of %d is %02x instead of %02x", what, i, length, bytes[i],
                 byte_of(key, i));
    for (int i = 0; i < GUARD; i++)
        if (bytes[-1 - i] != 0xa5 || bytes[room + i] != 0xa5)
            stop(WRONG, "%s: written beside a buffer of %d bytes", what, room);
}

static void drop(unsigned char *bytes) { free(bytes - GUARD); }

/* Lets simulated time pass. */
static void linger(double seconds) {
    for (double start = MPI_Wtime(); MPI_Wtime() - start < seconds;) {
    }
}

struct message {
    int from, to, length, mode, room, late;
};

/* How a rank receives in a round: from whom and with which tag, from anybody with the tag, or
 * anything. */
enum taking { EXACT, FROM_ANYBODY, ANYTHING };

/* What is expected of a receive that has ended. */
static void check_taken(const struct message *plan, int count, int taking, int index,
                        const unsigned char *bytes, MPI_Status *status, char *seen) {
    int got = index, length;

    if (taking == ANYTHING) {
        got = status->MPI_TAG;
        if (got < 0 || got >= count || plan[got].to != rank)
            stop(WRONG, "a message with tag %d came, which is for nobody here", got);
        if (seen[got]++) stop(WRONG, "message %d came again", got);
        for (int i = got + 1; i < count; i++)
            if (plan[i].from == plan[got].from && plan[i].to == rank && seen[i])
                stop(WRONG, "message %d came behind message %d of rank %d", got, i, plan[i].from);
    }
    if (status->MPI_SOURCE != plan[got].from || status->MPI_TAG != got)
        stop(WRONG, "message %d says that it is %d from %d", got, status->MPI_TAG,
             status->MPI_SOURCE);
    MPI_Get_count(status, MPI_BYTE, &length);
    if (length != plan[got].length)
        stop(WRONG, "message %d has %d bytes instead of %d", got, length, plan[got].length);
    compare(bytes, length, plan[index].room, got, "message");
}

static MPI_Request start_send(const struct message *m, int tag, unsigned char *bytes) {
    MPI_Request request = MPI_REQUEST_NULL;

    switch (m->mode) {
    case 0:
        check(MPI_Issend(bytes, m->length, MPI_BYTE, m->to, tag, world, &request), "Issend");
        break;
    case 1:
        check(MPI_Send_init(bytes, m->length, MPI_BYTE, m->to, tag, world, &request), "Send_init");
        check(MPI_Start(&request), "Start");
        break;
    default: check(MPI_Isend(bytes, m->length, MPI_BYTE, m->to, tag, world, &request), "Isend");
    }
    return request;
}

static void end_send(const struct message *m, MPI_Request *request) {
    check(MPI_Wait(request, MPI_STATUS_IGNORE), "Wait for a send");
    if (m->mode == 1) MPI_Request_free(request);
}

/* Posts the receives of a rank, in a random order if they are told from one another. */
static void post(uint64_t *state, struct message *plan, int count, int taking,
                 MPI_Request *requests, unsigned char **buffers, int most) {
    int order[MESSAGES_MAX], mine = 0;

    for (int i = 0; i < count; i++)
        if (plan[i].to == rank) order[mine++] = i;
    for (int i = mine - 1; taking != ANYTHING && i > 0; i--) {
        int j = below(state, i + 1), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    for (int i = 0; i < mine; i++) {
        int index = order[i];
        struct message *m = &plan[index];
        int source = taking == EXACT ? m->from : MPI_ANY_SOURCE;
        int tag = taking == ANYTHING ? MPI_ANY_TAG : index;
        if (taking == ANYTHING) m->room = most;
        buffers[index] = buffer(m->room);
        check(MPI_Irecv(buffers[index], m->room, MPI_BYTE, source, tag, world, &requests[index]),
              "Irecv");
    }
}

/* Ends the receives of a rank, as they come or one after the other. */
static void take(uint64_t *state, struct message *plan, int count, int taking,
                 MPI_Request *requests, unsigned char **buffers) {
    char seen[MESSAGES_MAX] = {0};
    int as_they_come = below(state, 2) && taking != ANYTHING;

    for (int left = 0; left < count; left++) {
        MPI_Status status;
        int index = left, code;
        if (as_they_come) {
            code = MPI_Waitany(count, requests, &index, &status);
            if (index == MPI_UNDEFINED) break;
        } else {
            if (requests[index] == MPI_REQUEST_NULL) continue;
            code = MPI_Wait(&requests[index], &status);
        }
        if (plan[index].room < plan[index].length && taking != ANYTHING) {
            int class = MPI_SUCCESS;
            MPI_Error_class(code, &class);
            if (class != MPI_ERR_TRUNCATE) {
                check(code, "a receive that is too short");
                stop(WRONG, "message %d of %d bytes fits into %d", index, plan[index].length,
                     plan[index].room);
            }
            compare(buffers[index], 0, plan[index].room, index, "a receive that is too short");
        } else {
            check(code, "Wait for a receive");
            check_taken(plan, count, taking, index, buffers[index], &status, seen);
        }
        drop(buffers[index]);
    }
}

/* Everybody sends messages to anybody, itself included. */
static void storm(uint64_t *state) {
    struct message plan[MESSAGES_MAX];
    MPI_Request sends[MESSAGES_MAX], receives[MESSAGES_MAX];
    unsigned char *out[MESSAGES_MAX], *in[MESSAGES_MAX];
    int count = 1 + below(state, MESSAGES_MAX), most = 0, hot = below(state, 2 * size);
    int takings[64], lates[64];

    for (int r = 0; r < size; r++) {
        takings[r] = below(state, 3);
        lates[r] = below(state, 3);
    }
    for (int i = 0; i < count; i++) {
        struct message *m = &plan[i];
        m->from = below(state, size);
        m->to = hot < size && below(state, 3) ? hot : below(state, size);
        m->length = length_of(state);
        m->mode = below(state, 5);
        m->room = m->length + (below(state, 3) ? 0 : below(state, 100));
        if (m->length > 0 && below(state, 25) == 0) m->room = below(state, m->length);
        if (m->length > most) most = m->length;
        sends[i] = receives[i] = MPI_REQUEST_NULL;
    }
    uint64_t own = *state + (uint64_t)rank;
    if (lates[rank] != 0) post(&own, plan, count, takings[rank], receives, in, most);
    for (int i = 0; i < count; i++) {
        if (plan[i].from != rank) continue;
        out[i] = buffer(plan[i].length);
        fill(out[i], plan[i].length, i);
        sends[i] = start_send(&plan[i], i, out[i]);
    }
    if (lates[rank] == 0) {
        linger(2e-5 * below(&own, 5));
        post(&own, plan, count, takings[rank], receives, in, most);
    }
    take(&own, plan, count, takings[rank], receives, in);
    for (int i = 0; i < count; i++) {
        if (plan[i].from != rank) continue;
        end_send(&plan[i], &sends[i]);
        compare(out[i], plan[i].length, plan[i].length, i, "what was sent");
        drop(out[i]);
    }
    /* Nobody's next message shall be taken for one of these. */
    check(MPI_Barrier(world), "Barrier");
}

/* A probed message, or one that is received by its handle. */
static void probed(uint64_t *state) {
    int to = below(state, size), length = length_of(state), way = below(state, 3);
    MPI_Request request = MPI_REQUEST_NULL;
    unsigned char *out = buffer(length);

    fill(out, length, rank);
    check(MPI_Isend(out, length, MPI_BYTE, to, 5, world, &request), "Isend");
    for (int i = 0; rank == to && i < size; i++) {
        MPI_Status status;
        MPI_Message message;
        int flag = 0, got;
        /* Who polls for ever is in no deadlock. */
        for (int turn = 0; way == 1 && !flag && turn < 1000; turn++)
            check(MPI_Iprobe(MPI_ANY_SOURCE, 5, world, &flag, &status), "Iprobe");
        if (way < 2 && !flag) check(MPI_Probe(MPI_ANY_SOURCE, 5, world, &status), "Probe");
        if (way == 2) check(MPI_Mprobe(MPI_ANY_SOURCE, 5, world, &message, &status), "Mprobe");
        MPI_Get_count(&status, MPI_BYTE, &got);
        if (got != length) stop(WRONG, "%d bytes were probed instead of %d", got, length);
        unsigned char *in = buffer(length);
        int source = status.MPI_SOURCE;
        if (way == 2)
            check(MPI_Mrecv(in, length, MPI_BYTE, &message, &status), "Mrecv");
        else
            check(MPI_Recv(in, length, MPI_BYTE, source, 5, world, &status), "Recv");
        if (status.MPI_SOURCE != source) stop(WRONG, "another than the one probed");
        compare(in, length, length, source, "a probed message");
        drop(in);
    }
    check(MPI_Wait(&request, MPI_STATUS_IGNORE), "Wait");
    drop(out);
    check(MPI_Barrier(world), "Barrier");
}

/* Around a ring, at once. */
static void ring(uint64_t *state) {
    int length = length_of(state), step = 1 + below(state, size);
    int to = (rank + step) % size, from = (rank + size * 2 - step) % size;
    unsigned char *bytes = buffer(length), *in = buffer(length);

    fill(bytes, length, rank);
    check(MPI_Sendrecv(bytes, length, MPI_BYTE, to, 1, in, length, MPI_BYTE, from, 1, world,
                       MPI_STATUS_IGNORE),
          "Sendrecv");
    compare(in, length, length, from, "Sendrecv");
    check(MPI_Sendrecv_replace(bytes, length, MPI_BYTE, to, 2, from, 2, world, MPI_STATUS_IGNORE),
          "Sendrecv_replace");
    compare(bytes, length, length, from, "Sendrecv_replace");
    drop(bytes);
    drop(in);
}

static void expect(long got, long want, const char *what) {
    if (got != want) stop(WRONG, "%s: %ld instead of %ld", what, got, want);
}

/* Sums of vectors, over a part of the ranks in another order, or all. */
static void sums(uint64_t *state) {
    int count = 1 + below(state, below(state, 4) ? 8 : 3000), colours = 1 + below(state, 3);
    int down = below(state, 2), ranks, me, members = 0, first = 0;
    long *mine = calloc((size_t)count, sizeof(long)), *all = calloc((size_t)count, sizeof(long));
    MPI_Comm part;

    check(MPI_Comm_split(world, rank % colours, down ? -rank : rank, &part), "Comm_split");
    MPI_Comm_size(part, &ranks);
    MPI_Comm_rank(part, &me);
    for (int r = rank % colours; r < size; r += colours) {
        members += r + 1;
        first += down ? r >= rank : r <= rank;
    }
    expect(me, first - 1, "rank in a part");
    for (int i = 0; i < count; i++) mine[i] = (rank + 1L) * (i + 1);
    check(MPI_Allreduce(mine, all, count, MPI_LONG, MPI_SUM, part), "Allreduce");
    for (int i = 0; i < count; i++) expect(all[i], (long)members * (i + 1), "Allreduce");
    memset(all, 0, (size_t)count * sizeof(long));
    int root = below(state, 1000) % ranks;
    check(MPI_Reduce(mine, all, count, MPI_LONG, MPI_MAX, root, part), "Reduce");
    long most = rank % colours + (size - 1 - rank % colours) / colours * colours + 1L;
    for (int i = 0; me == root && i < count; i++) expect(all[i], most * (i + 1), "Reduce");
    long one = me + 1, scan = 0;
    check(MPI_Scan(&one, &scan, 1, MPI_LONG, MPI_SUM, part), "Scan");
    expect(scan, (me + 1L) * (me + 2) / 2, "Scan");
    check(MPI_Comm_free(&part), "Comm_free");
    free(mine);
    free(all);
}

/* What one rank has goes to all, and what all have to one, or to all. */
static void spread(uint64_t *state) {
    int length = below(state, 6) ? below(state, 600) : length_of(state), root = below(state, size);
    unsigned char *all = buffer(length * size), *one = buffer(length), *in = buffer(length * size);

    fill(one, length, root);
    if (rank != root) memset(one, 0, (size_t)length);
    check(MPI_Bcast(one, length, MPI_BYTE, root, world), "Bcast");
    compare(one, length, length, root, "Bcast");
    fill(one, length, rank);
    check(MPI_Allgather(one, length, MPI_BYTE, all, length, MPI_BYTE, world), "Allgather");
    for (int r = 0; r < size; r++)
        for (int i = 0; i < length; i++)
            expect(all[r * length + i], byte_of(r, i), "Allgather");
    for (int r = 0; r < size; r++)
        for (int i = 0; i < length; i++) all[r * length + i] = byte_of(rank * size + r, i);
    check(MPI_Alltoall(all, length, MPI_BYTE, in, length, MPI_BYTE, world), "Alltoall");
    for (int r = 0; r < size; r++)
        for (int i = 0; i < length; i++)
            expect(in[r * length + i], byte_of(r * size + rank, i), "Alltoall");
    check(MPI_Scatter(all, length, MPI_BYTE, one, length, MPI_BYTE, root, world), "Scatter");
    compare(one, length, length, root * size + rank, "Scatter");
    check(MPI_Gather(one, length, MPI_BYTE, in, length, MPI_BYTE, root, world), "Gather");
    for (int r = 0; rank == root && r < size; r++)
        for (int i = 0; i < length; i++)
            expect(in[r * length + i], byte_of(root * size + r, i), "Gather");
    drop(all);
    drop(one);
    drop(in);
}

int main(int argc, char **argv) {
    uint64_t state = argc > 1 ? strtoull(argv[1], 0, 10) : 1;
    int rounds = 1 + below(&state, 5);

    if (argc > 2) rounds = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
#ifdef MPICH_VERSION
    /* It raises the error of a request that MPI_Waitany ends at another communicator. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#endif
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    for (round_number = 0; round_number < rounds; round_number++) {
        uint64_t plan = next(&state);
        switch (below(&state, 8)) {
        case 0: probed(&plan); break;
        case 1: ring(&plan); break;
        case 2: sums(&plan); break;
        case 3: spread(&plan); break;
        default: storm(&plan);
        }
        if (below(&state, 2)) check(MPI_Barrier(world), "Barrier");
    }
    check(MPI_Barrier(world), "Barrier");
    if (rank == 0) printf("%d rounds, all right\n", rounds);
    MPI_Comm_free(&world);
    MPI_Finalize();
    return 0;
}
