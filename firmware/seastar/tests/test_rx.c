/* Reception. */
#include <string.h>

#include "niccb.h"
#include "sim.h"
#include "tests.h"

/* Lets a message arrive and the firmware announce it; returns its pending. */
static uint32_t announce(uint32_t nid, uint32_t length, uint32_t *stream)
{
    struct ss_portals_header header = sim_header(SS_PORTALS_OP_PUT, 0, nid, 1, length);
    uint32_t event;

    *stream = sim_arrive(&header, length);
    sim_turns(1);
    event = sim_event(GENERIC);
    CHECK(event >> 16 == SS_EVENT_TYPE_RX_HEADER);
    CHECK(memcmp(sim_upper(GENERIC, event & 0xFFFF), &header, sizeof(header)) == 0);
    return event & 0xFFFF;
}

/* The engine's part of the rest. */
static void complete(uint32_t lower, uint32_t stream)
{
    sim_rx_step(64);
    CHECK(sim_rx_finish(stream));
    sim_turns(1);
    CHECK(sim_event(GENERIC) == EVENT(RX_COMPLETE, lower));
}

static void a_message_in_its_header_is_one_event(void)
{
    struct ss_portals_header header;
    uint32_t event, stream, lower;

    sim_boot(64, 32, 1024);
    header = sim_header(SS_PORTALS_OP_PUT, SS_HEADER_FLAG_INLINE, 3, 1, 12);
    stream = sim_arrive(&header, 0);
    sim_turns(1);
    event = sim_event(GENERIC);
    lower = event & 0xFFFF;
    CHECK(memcmp(sim_upper(GENERIC, lower), &header, sizeof(header)) == 0);
    if (OPT_INLINE) {
        CHECK(event >> 16 == SS_EVENT_TYPE_RX_INLINE && devices.interrupts == 1);
        sim_release(GENERIC, lower); /* Before the engine is done with the stream. */
        sim_turns(1);
        CHECK(sim_rx_step(8) == 1 && sim_rx_finish(stream));
        sim_turns(1);
        CHECK(sim_event(GENERIC) == 0);
    } else {
        CHECK(event >> 16 == SS_EVENT_TYPE_RX_HEADER);
        sim_rx(GENERIC, lower, 0, 0);
        sim_turns(1);
        complete(lower, stream);
        CHECK(devices.interrupts == 2);
        sim_release(GENERIC, lower);
        sim_turns(1);
    }
    CHECK(niccb.rx_message == 1 && niccb.rx_complete == 1);
    sim_check_idle();
}

static void a_long_message_is_deposited_and_its_rest_discarded(void)
{
    static const struct { uint32_t length, wanted, commands; } cases[] = {
        {5000, 5000, 1}, {5000, 1000, 2}, {5000, 0, 1}, {0, 0, 1}, {1, 1, 1}};

    sim_boot(64, 32, 1024);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t stream, lower = announce(3, cases[i].length, &stream);

        sim_rx(GENERIC, lower, 0x45678ABCD0ull, cases[i].wanted);
        sim_turns(1);
        CHECK(sim_rx_step(8) == cases[i].commands);
        CHECK(sim_streams[stream].deposited == cases[i].wanted);
        CHECK(cases[i].wanted == 0 || sim_streams[stream].addr == 0x45678ABCD0ull);
        complete(lower, stream);
        sim_release(GENERIC, lower);
        sim_turns(1);
    }
    CHECK(niccb.packets_drained == (4000 + 63) / 64 + (5000 + 63) / 64);
    sim_check_idle();
}

static void a_get_has_no_payload_of_its_own(void)
{
    struct ss_portals_header header;
    uint32_t stream, event;

    sim_boot(64, 32, 1024);
    header = sim_header(SS_PORTALS_OP_GET, 0, 3, 1, 100000);
    stream = sim_arrive(&header, 0);
    sim_turns(1);
    event = sim_event(GENERIC);
    sim_rx(GENERIC, event & 0xFFFF, 0, 0);
    sim_turns(1);
    complete(event & 0xFFFF, stream);
    sim_release(GENERIC, event & 0xFFFF);
    sim_turns(1);
    sim_check_idle();
}

static void a_scattered_buffer_uses_the_host_s_commands(void)
{
    uint32_t stream, lower;

    sim_boot(64, 32, 1024);
    lower = announce(3, 1000, &stream);
    for (uint32_t i = 0; i < 4; i++) {
        devices.dma_list[1020 + i].addr_hi = 2;
        devices.dma_list[1020 + i].addr_lo = 0x1000 * i;
        devices.dma_list[1020 + i].length = 200;
    }
    sim_rx_list(lower, 800, 1020, 4);
    sim_turns(1);
    CHECK(sim_rx_step(8) == 5);
    CHECK(sim_streams[stream].deposited == 800 && sim_streams[stream].discarded == 200);
    CHECK(sim_streams[stream].addr == 0x200000000ull);
    complete(lower, stream);
    sim_release(GENERIC, lower);

    lower = announce(3, 800, &stream);
    sim_rx_list(lower, 800, 1020, 4);
    sim_turns(1);
    CHECK(sim_rx_step(8) == 4);
    complete(lower, stream);
    sim_release(GENERIC, lower);
    sim_turns(1);
    sim_check_idle();
}

