/* What the firmware does where the host's kernel recovers (OVERFLOW=host): it drops, tells and carries. */
#include <string.h>

#include "niccb.h"
#include "sim.h"
#include "tests.h"

#if OPT_RELAY
#include "relay.h"
#include "rx.h"

#define TOLD(kind, number, nid)                                                                    \
    (SS_HOST_EVENT_##kind | (uint32_t)(number) << SS_HOST_EVENT_NUMBER_SHIFT | (nid))

/* A message's number as notifications give it. */
static uint32_t routing(uint32_t number)
{
    return (number & 0xFF) << 8 | (number & 0xFF00) << 15;
}

/* A message of `nid` arrives in a stream; returns that. */
static uint32_t arrive(uint32_t flags, uint32_t nid, uint32_t length, uint32_t number)
{
    static uint32_t next;
    struct ss_portals_header header = sim_header(SS_PORTALS_OP_PUT, flags, nid, 1, length);
    uint32_t stream = next++ % SS_CAM_ENTRIES;

    memset(&sim_streams[stream], 0, sizeof(sim_streams[stream]));
    sim_streams[stream].busy = 1;
    sim_streams[stream].total = flags & SS_HEADER_FLAG_INLINE ? 0 : length;
    memcpy((void *)rx_headers[stream], &header, sizeof(header));
    sim_notify(SS_DONE_NEW_MESSAGE | stream | routing(number));
    return stream;
}

static void control(uint32_t op, uint32_t peer, uint32_t number)
{
    struct ss_control_command command = {
        .op = SS_COMMAND_OP_CONTROL, .process_index = GENERIC, .control = (uint16_t)op,
        .peer = (uint16_t)peer, .number = (uint16_t)number};

    sim_command(GENERIC, &command);
}

static void seen(uint32_t count)
{
    struct ss_seen_command command = {
        .op = SS_COMMAND_OP_SEEN, .process_index = GENERIC, .count = (uint16_t)count};

    sim_command(GENERIC, &command);
}

/* The engine takes all packets of the control class; returns how many. */
static uint32_t control_step(void)
{
    uint32_t count = (devices.control_tail - devices.control_head) & (SS_DMA_FIFO_DEPTH - 1);

    devices.control_head = devices.control_tail;
    return count;
}

static void what_finds_no_pending_is_dropped_and_told_of(void)
{
    uint32_t stream, first;

    sim_boot(33, 32, 1024);
    arrive(SS_HEADER_FLAG_INLINE, 9, 12, 0x7FFE | SS_NUMBER_TELL);
    stream = arrive(0, 0x2BCD, 5000, 0x7FFF);
    sim_turns(1);
    first = sim_event(GENERIC);
    CHECK(first >> 16 == SS_EVENT_TYPE_RX_INLINE);
    /* Beside the header stands what the routing flit said. */
    CHECK(*(uint32_t *)((uint8_t *)sim_upper(GENERIC, first & 0xFFFF) + 64) == (9u << 16 | 0xFFFE));
    CHECK(sim_event(GENERIC) == TOLD(NO_PENDING, 0x7FFF, 0x2BCD));
    sim_rx_step(8);
    CHECK(sim_streams[stream].discarded == 5000 && sim_rx_finish_all() == 2);
    sim_release(GENERIC, first & 0xFFFF);
    sim_turns(1);
    CHECK(niccb.refused == 1 && niccb.rx_message == 2);
    sim_check_idle();
}

static void what_finds_no_source_or_stream_is_told_of_too(void)
{
    sim_boot(SS_GENERIC_PENDINGS, 1, 4096);
    for (uint32_t nid = 0; nid < SS_SOURCES; nid++) {
        arrive(0, nid, 100, 0);
        sim_turns(1);
        CHECK(sim_event(GENERIC) >> 16 == SS_EVENT_TYPE_RX_HEADER);
    }
    arrive(0, 5000, 100, 3);
    arrive(0, 17, 100, 4); /* It has one. */
    sim_notify(SS_DONE_CAM_OVERFLOW | 6000);
    sim_notify(SS_DONE_OVERFLOW_ROUTING | 5 | SS_NUMBER_TELL);
    sim_turns(1);
    CHECK(sim_event(GENERIC) == TOLD(NO_STREAM, 3, 5000));
    CHECK(sim_event(GENERIC) >> 16 == SS_EVENT_TYPE_RX_HEADER);
    CHECK(sim_event(GENERIC) == TOLD(NO_STREAM, 5, 6000));
    CHECK(niccb.refused == 2 && niccb.cam_ovf == 1);
}

static void a_damaged_message_has_its_number(void)
{
    uint32_t event;

    sim_boot(33, 32, 1024);
    sim_notify(SS_DONE_SOURCE | 77);
    sim_streams[3].busy = 1;
    sim_notify(SS_DONE_NEW_MESSAGE | SS_DONE_ERROR | 3 | routing(0x1234));
    sim_turns(1);
    event = sim_event(GENERIC);
    CHECK(event >> 16 == SS_EVENT_TYPE_ERR_RX_HDR_CRC);
    CHECK(*(uint32_t *)((uint8_t *)sim_upper(GENERIC, event & 0xFFFF) + 64) == (77u << 16 | 0x1234));
}

static void a_transmit_needs_no_source_and_has_its_number(void)
{
    struct ss_tx_command command = {
        .op = SS_COMMAND_OP_TX, .process_index = GENERIC, .pending = 1, .peer = 4, .length = 100,
        .addr_lo = (uint32_t)HOST_PHYS, .addr_hi = (uint32_t)(HOST_PHYS >> 32), .number = 0x8123};

    sim_boot(64, 32, 1024);
    sim_command(GENERIC, &command);
    sim_turns(1);
    CHECK(devices.tx_fifo[0].op == SS_DMA_OP_HEADER && devices.tx_fifo[0].length == 0x8123);
    CHECK(sim_tx_step(8) == 1);
    sim_turns(1);
    CHECK(sim_event(GENERIC) == EVENT(TX_COMPLETE, 1));
    sim_check_idle();
}

static void packets_of_kernels_are_carried(void)
{
    sim_boot(64, 32, 1024);
    control(SS_CONTROL_OP_CALLED, 300, 0x7ABC);
    sim_turns(1);
    CHECK(devices.control_fifo[0].op == SS_CONTROL_OP_CALLED);
    CHECK(devices.control_fifo[0].peer == 300 && devices.control_fifo[0].number == 0x7ABC);
    for (uint32_t slot = 0; slot < 3; slot++) {
        control_slots[slot].op = (uint8_t)(SS_CONTROL_OP_TAKEN + slot);
        control_slots[slot].peer = 400;
        control_slots[slot].number = (uint16_t)(0x7000 + slot);
        sim_notify(SS_DONE_CONTROL | slot);
    }
    sim_turns(1);
    CHECK(devices.slot_head == 3);
    CHECK(sim_event(GENERIC) == TOLD(TAKEN, 0x7000, 400));
    CHECK(sim_event(GENERIC) == TOLD(REFUSED, 0x7001, 400));
    CHECK(sim_event(GENERIC) == TOLD(CALLED, 0x7002, 400));
    /* A notification of a slot that is empty. */
    control_slots[3].op = 0;
    sim_notify(SS_DONE_CONTROL | 3);
    EXPECT_PANIC(SS_PANIC_REASON_DMA_ERROR, 3, sim_turns(1));
}

static void packets_that_find_no_room_leave_later(void)
{
    const uint32_t all = SS_DMA_FIFO_DEPTH - 1 + 40;
    uint32_t left = 0, rooms = 0;

    sim_boot(64, 32, 1024);
    for (uint32_t i = 0; i < all; i++) {
        control(SS_CONTROL_OP_TAKEN, i, i);
        sim_turns(1);
    }
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t at = devices.control_head; at != devices.control_tail;
             at = (at + 1) % SS_DMA_FIFO_DEPTH)
            CHECK(devices.control_fifo[at].peer == left++);
        control_step();
        sim_turns(1);
    }
    CHECK(left == all);
    while (sim_event(GENERIC) == TOLD(ROOM, 0, 0))
        ++rooms;
    CHECK(rooms == all / (SS_CONTROL_WINDOW / 2));
    CHECK(!waiting);
    /* More than the kernel may have under way. */
    for (uint32_t i = 0; i < SS_DMA_FIFO_DEPTH - 1 + SS_CONTROL_WINDOW; i++) {
        control(SS_CONTROL_OP_TAKEN, i, i);
        sim_turns(1);
    }
    control(SS_CONTROL_OP_TAKEN, 0, 0);
    EXPECT_PANIC(SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_CONTROL, sim_turns(1));
}

