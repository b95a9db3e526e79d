/* Random programs over Directed Point, many to a boot. All nodes make the same plan from a seed: channels
 * between points of nodes. Each node then does with its ends what the seed says: packets of random lengths,
 * readers that are late, or have little room, or never read, channels that are closed and opened again,
 * points where nobody is, processes that share a channel, packets of kinds that no host wants. The program
 * checks each packet that it reads, and that those of a channel come in order; the judge (--judge) checks all
 * of them.
 *
 *     sunstar run --judge -n 3 -m amata tests/soak/dp.c FIRST COUNT [NODES] */
#include <dp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHANNELS = 6, ACTS = 16, POINTS = 4, NODES = 16 };

/* A seed's time, in ns: all begin together, and their packets have come before the next seed. */
#define TURN 10000000ull
#define REST 5000000ull

/* Of the card (abi/myrinet/memory.toml): its device, the send buffer and the words of the command. */
#define CARD "/dev/myrinet"
enum { SEND = 0x90000, COMMAND = 0x50004, LENGTH = 0x5000c };

static unsigned seed;
static int self, nodes;

static void fail(const char *what)
{
    printf("dp: seed %u, node %d: %s (%s)\n", seed, self, what, strerror(errno));
    exit(1);
}

static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static unsigned below(uint64_t *state, unsigned limit)
{
    return next(state) % limit;
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    struct timespec t = {.tv_sec = ns / 1000000000ull, .tv_nsec = ns % 1000000000ull};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

/* One end of a channel that is this node's. */
struct end {
    int local, node, point;
    int open;
    /* Packets written; the number behind the last one that was read. */
    unsigned written, read;
    int reads;
};

static struct end ends[2 * CHANNELS];
static int count;

/* The plan: the ends of channels that are of this node. No two channels have the same ends. */
static void plan(uint64_t *state)
{
    int used[CHANNELS][4], channels = 1 + below(state, CHANNELS);

    count = 0;
    for (int i = 0; i < channels; i++) {
        int a = below(state, nodes), b = below(state, nodes);
        int p = below(state, POINTS), q = below(state, POINTS), same = a == b && p == q;

        for (int j = 0; j < i; j++)
            same |= (used[j][0] == a && used[j][1] == p && used[j][2] == b && used[j][3] == q) ||
                    (used[j][0] == b && used[j][1] == q && used[j][2] == a && used[j][3] == p);
        used[i][0] = a, used[i][1] = p, used[i][2] = b, used[i][3] = q;
        if (same)
            continue;
        if (a == self)
            ends[count++] = (struct end){.local = p, .node = b, .point = q, .open = -1};
        if (b == self)
            ends[count++] = (struct end){.local = q, .node = a, .point = p, .open = -1};
    }
}

struct head {
    uint32_t seed, number;
    uint16_t from, local, to, point;
};

/* The byte of a packet behind its head. */
static unsigned char byte(const struct head *head, size_t at)
{
    return 31 * at + 7 * head->number + head->seed + head->local * 13 + (at >> 8);
}

static void write_one(struct end *end, unsigned length)
{
    unsigned char packet[DP_MAX];
    struct head head = {seed, end->written, self, end->local, end->node, end->point};

    for (size_t i = 0; i < length; i++)
        packet[i] = i < sizeof(head) ? ((unsigned char *)&head)[i] : byte(&head, i);
    if (dp_write(end->open, packet, length) != (ssize_t)length)
        fail("dp_write");
    end->written++;
}

/* Reads what is there, `most` packets at most, with that room. */
static void read_some(struct end *end, unsigned most, size_t room)
{
    while (most-- > 0) {
        unsigned char packet[DP_MAX];
        struct head head;
        ssize_t got = dp_read(end->open, packet, room);

        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0)
            fail("dp_read");
        if (got < (ssize_t)sizeof(head))
            continue;
        memcpy(&head, packet, sizeof(head));
        if (head.seed != seed || head.from != end->node || head.local != end->point ||
            head.to != self || head.point != end->local)
            fail("a packet of another channel");
        if (head.number < end->read)
            fail("a packet out of order");
        end->read = head.number + 1;
        for (ssize_t i = sizeof(head); i < got; i++)
            if (packet[i] != byte(&head, i))
                fail("a packet that was changed");
    }
}

static void open_end(struct end *end)
{
    if (end->open >= 0)
        return;
    end->open = dp_open(end->local, end->node, end->point);
    if (end->open < 0 || fcntl(end->open, F_SETFL, O_NONBLOCK))
        fail("dp_open");
}