static void one_message_of_a_source_is_in_the_engine(void)
{
    uint32_t stream[4], lower[4];

    sim_boot(64, 32, 1024);
    for (unsigned i = 0; i < 3; i++)
        lower[i] = announce(3, 100 + i, &stream[i]);
    lower[3] = announce(4, 50, &stream[3]);
    CHECK(niccb.cam_in_use == 4 && niccb.cam_high_water == 4);
    sim_rx(GENERIC, lower[0], 0x1000, 100);
    sim_rx(GENERIC, lower[2], 0x3000, 100);
    sim_rx(GENERIC, lower[1], 0x2000, 100);
    sim_rx(GENERIC, lower[3], 0x4000, 50);
    sim_turns(1);
    CHECK(sim_rx_step(64) == 2);
    CHECK(sim_streams[stream[0]].last && sim_streams[stream[3]].last);
    CHECK(!sim_rx_finish(stream[2]));
    /* In the order of the commands, as each completes. */
    complete(lower[0], stream[0]);
    complete(lower[2], stream[2]);
    complete(lower[1], stream[1]);
    complete(lower[3], stream[3]);
    for (unsigned i = 0; i < 4; i++)
        sim_release(GENERIC, lower[i]);
    sim_turns(1);
    CHECK(niccb.cam_high_water == 4);
    sim_check_idle();
}

static void a_full_fifo_makes_reception_wait(void)
{
    enum { LONG = 100, SHORT = 60 };
    uint32_t stream[LONG], lower[LONG], completed = 0;

    sim_boot(512, 32, 1024);
    for (unsigned i = 0; i < LONG; i++)
        lower[i] = announce(10 + i, 1000, &stream[i]);
    for (unsigned i = 0; i < LONG; i++) {
        sim_rx(GENERIC, lower[i], 0x1000 * i, 500);
        sim_turns(1);
    }
    CHECK(waiting & WAITING_RX);
    for (unsigned i = 0; i < SHORT; i++) {
        struct ss_portals_header header =
            sim_header(SS_PORTALS_OP_PUT, SS_HEADER_FLAG_INLINE, 10 + i, 1, 0);

        sim_arrive(&header, 0);
    }
    sim_turns(1);
    for (unsigned i = 0; i < SHORT; i++) {
        uint32_t event = sim_event(GENERIC);

        if (event >> 16 == SS_EVENT_TYPE_RX_HEADER)
            sim_rx(GENERIC, event & 0xFFFF, 0, 0);
        else
            sim_release(GENERIC, event & 0xFFFF);
        sim_turns(1);
    }
    CHECK(!OPT_INLINE || (waiting & WAITING_DRAIN));
    for (unsigned turns = 0; completed < LONG + SHORT; turns++) {
        CHECK(turns < 10000);
        sim_rx_step(3);
        completed += sim_rx_finish_all();
        sim_turns(1);
    }
    for (uint32_t event; (event = sim_event(GENERIC));) {
        CHECK(event >> 16 == SS_EVENT_TYPE_RX_COMPLETE);
        sim_release(GENERIC, event & 0xFFFF);
        sim_turns(1);
    }
    sim_check_idle();
}

/* Receives and releases one message of a node. */
static void exchange(uint32_t nid)
{
    uint32_t stream, lower = announce(nid, 10, &stream);

    sim_rx(GENERIC, lower, 0, 10);
    sim_turns(1);
    complete(lower, stream);
    sim_release(GENERIC, lower);
    sim_turns(1);
}

static void more_peers_than_sources(void)
{
    sim_boot(64, 32, 1024);
    for (uint32_t i = 0; i < 3 * SS_SOURCES; i++) {
        exchange(i * 1024 % 65521);
        sim_tx(GENERIC, 0, 65535 - i, 0, 0);
        sim_turns(1);
        CHECK(sim_tx_step(1) == 1);
        sim_turns(1);
        CHECK(sim_event(GENERIC) == EVENT(TX_COMPLETE, 0));
    }
    CHECK(niccb.rx_complete == 3 * SS_SOURCES);
    sim_check_idle();
}

