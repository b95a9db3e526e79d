/* The engines, the network and the hosts of two cores. */
#include <string.h>

#include "pair.h"

static void notify(uint32_t word)
{
    devices.rx_done[devices.rx_done_tail] = word;
    devices.rx_done_tail = (devices.rx_done_tail + 1) % SS_DONE_FIFO_DEPTH;
    CHECK(devices.rx_done_tail != devices.rx_done_head, "notification FIFO is full");
}

void command(uint32_t mailbox, const void *bytes)
{
    uint32_t tail = mailboxes[mailbox].command_write;
    uint32_t size = mailbox == USER ? SS_SLOT_SIZE : SS_COMMAND_SIZE;
    uint32_t count = mailbox == USER ? SS_SLOT_COUNT : SS_COMMAND_COUNT;
    int whole = mailbox == USER && *(const uint8_t *)bytes == SS_COMMAND_OP_TX;

    memcpy((void *)&mailboxes[mailbox].commands[tail * size], bytes,
           whole ? SS_SLOT_SIZE : SS_COMMAND_SIZE);
    mailboxes[mailbox].command_write = (tail + 1) % count;
}

static struct ss_portals_header *upper(uint32_t index)
{
    return (struct ss_portals_header *)&devices.host[PROCESS_STRIDE + index * 128];
}

/* What a turn has left in the engines' FIFOs goes on its way. */
static void engines(unsigned core)
{
    struct around *peer = &around[!core];

    while (devices.tx_head != devices.tx_tail) {
        const struct ss_dma_command *c = &devices.tx_fifo[devices.tx_head];
        struct message *m = &peer->coming[peer->coming_count++];
        const void *from = &devices.host[((uint64_t)c->addr_hi << 32 | c->addr_lo) - HOST_PHYS];

        CHECK(peer->coming_count < QUEUE, "more messages on their way than there are");
        CHECK((c->flags & SS_DMA_FLAG_LAST) && c->peer == !core, "a header is all");
        if (c->op == SS_DMA_OP_LOCAL_HEADER)
            from = devices_local_header(c->addr_lo);
        CHECK(from, "a header from nowhere");
        memcpy(&m->header, from, sizeof(m->header));
        m->number = (uint16_t)c->length;
        m->resumed = (c->flags & SS_DMA_FLAG_RESUMED) != 0;
        devices.tx_done[devices.tx_done_tail] = SS_DONE_COMPLETE | c->tag;
        devices.tx_done_tail = (devices.tx_done_tail + 1) % SS_DONE_FIFO_DEPTH;
        devices.tx_head = (devices.tx_head + 1) % SS_DMA_FIFO_DEPTH;
    }
    while (devices.control_head != devices.control_tail) {
        CHECK(peer->control_count < QUEUE, "more control packets than messages");
        peer->control[peer->control_count++] = devices.control_fifo[devices.control_head];
        devices.control_head = (devices.control_head + 1) % SS_DMA_FIFO_DEPTH;
    }
}

void host_sends(unsigned core)
{
    struct around *a = &around[core];

    for (uint32_t i = 0; i < world.transmits && a->sent < world.messages[core]; i++) {
        struct ss_transmit_slot tx = {.op = SS_COMMAND_OP_TX, .process_index = USER,
                                      .pending = (uint16_t)i};
        struct ss_portals_header header = {
            .op = SS_PORTALS_OP_PUT, .flags = SS_HEADER_FLAG_INLINE, .source_nid = (uint16_t)core,
            .source_pid = PID, .target_nid = !core, .target_pid = PID, .match_bits = 7};

        if (a->flying[i])
            continue;
        if (world.acks)
            header.flags |= SS_HEADER_FLAG_ACK_REQUESTED;
        header.serial = a->flying[i] = ++a->sent;
        memcpy(upper(i), &header, sizeof(header));
        memcpy(tx.header, &header, sizeof(header));
        command(USER, &tx);
    }
}

