/* Random messages over the bypass library: each of a pair of ports comes once, in order, with its bytes,
 * whatever cables lose.
 *
 *     random [messages of each node] [seed]
 *
 * Each node has two ports and sends from both to random ports of all others, with pauses, late places and
 * messages of no byte up to BP_MESSAGE. A message has its number among those of its pair in its first word,
 * and its bytes follow from pair and number. Who has sent all says so to everybody, and ends when everybody
 * has. */
#include <bypass.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORTS = 2, NODES_MAX = 16, PLACES = 12, BUFFERS = 8, HEADER = 8 };
static const long long PATIENCE = 2000000000;

static struct bp_port *ports[PORTS];
static int nodes, node;
static uint64_t state;

/* Of each own port: buffers that are free, and messages of each pair that were sent, or have come. */
static unsigned char *buffers[PORTS][BUFFERS];
static int is_free[PORTS][BUFFERS];
static uint32_t sent[PORTS][NODES_MAX][PORTS], come[PORTS][NODES_MAX][PORTS];
static int outstanding[PORTS], oldest[PORTS], order[PORTS][BP_SENDS];
/* Places that are not given back at once. */
static void *kept[PORTS][PLACES];
static int kept_count[PORTS];
static int over; /* ends that have come */

static void fail(const char *what)
{
    printf("node %d: wrong: %s\n", node, what);
    exit(1);
}

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static unsigned char byte_of(int from, int from_port, int to, int to_port, uint32_t number,
                             size_t at)
{
    uint32_t of_pair = (uint32_t)(from * 7 + from_port * 3 + to * 11 + to_port * 5);

    return (unsigned char)(of_pair + number * 13 + at * 29 + (at >> 8));
}

/* A message of HEADER bytes or more has its number; the end of a node's messages has all ones. */
static void put_number(unsigned char *data, uint32_t number, uint32_t is_end)
{
    memcpy(data, &number, 4);
    memcpy(data + 4, &is_end, 4);
}

static void look_at_message(int own, const struct bp_event *event)
{
    uint32_t number, is_end, *expected = &come[own][event->node][event->port];
    const unsigned char *data = event->data;

    if (event->node < 0 || event->node >= nodes || event->node == node || event->port >= PORTS)
        fail("a message from nowhere");
    if (event->bytes < HEADER)
        fail("a message without a number");
    memcpy(&number, data, 4);
    memcpy(&is_end, data + 4, 4);
    if (number != *expected) {
        printf("node %d: message %u of node %d's port %d comes, and %u was to come\n", node, number,
               event->node, event->port, *expected);
        exit(1);
    }
    ++*expected;
    over += is_end != 0;
    for (size_t at = HEADER; at < event->bytes; at++)
        if (data[at] != byte_of(event->node, event->port, node, own, number, at))
            fail("a byte");
}

static int take(int own, long long ns)
{
    struct bp_event event;

    if (!bp_wait(ports[own], &event, ns))
        return 0;
    if (event.kind == BP_SENT) {
        if (event.error) {
            printf("node %d: a message to node %d: %s\n", node, event.node, strerror(event.error));
            exit(1);
        }
        is_free[own][order[own][oldest[own]]] = 1;
        oldest[own] = (oldest[own] + 1) % BP_SENDS;
        outstanding[own]--;
        return 1;
    }
    look_at_message(own, &event);
    /* Some places are given back later, so that messages must wait for one. */
    kept[own][kept_count[own]++] = event.data;
    if (kept_count[own] == PLACES || draw(2) == 0)
        while (kept_count[own] > 0)
            if (bp_provide(ports[own], kept[own][--kept_count[own]]))
                fail("bp_provide");
    return 1;
}

static void send_one(int own, int to, int to_port, size_t bytes, int is_end)
{
    uint32_t number = sent[own][to][to_port]++;
    long long waited = 0;
    int buffer;

    for (;;) {
        for (buffer = 0; buffer < BUFFERS && !is_free[own][buffer]; buffer++)
            ;
        if (buffer < BUFFERS)
            break;
        for (int each = 0; each < PORTS; each++)
            if (!take(each, 2000))
                waited += 2000;
        if (waited > PATIENCE)
            fail("a message is never over");
    }
    put_number(buffers[own][buffer], number, is_end);
    for (size_t at = HEADER; at < bytes; at++)
        buffers[own][buffer][at] = byte_of(node, own, to, to_port, number, at);
    if (bp_send(ports[own], to, to_port, buffers[own][buffer], bytes))
        fail("bp_send");
    is_free[own][buffer] = 0;
    order[own][(oldest[own] + outstanding[own]++) % BP_SENDS] = buffer;
}

static size_t a_size(void)
{
    switch (draw(4)) {
    case 0:
        return HEADER;
    case 1:
        return HEADER + draw(60);
    case 2:
        return BP_MESSAGE - draw(3);
    default:
        return HEADER + draw(BP_MESSAGE - HEADER);
    }
}

int main(int count, char **arguments)
{
    int messages = count > 1 ? atoi(arguments[1]) : 40;
    const char *of = getenv("PMI_SIZE");
    long long waited = 0;

    nodes = of ? atoi(of) : count > 3 ? atoi(arguments[3]) : 2;
    for (int own = 0; own < PORTS; own++) {
        ports[own] = bp_open(own, (PLACES + BUFFERS + 2) * BP_MESSAGE);
        if (ports[own] == NULL) {
            perror("bp_open");
            return 1;
        }
        for (int i = 0; i < PLACES; i++)
            if (bp_provide(ports[own], bp_alloc(ports[own], BP_MESSAGE)))
                fail("bp_provide");
        for (int i = 0; i < BUFFERS; i++) {
            buffers[own][i] = bp_alloc(ports[own], BP_MESSAGE);
            is_free[own][i] = buffers[own][i] != NULL;
        }
    }
    node = bp_node(ports[0]);
    state = (count > 2 ? strtoull(arguments[2], NULL, 0) : 1) * 1000003 + (uint64_t)node;
    for (int i = 0; i < messages; i++) {
        int to = (node + 1 + (int)draw((uint32_t)nodes - 1)) % nodes;

        send_one((int)draw(PORTS), to, (int)draw(PORTS), a_size(), 0);
        if (draw(8) == 0)
            take((int)draw(PORTS), draw(100000));
    }
    for (int to = 0; to < nodes; to++)
        if (to != node)
            send_one(0, to, 0, HEADER, 1);
    while (over < nodes - 1 || outstanding[0] > 0 || outstanding[1] > 0)
        for (int own = 0; own < PORTS; own++)
            if (!take(own, 5000) && (waited += 5000) > PATIENCE)
                fail("the others' ends do not come");
    /* Answers to the last messages of others may be lost: they ask again. */
    for (int i = 0; i < 40; i++)
        while (take(0, 250000) || take(1, 250000))
            ;
    printf("node %d is content\n", node);
    return 0;
}