/* Structures are taken from idle sources in the same bucket, before and behind one in use. */
static void a_source_in_use_survives_the_shortage(void)
{
    uint32_t stream[2], lower[2];

    sim_boot(64, 32, 1024);
    for (uint32_t i = 0; i < 20; i++)
        exchange(5 + SOURCE_BUCKETS * i);
    lower[0] = announce(5 + SOURCE_BUCKETS * 20, 10, &stream[0]);
    for (uint32_t i = 21; i < 40; i++)
        exchange(5 + SOURCE_BUCKETS * i);
    for (uint32_t i = 0; i < 2 * SS_SOURCES; i++)
        exchange(i | 1 << 15);
    lower[1] = announce(5 + SOURCE_BUCKETS * 20, 10, &stream[1]);
    sim_rx(GENERIC, lower[0], 0, 10);
    sim_rx(GENERIC, lower[1], 0, 10);
    sim_turns(1);
    CHECK(sim_rx_step(64) == 1); /* One source still, so one message in the engine. */
    complete(lower[0], stream[0]);
    complete(lower[1], stream[1]);
    sim_release(GENERIC, lower[0]);
    sim_release(GENERIC, lower[1]);
    sim_turns(1);
    sim_check_idle();
}

static void messages_wait_until_the_kernel_is_alive(void)
{
    struct ss_portals_header header;
    uint32_t event, stream;

    sim_reset();
    header = sim_header(SS_PORTALS_OP_PUT, 0, 3, 1, 10);
    stream = sim_arrive(&header, 10);
    sim_turns(5);
    CHECK(devices.rx_done_head == 0);
    sim_start_process(GENERIC, 0, 64, 32, 1024);
    sim_turns(1);
    event = sim_event(GENERIC);
    CHECK(event >> 16 == SS_EVENT_TYPE_RX_HEADER);
    sim_rx(GENERIC, event & 0xFFFF, 0, 10);
    sim_turns(1);
    complete(event & 0xFFFF, stream);
    sim_release(GENERIC, event & 0xFFFF);
    sim_turns(1);
    sim_check_idle();
}

static void a_bad_crc_is_reported(void)
{
    struct ss_portals_header header;
    uint32_t stream, lower, event;

    sim_boot(64, 32, 1024);
    lower = announce(3, 1000, &stream);
    sim_rx(GENERIC, lower, 0, 1000);
    sim_turns(1);
    CHECK(sim_rx_step(8) == 1);
    sim_streams[stream].error = 1;
    CHECK(sim_rx_finish(stream));
    sim_turns(1);
    CHECK(sim_event(GENERIC) == EVENT(ERR_RX_CRC, lower));
    sim_release(GENERIC, lower);

    /* In a message of one packet the engine knows at once; its completion repeats it. */
    header = sim_header(SS_PORTALS_OP_PUT, SS_HEADER_FLAG_INLINE, 3, 1, 12);
    stream = sim_arrive(&header, 0);
    devices.rx_done[devices.rx_done_tail - 1] |= SS_DONE_ERROR;
    sim_streams[stream].error = 1;
    sim_turns(1);
    event = sim_event(GENERIC);
    CHECK(event >> 16 == SS_EVENT_TYPE_ERR_RX_HDR_CRC);
    CHECK(sim_rx_step(8) == 1 && sim_rx_finish(stream));
    sim_turns(1);
    CHECK(sim_event(GENERIC) == 0);
    sim_release(GENERIC, event & 0xFFFF);
    sim_turns(1);
    sim_check_idle();
}

static void out_of_sequence_messages_are_counted(void)
{
    static const uint32_t serials[] = {5, 6, 6, 4, 7, 0xFFFFFFFF, 0};

    sim_boot(64, 32, 1024);
    for (unsigned i = 0; i < sizeof(serials) / sizeof(serials[0]); i++) {
        struct ss_portals_header header = sim_header(SS_PORTALS_OP_PUT, 0, 3, 1, 0);

        header.serial = serials[i];
        sim_arrive(&header, 0);
    }
    sim_turns(1);
    CHECK(niccb.sequence_errors == 3); /* 6 again, 4, 0xFFFFFFFF; 0 follows that one. */
}

const struct test tests_rx[] = {
    {"rx: a message in its header is one event", a_message_in_its_header_is_one_event},
    {"rx: a long message is deposited and its rest discarded",
     a_long_message_is_deposited_and_its_rest_discarded},
    {"rx: a get has no payload of its own", a_get_has_no_payload_of_its_own},
    {"rx: a scattered buffer uses the host's commands",
     a_scattered_buffer_uses_the_host_s_commands},
    {"rx: one message of a source is in the engine", one_message_of_a_source_is_in_the_engine},
    {"rx: a full FIFO makes reception wait", a_full_fifo_makes_reception_wait},
    {"rx: more peers than sources", more_peers_than_sources},
    {"rx: a source in use survives the shortage", a_source_in_use_survives_the_shortage},
    {"rx: messages wait until the kernel is alive", messages_wait_until_the_kernel_is_alive},
    {"rx: a bad CRC is reported", a_bad_crc_is_reported},
    {"rx: out-of-sequence messages are counted", out_of_sequence_messages_are_counted},
    {0, 0},
};