/* The library sees events at once, and tells of those of messages whenever it likes. */
static void host_sees(unsigned core)
{
    struct around *a = &around[core];

    for (;;) {
        uint8_t *slot = &devices.host[PROCESS_STRIDE + EVENTS + a->event * 64];
        struct ss_event_line line;
        uint32_t index;

        memcpy(&line, slot, sizeof(line));
        if (!line.word)
            break;
        memset(slot, 0, sizeof(line));
        a->event = (a->event + 1) % LINES;
        index = line.word & 0xFFFF;
        switch (line.word >> 16) {
        case SS_EVENT_TYPE_TX_COMPLETE:
            CHECK(a->flying[index], "a message ends that was not sent");
            CHECK(a->flying[index] <= around[!core].got, "a message ends that was not taken");
            a->flying[index] = 0;
            ++a->ended;
            break;
        case SS_EVENT_TYPE_RX_INLINE:
            if (line.op == SS_PORTALS_OP_PUT)
                CHECK(line.serial == ++a->got, "a message comes twice or out of turn");
            else
                CHECK((line.serial & 0xFFF) == ++a->acked, "an answer is out of turn");
            ++a->held;
            break;
        default:
            fail("an event that nothing calls for");
        }
    }
    host_sends(core);
}

static void arrive(unsigned core)
{
    struct around *a = &around[core];
    struct message m = a->coming[0];
    uint32_t resumed = m.resumed ? SS_DONE_RESUMED : 0;
    uint32_t stream = 0;

    --a->coming_count;
    memmove(&a->coming[0], &a->coming[1], a->coming_count * sizeof(m));
    memset(&a->coming[a->coming_count], 0, sizeof(m));
    while (stream < world.streams && a->busy[stream])
        ++stream;
    if (stream == world.streams) {
        notify(SS_DONE_CAM_OVERFLOW | (uint32_t)!core);
        notify(SS_DONE_OVERFLOW_ROUTING | m.number | resumed);
        return;
    }
    a->busy[stream] = 1;
    memcpy((void *)rx_headers[stream], &m.header, sizeof(m.header));
    notify(SS_DONE_NEW_MESSAGE | stream | (m.number & 0xFFu) << 8 |
           (uint32_t)(m.number >> 8) << 23 | resumed);
}

static void control(unsigned core)
{
    struct around *a = &around[core];
    struct ss_control_packet packet = a->control[0];

    if ((a->slot + 1) % SS_CONTROL_SLOTS == devices.slot_head)
        return;
    --a->control_count;
    memmove(&a->control[0], &a->control[1], a->control_count * sizeof(packet));
    memset(&a->control[a->control_count], 0, sizeof(packet));
    packet.peer = !core;
    memcpy((void *)&control_slots[a->slot], &packet, sizeof(packet));
    notify(SS_DONE_CONTROL | a->slot);
    a->slot = (a->slot + 1) % SS_CONTROL_SLOTS;
}

static void end_streams(unsigned core)
{
    struct around *a = &around[core];

    while (devices.rx_head != devices.rx_tail) {
        const struct ss_dma_command *c = &devices.rx_fifo[devices.rx_head];

        CHECK(a->busy[c->peer] && (c->flags & SS_DMA_FLAG_LAST), "a stream ends without use");
        a->busy[c->peer] = 0;
        notify(SS_DONE_COMPLETE | c->tag);
        devices.rx_head = (devices.rx_head + 1) % SS_DMA_FIFO_DEPTH;
    }
}

static void release(unsigned core)
{
    struct around *a = &around[core];
    struct ss_credit_command give = {.op = SS_COMMAND_OP_CREDIT, .process_index = USER, .count = 1};

    --a->held;
    command(USER, &give);
}

static void turn(unsigned core)
{
    mainloop_turn();
    engines(core);
    host_sees(core);
}

int act(unsigned core, int action)
{
    struct around *a = &around[core];

    switch (action) {
    case ARRIVE:
        if (!a->coming_count)
            return 0;
        arrive(core);
        break;
    case CONTROL:
        if (!a->control_count)
            return 0;
        control(core);
        break;
    case STREAMS:
        if (devices.rx_head == devices.rx_tail)
            return 0;
        end_streams(core);
        break;
    case RELEASE:
        if (!a->held)
            return 0;
        release(core);
        break;
    default:
        turn(core);
        return 1;
    }
    if (world.prompt)
        turn(core);
    if (world.prompt && world.streams > 1 && devices.rx_head != devices.rx_tail) {
        end_streams(core);
        turn(core);
    }
    return 1;
}