static void close_end(struct end *end)
{
    if (end->open >= 0 && dp_close(end->open))
        fail("dp_close");
    end->open = -1;
}

/* A packet of a kind that no host wants, by the card's own device. */
static void strange(uint64_t *state)
{
    unsigned char packet[64] = {0x12, 0x34}, word[4];
    unsigned length = 16 + below(state, 48), to = below(state, nodes);
    int card = open(CARD, O_RDWR | O_CLOEXEC);

    packet[3] = to;
    packet[5] = self;
    memset(word, 0, sizeof(word));
    word[3] = length;
    if (card < 0 || pwrite(card, packet, 64, SEND) != 64 ||
        pwrite(card, word, 4, LENGTH) != 4)
        fail("the card's device");
    word[3] = 1;
    if (pwrite(card, word, 4, COMMAND) != 4)
        fail("the card's device");
    do
        if (pread(card, word, 4, COMMAND) != 4)
            fail("the card's device");
    while (word[3]);
    close(card);
}

/* Nothing, and more than a packet has, is refused. */
static void refused(struct end *end, uint64_t *state)
{
    static unsigned char packet[2 * DP_MAX];
    size_t length = below(state, 4) ? DP_MAX + 1 + below(state, DP_MAX) : 0;

    if (dp_write(end->open, packet, length) != -1 || errno != EMSGSIZE)
        fail("a packet of such a length is sent");
}

/* Another process reads. */
static void elsewhere(struct end *end)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        read_some(end, 2, DP_MAX);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        fail("another process");
    /* What it has read is not known here. */
    end->reads = 0;
}

static unsigned length_of(uint64_t *state)
{
    static const unsigned edges[] = {1, 2, 3, 4, 8, 9, 16, 17, 63, 64, 65, 1023, 1024, 1499, 1500};

    return below(state, 2) ? edges[below(state, 15)] : 1 + below(state, DP_MAX);
}

static void act(struct end *end, uint64_t *state)
{
    unsigned what = below(state, 16), burst;

    switch (what) {
    case 0:
        close_end(end);
        break;
    case 1:
        usleep(below(state, 200));
        break;
    case 2:
        strange(state);
        break;
    case 3:
        open_end(end);
        if (end->reads)
            read_some(end, 4, 1 + below(state, 64));
        break;
    case 4:
        open_end(end);
        if (below(state, 8) == 0 && end->reads)
            elsewhere(end);
        else
            refused(end, state);
        break;
    case 5:
    case 6:
    case 7:
    case 8:
        open_end(end);
        if (end->reads)
            read_some(end, 4, DP_MAX);
        break;
    default:
        open_end(end);
        burst = below(state, 12) == 0 ? 40 : 1 + below(state, 3);
        while (burst-- > 0)
            write_one(end, length_of(state));
    }
}

static void run(uint64_t begin)
{
    uint64_t common = seed * 0x2545f4914f6cdd1dull, own;

    plan(&common);
    own = common ^ (uint64_t)self << 56;
    for (int i = 0; i < count; i++) {
        ends[i].reads = below(&own, 8) != 0;
        if (below(&own, 8) != 0)
            open_end(&ends[i]);
    }
    sleep_until(begin);
    for (int i = below(&own, ACTS); i > 0 && count > 0 && now() < begin + TURN - REST; i--)
        act(&ends[below(&own, count)], &own);
    /* Some are closed with packets that nobody has read; the others are read to the end. */
    sleep_until(begin + TURN - REST / 2);
    for (int i = 0; i < count; i++) {
        if (ends[i].open >= 0 && ends[i].reads)
            read_some(&ends[i], 64, DP_MAX);
        close_end(&ends[i]);
    }
}

int main(int argc, char **argv)
{
    unsigned first = argc > 1 ? atoi(argv[1]) : 1, seeds = argc > 2 ? atoi(argv[2]) : 1;
    uint64_t begin = now() / TURN * TURN + 2 * TURN;

    nodes = argc > 3 ? atoi(argv[3]) : 3;
    self = dp_node();
    if (self < 0 || nodes > NODES)
        fail("dp_node");
    for (seed = first; seed < first + seeds; seed++, begin += TURN)
        run(begin);
    sleep_until(begin);
    printf("node %d has run %u seeds\n", self, seeds);
    return 0;
}