static void the_event_ring_cannot_overflow(void)
{
    const uint32_t spare = 1024 - 900;
    uint32_t told = 0;

    sim_boot(900, 899, 1024);
    arrive(0, 1, 100, 0);
    sim_turns(1);
    CHECK(sim_event(GENERIC) >> 16 == SS_EVENT_TYPE_RX_HEADER);
    for (uint32_t i = 0; i < spare + 3; i++) {
        arrive(0, 2, 0, i);
        sim_turns(1);
        sim_rx_step(8);
        sim_rx_finish_all();
    }
    while (sim_event(GENERIC))
        ++told;
    CHECK(told == spare);
    CHECK(devices.rx_done_head != devices.rx_done_tail); /* The others wait in the engine. */
    seen(spare);
    sim_turns(2);
    CHECK(sim_event(GENERIC) == TOLD(NO_PENDING, spare, 2));
    CHECK(devices.rx_done_head == devices.rx_done_tail);
    seen(4); /* It has posted three. */
    EXPECT_PANIC(SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_SEEN, sim_turns(1));
    /* No room for such events. */
    sim_reset();
    EXPECT_PANIC(SS_PANIC_REASON_BAD_COMMAND, SS_COMMAND_OP_INIT_EQCB,
                 sim_start_process(GENERIC, 0, 1020, 32, 1024));
}

const struct test tests_relay[] = {
    {"relay: what finds no pending is dropped and told of",
     what_finds_no_pending_is_dropped_and_told_of},
    {"relay: what finds no source or stream is told of, too",
     what_finds_no_source_or_stream_is_told_of_too},
    {"relay: a damaged message has its number", a_damaged_message_has_its_number},
    {"relay: a transmit needs no source and has its number",
     a_transmit_needs_no_source_and_has_its_number},
    {"relay: packets of kernels are carried", packets_of_kernels_are_carried},
    {"relay: packets that find no room leave later", packets_that_find_no_room_leave_later},
    {"relay: the event ring cannot overflow", the_event_ring_cannot_overflow},
    {0, 0},
};
#else
const struct test tests_relay[] = {{0, 0}};
#endif
