/* Random traffic in both directions by seed: whatever the interleaving of host, engines and
 * firmware, no message is lost, duplicated or mixed up, and in the end every pool is whole. */
#include <stdio.h>
#include <string.h>

#include "niccb.h"
#include "sim.h"
#include "tests.h"

enum { PENDINGS = 200, TX_LIMIT = 90, PEERS = 40, STREAMS_MAX = 60 };

/* What the host knows of a receive pending. */
enum host_state { FREE, ANNOUNCED, COMMANDED, RELEASING };

static uint64_t random_state;
static uint8_t tx_busy[TX_LIMIT];
static uint32_t tx_length[TX_LIMIT];
static uint32_t tx_peer[TX_LIMIT];
static enum host_state rx_state[PENDINGS];
static uint32_t rx_busy;              /* Receive pendings in use, or being given back. */
static uint32_t arrived[STREAMS_MAX]; /* Serials of messages that the host has not seen. */
static uint32_t arrived_count;
static uint32_t sent, completed, announced, received;

static uint32_t random_below(uint32_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 32) % bound);
}

static void host_sends(void)
{
    uint32_t lower = random_below(TX_LIMIT);

    if (tx_busy[lower] || !sim_command_room(GENERIC))
        return;
    tx_busy[lower] = 1;
    tx_peer[lower] = random_below(PEERS);
    ++sent;
    if (random_below(4) == 0) {
        uint32_t count = 1 + random_below(8), first = lower * 8;

        tx_length[lower] = 0;
        for (uint32_t i = 0; i < count; i++) {
            devices.dma_list[first + i].length = 1 + random_below(5000);
            tx_length[lower] += devices.dma_list[first + i].length;
        }
        sim_tx_list(lower, tx_peer[lower], tx_length[lower], first, count);
        return;
    }
    tx_length[lower] = random_below(3) ? random_below(100000) : 0;
    sim_tx(GENERIC, lower, tx_peer[lower], HOST_PHYS, tx_length[lower]);
}

static void message_arrives(void)
{
    uint32_t in_line = random_below(2);
    uint32_t length = in_line ? random_below(13) : random_below(100000);
    uint32_t payload = in_line ? 0 : length;
    struct ss_portals_header header;

    /* A RELEASE may still be in the mailbox. */
    if (rx_busy + arrived_count >= PENDINGS - TX_LIMIT - SS_COMMAND_COUNT)
        return;
    if (niccb.cam_in_use + arrived_count >= STREAMS_MAX)
        return;
    header = sim_header(SS_PORTALS_OP_PUT, in_line ? SS_HEADER_FLAG_INLINE : 0,
                        random_below(PEERS), 1, length);
    arrived[arrived_count++] = header.serial;
    sim_arrive(&header, payload);
}

static void host_sees_message(uint32_t lower, enum host_state next)
{
    const struct ss_portals_header *header = sim_upper(GENERIC, lower);

    CHECK(lower >= TX_LIMIT && lower < PENDINGS && rx_state[lower] == FREE);
    /* In the order of arrival, each once. */
    CHECK(arrived_count > 0 && header->serial == arrived[0]);
    memmove(&arrived[0], &arrived[1], --arrived_count * sizeof(arrived[0]));
    rx_state[lower] = next;
    ++rx_busy;
    ++announced;
}

static void host_takes_event(void)
{
    uint32_t event = sim_event(GENERIC);
    uint32_t lower = event & 0xFFFF;

    switch (event >> 16) {
    case 0:
        return;
    case SS_EVENT_TYPE_TX_COMPLETE:
        CHECK(lower < TX_LIMIT && tx_busy[lower]);
        tx_busy[lower] = 0;
        ++completed;
        return;
    case SS_EVENT_TYPE_RX_HEADER:
        host_sees_message(lower, ANNOUNCED);
        return;
    case SS_EVENT_TYPE_RX_INLINE:
        CHECK(OPT_INLINE);
        host_sees_message(lower, RELEASING);
        ++received;
        return;
    case SS_EVENT_TYPE_RX_COMPLETE:
        CHECK(rx_state[lower] == COMMANDED);
        rx_state[lower] = RELEASING;
        ++received;
        return;
    default:
        CHECK(!"event");
    }
}

/* Answers some message: RX command, or RELEASE. */
static void host_answers(void)
{
    uint32_t lower = TX_LIMIT + random_below(PENDINGS - TX_LIMIT);
    const struct ss_portals_header *header = sim_upper(GENERIC, lower);
    uint32_t payload = header->flags & SS_HEADER_FLAG_INLINE ? 0 : header->length;

    if (!sim_command_room(GENERIC))
        return;
    if (rx_state[lower] == ANNOUNCED) {
        sim_rx(GENERIC, lower, 0x1000, random_below(2) ? payload : random_below(payload + 1));
        rx_state[lower] = COMMANDED;
    } else if (rx_state[lower] == RELEASING) {
        sim_release(GENERIC, lower);
        rx_state[lower] = FREE;
        --rx_busy;
    }
}

static void engines_work(void)
{
    for (unsigned left = sim_tx_step(random_below(6)); left-- > 0;) {
        const struct sim_sent *message = sim_sent(left);

        CHECK(message->tag < TX_LIMIT && tx_busy[message->tag]);
        CHECK(message->total == tx_length[message->tag]);
        CHECK(message->peer == tx_peer[message->tag]);
    }
    sim_rx_step(random_below(6));
    for (unsigned i = 0; i < 4; i++)
        sim_rx_finish(random_below(STREAMS_MAX));
}

static void random_step(int new_work)
{
    switch (random_below(8)) {
    case 0:
        if (new_work)
            host_sends();
        break;
    case 1:
        if (new_work)
            message_arrives();
        break;
    case 2:
        host_takes_event();
        break;
    case 3:
    case 4:
        host_answers();
        break;
    case 5:
        engines_work();
        break;
    default:
        sim_turns(1);
        break;
    }
}

static void soak(void)
{
    printf("soak: SEED=%llu ROUNDS=%u\n", (unsigned long long)soak_seed, soak_rounds);
    random_state = soak_seed * 0x9E3779B97F4A7C15ull + 1;
    memset(tx_busy, 0, sizeof(tx_busy));
    memset(rx_state, 0, sizeof(rx_state));
    rx_busy = arrived_count = sent = completed = announced = received = 0;

    sim_boot(PENDINGS, TX_LIMIT, 1024);
    for (uint32_t i = 0; i < soak_rounds; i++)
        random_step(1);
    for (uint32_t i = 0; rx_busy || arrived_count || completed < sent; i++) {
        CHECK(i < 10000000);
        random_step(0);
    }
    for (unsigned i = 0; i < 100; i++) {
        sim_turns(1);
        sim_rx_step(64);
        sim_rx_finish_all();
    }
    CHECK(sent == completed && announced == received && sent > 0 && received > 0);
    CHECK(niccb.tx_complete == sent && niccb.rx_message == announced);
    CHECK(niccb.rx_complete == received);
    sim_check_idle();
}

const struct test tests_soak[] = {
    {"soak: nothing is lost, duplicated or mixed up", soak},
    {0, 0},
};
