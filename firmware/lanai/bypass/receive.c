#include "receive.h"

#include "wire.h"

#define HEADER_BYTES ((uint32_t)sizeof(struct my_bypass_header))
#define DAMAGED (MY_ISR_LINK0 | MY_ISR_LINK1 | MY_ISR_LINK2)
#define NONE 2u
/* A longer one than may be is noticed by its length. */
#define LONGEST (HEADER_BYTES + MY_BYPASS_MESSAGE + 64)

static uint32_t current; /* Buffer of the packet that comes, or has come. */
static uint32_t held;    /* Buffer of a message that goes to the host, or NONE. */
static enum { CLOSED, LISTENING, ARRIVED } state;
static uint32_t arrived_isr, arrived_length;
/* The message in `held`. */
static struct news news;
static struct port *to;
static int on_its_way;

static uint32_t buffer(uint32_t number)
{
    return MY_REGION_RECEIVE_BASE + (number << 15);
}

static void let_in(void)
{
    state = LISTENING;
    reg_set(MY_REGISTER_RMP, buffer(current));
    reg_set(MY_REGISTER_RML, buffer(current) + LONGEST);
}

void receive_start(void)
{
    current = 0;
    held = NONE;
    on_its_way = 0;
    let_in();
}

/* All messages of a port to a node that come before `sequence` have been taken. */
static void taken(struct port *port, uint32_t node, uint32_t epoch, uint32_t sequence)
{
    for (uint32_t number = port->told; number != port->taken; number++) {
        struct message *message = message_of(port, number);

        if (message->over || message->target != node || message->epoch != epoch)
            continue;
        if ((int16_t)(message->sequence - sequence) < 0) {
            message->over = 1;
            message->status = MY_BYPASS_STATUS_DONE;
            port->tries = 0;
        }
    }
}

static void nobody(struct port *port, uint32_t node, uint32_t epoch)
{
    for (uint32_t number = port->told; number != port->taken; number++) {
        struct message *message = message_of(port, number);

        if (!message->over && message->target == node && message->epoch == epoch)
            message->status = MY_BYPASS_STATUS_NO_PORT;
    }
}

static void take_answer(uint32_t at, uint32_t kind, uint32_t node)
{
    uint32_t number = mem_byte(FIELD(at, bypass_header, target_port));
    uint32_t epoch = mem_half(FIELD(at, bypass_header, epoch));
    struct port *port = &ports[number];

    if (number >= MY_BYPASS_PORTS || !port->open)
        return;
    if (kind == MY_PACKET_TYPE_BYPASS_TAKEN)
        taken(port, node, epoch, mem_half(FIELD(at, bypass_header, sequence)));
    else if (kind == MY_PACKET_TYPE_BYPASS_WAIT)
        port->tries = 0;
    else
        nobody(port, node, epoch);
}

/* Takes a message if it is its turn and it has a place, and answers. */
static void take_message(uint32_t at, uint32_t node, uint32_t length)
{
    uint32_t number = mem_byte(FIELD(at, bypass_header, target_port));
    uint32_t source = mem_byte(FIELD(at, bypass_header, source_port)) & (MY_BYPASS_PORTS - 1);
    uint32_t peer = mem_get(FIELD(at, bypass_header, epoch));
    uint32_t expected = mem_get(receiver_at(node, source));
    struct answer answer = {
        .node = (uint16_t)node,
        .port = (uint8_t)source,
        .own = (uint8_t)number,
        .epoch = (uint16_t)(peer >> 16),
    };

    if ((expected ^ peer) >> 16)
        expected = peer & 0xffff0000;
    answer.kind = MY_PACKET_TYPE_BYPASS_TAKEN;
    if (peer != expected) {
        mem_count(CONTROL(repeated));
    } else if (number >= MY_BYPASS_PORTS || !ports[number].open) {
        answer.kind = MY_PACKET_TYPE_BYPASS_NOBODY;
        mem_count(CONTROL(no_port));
    } else if (!port_place(&ports[number], &news.offset)) {
        answer.kind = MY_PACKET_TYPE_BYPASS_WAIT;
        mem_count(CONTROL(no_place));
    } else {
        expected = (peer & 0xffff0000) | ((peer + 1) & 0xffff);
        mem_count(CONTROL(received));
        news.kind = MY_BYPASS_EVENT_KIND_RECEIVED;
        news.status = MY_BYPASS_STATUS_DONE;
        news.node = node;
        news.port = source;
        news.length = length;
        to = &ports[number];
        held = current;
    }
    mem_set(receiver_at(node, source), expected);
    answer.sequence = (uint16_t)expected;
    wire_answer(&answer);
}

static void look_at_packet(void)
{
    uint32_t at = buffer(current), kind, node, length;

    if ((arrived_isr & (DAMAGED | MY_ISR_BUFF)) || arrived_length < HEADER_BYTES) {
        mem_count(CONTROL(damaged));
        return;
    }
    kind = mem_half(FIELD(at, bypass_header, kind));
    node = mem_half(FIELD(at, bypass_header, source));
    length = mem_get(FIELD(at, bypass_header, length));
    if (kind < MY_PACKET_TYPE_BYPASS || kind > MY_PACKET_TYPE_BYPASS_NOBODY
        || node >= MY_BYPASS_NODES
        || mem_half(FIELD(at, bypass_header, target)) != mem_get(CONTROL(node)))
        mem_count(CONTROL(other));
    else if (length != arrived_length - HEADER_BYTES)
        mem_count(CONTROL(damaged));
    else if (kind == MY_PACKET_TYPE_BYPASS)
        take_message(at, node, length);
    else
        take_answer(at, kind, node);
}

void receive_step(uint32_t isr)
{
    if (state == LISTENING && (isr & MY_ISR_RECV)) {
        arrived_isr = isr;
        arrived_length = reg_get(MY_REGISTER_RMW) - buffer(current);
        reg_set(MY_REGISTER_ISR, isr & (MY_ISR_RECV | MY_ISR_BUFF | DAMAGED));
        state = ARRIVED;
    }
    /* A message that has come waits until the one before it is in the host. */
    if (state == ARRIVED && held == NONE) {
        look_at_packet();
        state = CLOSED;
    }
    if (state == CLOSED) {
        if (held == current)
            current ^= 1;
        let_in();
    }
    if (held != NONE && !on_its_way && dma_use() == DMA_FREE) {
        on_its_way = 1;
        if (to->open)
            dma_deliver(to, buffer(held) + HEADER_BYTES, &news);
        else
            receive_delivered();
    }
}

void receive_delivered(void)
{
    held = NONE;
    on_its_way = 0;
}
