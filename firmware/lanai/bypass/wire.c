#include "wire.h"

#define HEADER_BYTES ((uint32_t)sizeof(struct my_bypass_header))
#define ANSWERS 16u
/* Room for a route in front of a header. */
#define ROUTE_ROOM 8u
#define ANSWER (MY_REGION_SEND_BASE + 0xf000 + ROUTE_ROOM)

/* A message's buffer. */
enum fill { EMPTY, AWAITED, FULL };

static struct answer answers[ANSWERS];
static uint32_t asked, answered; /* answers, all told */
static enum fill fills[2];
static uint32_t lengths[2];
static uint32_t filling, sending; /* buffers */
static enum { NOTHING, AN_ANSWER, A_MESSAGE } on_wire;

static uint32_t buffer(uint32_t number)
{
    return MY_REGION_SEND_BASE + (number << 13) + ROUTE_ROOM;
}

void wire_start(void)
{
    asked = answered = filling = sending = 0;
    fills[0] = fills[1] = EMPTY;
    on_wire = NOTHING;
}

static void put_header(uint32_t at, const struct answer *is, uint32_t length)
{
    mem_set(at, (uint32_t)is->kind << 16 | is->node);
    mem_put_half(FIELD(at, bypass_header, source), mem_get(CONTROL(node)));
    mem_put_byte(FIELD(at, bypass_header, target_port), is->port);
    mem_put_byte(FIELD(at, bypass_header, source_port), is->own);
    mem_set(FIELD(at, bypass_header, epoch), (uint32_t)is->epoch << 16 | is->sequence);
    mem_set(FIELD(at, bypass_header, length), length);
}

/* Sends a packet, whose route ends where its header begins. */
static void send(uint32_t at, uint32_t length)
{
    uint32_t route = route_of(mem_half(FIELD(at, bypass_header, target))), hops = 0;

    while (hops < MY_ROUTE_SIZE && (mem_byte(route + hops) & 0x80))
        hops++;
    for (uint32_t hop = 0; hop < hops; hop++)
        mem_put_byte(at - hops + hop, mem_byte(route + hop));
    reg_set(MY_REGISTER_SMP, at - hops);
    reg_set(MY_REGISTER_SMH, at);
    reg_set(MY_REGISTER_SMLT, at + HEADER_BYTES + length);
}

void wire_answer(const struct answer *answer)
{
    /* A node to which there is no route back gets none. */
    if (asked - answered >= ANSWERS || mem_byte(route_of(answer->node)) == 0)
        return;
    answers[asked & (ANSWERS - 1)] = *answer;
    asked++;
}

uint32_t wire_buffer(void)
{
    return fills[filling] == EMPTY ? buffer(filling) + HEADER_BYTES : 0;
}

void wire_fill(uint32_t port, const struct message *message)
{
    struct answer is = {
        .kind = MY_PACKET_TYPE_BYPASS,
        .node = message->target,
        .port = message->port,
        .own = (uint8_t)port,
        .epoch = message->epoch,
        .sequence = message->sequence,
    };

    put_header(buffer(filling), &is, message->length);
    lengths[filling] = message->length;
    fills[filling] = message->length > 0 ? AWAITED : FULL;
    filling ^= 1;
}

void wire_filled(void)
{
    fills[filling ^ 1] = FULL;
}

void wire_sent(void)
{
    reg_set(MY_REGISTER_ISR, MY_ISR_SEND);
    if (on_wire == A_MESSAGE) {
        fills[sending] = EMPTY;
        sending ^= 1;
    }
    on_wire = NOTHING;
}

void wire_step(void)
{
    if (on_wire != NOTHING)
        return;
    if (asked != answered) {
        put_header(ANSWER, &answers[answered & (ANSWERS - 1)], 0);
        answered++;
        on_wire = AN_ANSWER;
        send(ANSWER, 0);
    } else if (fills[sending] == FULL) {
        on_wire = A_MESSAGE;
        send(buffer(sending), lengths[sending]);
    }
}
