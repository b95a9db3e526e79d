/* Accelerated processes: dialogues of a user-level library, the engines and the firmware. Which entry takes a
 * message is held against the specification elsewhere (tests/matching). */
#include <string.h>

#include "accel.h"
#include "match.h"
#include "niccb.h"
#include "tests.h"
#include "user.h"

#if OPT_ACCELERATED

/* An entry for these bits with a buffer of 1000 bytes at BUFFER + at. */
static void post(uint32_t number, uint64_t bits, uint32_t at, uint32_t options, uint32_t threshold,
                 uint32_t flags, uint32_t seen)
{
    struct ss_entry_command command = entry(SS_COMMAND_OP_POST, number);

    command.match_bits = bits;
    command.options = (uint16_t)options;
    command.threshold = threshold;
    command.flags |= (uint8_t)flags;
    command.addr_lo = (uint32_t)(BUFFER + at);
    command.addr_hi = (uint16_t)((BUFFER + at) >> 32);
    command.length = 1000;
    command.seen = (uint16_t)seen;
    sim_command(USER, &command);
    sim_turns(1);
}

#define ONCE 1u, SS_ENTRY_FLAG_UNLINK | SS_ENTRY_FLAG_UNLINK_ENTRY
#define ALWAYS 0xFFFFFFFFu, 0u

static struct ss_portals_header put(uint32_t flags, uint64_t bits, uint32_t length)
{
    struct ss_portals_header header = sim_header(SS_PORTALS_OP_PUT, flags, 9, PID, length);

    header.match_bits = bits;
    header.source_pid = 5;
    header.md_handle = 0xABCDE;
    return header;
}

static void a_small_put_is_in_memory_before_its_event(void)
{
    for (uint32_t at = 0; at < 5; at++) {
        for (uint32_t length = 0; length <= 12; length++) {
            struct ss_portals_header header;
            uint32_t stream;

            boot();
            post(1, 7, at, SS_DESCRIPTOR_OPTION_PUT, ALWAYS, 0);
            header = put(SS_HEADER_FLAG_INLINE, 7, length);
            stream = sim_arrive(&header, 0);
            sim_turns(1);
            taken_whole(sim_event(USER), SS_EVENT_TYPE_RX_INLINE);
            CHECK(memcmp(&devices.host[at], header.inline_data, length) == 0);
            CHECK(devices.host[at + length] == 0 && (at == 0 || devices.host[at - 1] == 0));
            check_line(&header);
            CHECK(event_line.entry == 1 && event_line.visits == 1);
            CHECK(event_line.mlength == length && event_line.offset == 0);
            CHECK(event_line.handle == (1u << 20 | 1) && event_line.taken == 1);
            CHECK(devices.interrupts == 0);
            /* It never had a pending. */
            CHECK(sim_free_pendings(USER) == PENDINGS - TX_PENDINGS);
            drain(stream);
            sim_check_idle();
        }
    }
}

/* What the acknowledgement of `header` says. */
static void check_ack(const struct ss_portals_header *header, uint32_t mlength)
{
    const struct sim_sent *ack = sim_sent(0);

    CHECK(ack->peer == 9 && ack->total == 0);
    CHECK(ack->header.op == SS_PORTALS_OP_ACK && ack->header.flags == SS_HEADER_FLAG_INLINE);
    CHECK(ack->header.source_nid == 7 && ack->header.source_pid == PID);
    CHECK(ack->header.target_nid == 9 && ack->header.target_pid == 5);
    CHECK(ack->header.length == mlength && ack->header.match_bits == header->match_bits);
    CHECK(ack->header.md_handle == header->md_handle);
    CHECK(ack->header.serial >> SS_SERIAL_SPACE_SHIFT == SS_SERIAL_ACK);
}

static void an_acknowledgement_is_sent_without_the_host(void)
{
    struct ss_portals_header header;
    uint32_t stream;

    boot();
    post(1, 7, 0, SS_DESCRIPTOR_OPTION_PUT, ALWAYS, 0);
    header = put(SS_HEADER_FLAG_INLINE | SS_HEADER_FLAG_ACK_REQUESTED, 7, 4);
    stream = sim_arrive(&header, 0);
    sim_turns(1);
    taken_whole(sim_event(USER), SS_EVENT_TYPE_RX_INLINE);
    CHECK(event_line.answer == 1);
    /* The acknowledgement has it until it has left. */
    CHECK(sim_free_pendings(USER) == PENDINGS - TX_PENDINGS - 1);
    CHECK(sim_tx_step(1) == 1);
    check_ack(&header, 4);
    sim_turns(1);
    CHECK(sim_event(USER) == 0);
    drain(stream);
    sim_check_idle();
}

static void a_payload_goes_to_its_place_and_is_acknowledged(void)
{
    struct ss_portals_header header;
    uint32_t lower, stream;

    boot();
    post(1, 7, 64, SS_DESCRIPTOR_OPTION_PUT | SS_DESCRIPTOR_OPTION_TRUNCATE, ONCE, 0);
    header = put(SS_HEADER_FLAG_ACK_REQUESTED, 7, 1500);
    stream = sim_arrive(&header, 1500);
    sim_turns(1);
    lower = taken(sim_event(USER), SS_EVENT_TYPE_RX_HEADER);
    CHECK(event_line.mlength == 1000 && event_line.answer == 1);
    CHECK(sim_rx_step(8) == 2 && sim_streams[stream].deposited == 1000);
    CHECK(sim_streams[stream].addr == BUFFER + 64);
    CHECK(sim_rx_finish(stream));
    sim_turns(1);
    CHECK(sim_event(USER) == EVENT(RX_COMPLETE, lower));
    CHECK(sim_tx_step(1) == 1);
    check_ack(&header, 1000);
    sim_turns(1);
    CHECK(devices.interrupts == 0);
    /* It was unlinked: the next finds nobody. */
    header = put(0, 7, 100);
    stream = sim_arrive(&header, 100);
    sim_turns(1);
    lower = taken(sim_event(USER), SS_EVENT_TYPE_RX_HEADER);
    CHECK(event_line.entry == SS_ENTRY_NONE && event_line.visits == 0);
    drain(stream);
    CHECK(sim_event(USER) == EVENT(RX_COMPLETE, lower));
    sim_check_idle();
}

static void a_get_is_answered_from_the_descriptor(void)
{
    struct ss_portals_header header;
    uint32_t lower, stream;

    boot();
    post(1, 7, 64, SS_DESCRIPTOR_OPTION_GET | SS_DESCRIPTOR_OPTION_MANAGE_REMOTE, ALWAYS, 0);
    header = sim_header(SS_PORTALS_OP_GET, SS_HEADER_FLAG_INLINE, 9, PID, 300);
    header.match_bits = 7;
    header.source_pid = 5;
    header.remote_offset = 100;
    header.hdr_data = 0x123456789ull;
    header.md_handle = 0xABCDE;
    stream = sim_arrive(&header, 0);
    sim_turns(1);
    lower = taken(sim_event(USER), SS_EVENT_TYPE_RX_GET);
    check_line(&header);
    CHECK(sim_tx_step(2) == 1);
    CHECK(sim_sent(0)->header.op == SS_PORTALS_OP_REPLY && sim_sent(0)->header.flags == 0);
    CHECK(sim_sent(0)->header.length == 300 && sim_sent(0)->header.remote_offset == 100);
    CHECK(sim_sent(0)->header.hdr_data == 0x123456789ull);
    CHECK(sim_sent(0)->header.md_handle == 0xABCDE);
    CHECK(sim_sent(0)->header.serial == event_line.answer);
    CHECK(sim_sent(0)->total == 300 && sim_sent(0)->addr[0] == BUFFER + 164);
    sim_turns(1);
    CHECK(sim_event(USER) == EVENT(TX_COMPLETE, lower));
    drain(stream);
    sim_check_idle();
}

static void a_reply_goes_into_its_descriptor(void)
{
    struct ss_entry_command command = entry(SS_COMMAND_OP_DESCRIBE, 300);
    struct ss_portals_header header;
    uint32_t lower, stream;

    boot();
    command.addr_lo = (uint32_t)BUFFER;
    command.addr_hi = (uint16_t)(BUFFER >> 32);
    command.length = 1000;
    command.threshold = 1;
    command.flags = SS_ENTRY_FLAG_UNLINK;
    sim_command(USER, &command);
    sim_turns(1);
    for (uint32_t round = 0; round < 2; round++) {
        header = sim_header(SS_PORTALS_OP_REPLY, 0, 9, PID, 500);
        header.hdr_data = 600;
        header.md_handle = command.handle;
        stream = sim_arrive(&header, 500);
        sim_turns(1);
        lower = taken(sim_event(USER), SS_EVENT_TYPE_RX_HEADER);
        /* 400 bytes are left behind the offset; the second answer comes too late. */
        CHECK(event_line.mlength == (round ? 0 : 400));
        CHECK(event_line.entry == (round ? SS_ENTRY_NONE : 300));
        sim_rx_step(8);
        CHECK(sim_streams[stream].deposited == (round ? 0 : 400));
        CHECK(round || sim_streams[stream].addr == BUFFER + 600);
        CHECK(sim_rx_finish(stream));
        sim_turns(1);
        CHECK(sim_event(USER) == EVENT(RX_COMPLETE, lower));
        }
    sim_check_idle();
}

static void a_post_that_a_message_overtook_is_refused(void)
{
    struct ss_portals_header header;
    uint32_t stream;

    boot();
    post(1, 7, 0, SS_DESCRIPTOR_OPTION_PUT, ALWAYS, 0);
    header = put(SS_HEADER_FLAG_INLINE, 7, 4);
    stream = sim_arrive(&header, 0);
    sim_turns(1);
    taken_whole(sim_event(USER), SS_EVENT_TYPE_RX_INLINE);
    drain(stream);
    post(2, 8, 0, SS_DESCRIPTOR_OPTION_PUT, ALWAYS, 0); /* It has not seen the message. */
    post(3, 8, 0, SS_DESCRIPTOR_OPTION_PUT, ALWAYS, 1);
    header = put(SS_HEADER_FLAG_INLINE, 8, 4);
    stream = sim_arrive(&header, 0);
    sim_turns(1);
    taken_whole(sim_event(USER), SS_EVENT_TYPE_RX_INLINE);
    CHECK(event_line.entry == 3 && event_line.visits == 2);
    drain(stream);
    sim_check_idle();
}

static void what_is_in_use_is_not_taken_away(void)
{
    struct ss_entry_command command = entry(SS_COMMAND_OP_UNLINK, 1);
    struct ss_portals_header header;
    uint32_t lower, stream;

    boot();
    post(1, 7, 0, SS_DESCRIPTOR_OPTION_PUT, ONCE, 0);
    header = put(0, 7, 100);
    stream = sim_arrive(&header, 100);
    sim_turns(1);
    lower = taken(sim_event(USER), SS_EVENT_TYPE_RX_HEADER);
    command.flags = 0;
    sim_command(USER, &command);
    sim_turns(1);
    CHECK(sim_event(USER) == EVENT(RESULT, SS_ENTRY_RESULT_IN_USE));
    drain(stream);
    CHECK(sim_event(USER) == EVENT(RX_COMPLETE, lower));
    sim_command(USER, &command);
    sim_turns(1);
    CHECK(sim_event(USER) == EVENT(RESULT, SS_ENTRY_RESULT_GONE));
    post(1, 7, 0, SS_DESCRIPTOR_OPTION_PUT, ONCE, 1);
    sim_command(USER, &command);
    sim_turns(1);
    CHECK(sim_event(USER) == EVENT(RESULT, SS_ENTRY_RESULT_DONE));
    sim_check_idle();
}

static void a_bad_command_ends_its_process_and_no_other(void)
{
    static const struct { uint8_t op; uint16_t entry, base; uint8_t portal; } bad[] = {
        {SS_COMMAND_OP_ATTACH, SS_ACCELERATED_ENTRIES, SS_ENTRY_NONE, 0},
        {SS_COMMAND_OP_ATTACH, 1, 5, 0},
        {SS_COMMAND_OP_ATTACH, 1, SS_ENTRY_NONE, SS_ACCELERATED_PORTALS},
        {SS_COMMAND_OP_UNLINK, 0xFFFE, 0, 0},
        {SS_COMMAND_OP_RX, 20, 0, 0},
        {SS_COMMAND_OP_RELEASE, 20, 0, 0},
        {SS_COMMAND_OP_CREDIT, 1, 0, 0}, /* No event was read. */
        {SS_COMMAND_OP_TX, 40, 0, 0},
        {SS_COMMAND_OP_INIT_PROCESS, 3, 0, 0},
        {SS_COMMAND_OP_END_PROCESS, 0, 0, 0},
        {99, 0, 0, 0},
    };

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ss_entry_command command = entry(bad[i].op, bad[i].entry);
        struct ss_portals_header header;
        uint32_t stream, event;

        boot();
        command.base = bad[i].base;
        command.portal = bad[i].portal;
        sim_command(USER, &command);
        sim_turns(2);
        CHECK(sim_event(GENERIC) == EVENT(PROCESS_ENDED, (uint32_t)bad[i].op << 8 | USER));
        CHECK(devices.interrupts == 1 && devices.panic_word == 0);
        /* What comes for it is the kernel's, which goes on. */
        header = put(SS_HEADER_FLAG_INLINE, 7, 4);
        stream = sim_arrive(&header, 0);
        sim_turns(1);
        event = sim_event(GENERIC);
        if (OPT_INLINE) {
            CHECK(event >> 16 == SS_EVENT_TYPE_RX_INLINE);
            drain(stream);
            sim_release(GENERIC, event & 0xFFFF);
            sim_turns(1);
        }
    }
}

static void without_a_pending_messages_wait(void)
{
    struct ss_portals_header header;

    boot();
    post(1, 7, 0, SS_DESCRIPTOR_OPTION_PUT, ALWAYS, 0);
    for (unsigned i = 0; i < 40; i++) {
        header = put(0, 7, 20);
        sim_arrive(&header, 20);
    }
    sim_turns(3);
    /* 32 pendings: eight messages wait until payloads are in memory, of which the engine tells
     * behind them. */
    CHECK(niccb.rx_message == 32);
    for (unsigned i = 0; i < 40; i++) {
        sim_rx_step(8);
        CHECK(sim_rx_finish_all() == 1); /* One sender's go to memory one after another. */
        sim_turns(1);
        CHECK(sim_event(USER) != 0 && sim_event(USER) != 0);
        sim_credit(USER, 2);
        sim_turns(2);
    }
    CHECK(niccb.rx_message == 40);
    sim_check_idle();
}

/* The library has read nothing yet: the ring is not written over. */
static void without_room_for_events_messages_wait(void)
{
    const uint32_t room = 2 * (PENDINGS - TX_PENDINGS);
    struct ss_portals_header header;
    uint32_t came = 0;

    boot();
    post(1, 7, 0, SS_DESCRIPTOR_OPTION_PUT, ALWAYS, 0);
    for (unsigned i = 0; i < room + 10; i++) {
        uint32_t stream;

        header = put(SS_HEADER_FLAG_INLINE, 7, 1);
        stream = sim_arrive(&header, 0);
        sim_turns(2);
        came = niccb.rx_message;
        if (came != i + 1)
            break;
        drain(stream);
    }
    /* A message may have two events, and has its place for them. */
    CHECK(came == room - 1);
    for (unsigned i = 0; i < came; i++)
        taken_whole(sim_event(USER), SS_EVENT_TYPE_RX_INLINE);
    sim_credit(USER, came);
    sim_turns(3);
    CHECK(niccb.rx_message == came + 1);
    taken_whole(sim_event(USER), SS_EVENT_TYPE_RX_INLINE);
    CHECK(sim_rx_step(8) == 1 && sim_rx_finish_all());
    sim_turns(1);
    sim_check_idle();
}

/* A slot is free when the engine has read the header that stands in it, and a command that is behind it not
 * before. */
static void a_slot_is_free_when_its_header_is_read(void)
{
    struct ss_entry_command sync = entry(SS_COMMAND_OP_SYNC, SS_ENTRY_NONE);
    uint32_t sent = 0;

    boot();
    sync.flags = 0;
    while (sim_command_room(USER) && sent < TX_PENDINGS - 1) {
        *sim_upper(USER, sent) = sim_header(SS_PORTALS_OP_PUT, SS_HEADER_FLAG_INLINE, 7, 0, 0);
        sim_tx(USER, sent, 3, HOST_PHYS, 0);
        sim_command(USER, &sync);
        sim_turns(1);
        CHECK(sim_event(USER) == EVENT(RESULT, SS_ENTRY_RESULT_DONE));
        ++sent;
    }
    /* The ring is full, though every command was taken. */
    CHECK(!sim_command_room(USER) && sent == (SS_SLOT_COUNT - 1) / 2);
    for (uint32_t i = 0; i < sent; i++) {
        CHECK(sim_tx_step(1) == 1 && sim_sent(0)->header.target_nid == 3);
        CHECK(sim_sent(0)->header.serial == sim_upper(USER, i)->serial);
        sim_turns(1);
        CHECK(sim_event(USER) == EVENT(TX_COMPLETE, i));
        CHECK(sim_command_room(USER));
    }
    sim_check_idle();
}

static void a_place_is_used_again(void)
{
    struct ss_mark_alive_command end = {
        .op = SS_COMMAND_OP_END_PROCESS, .process_index = USER};
    uint32_t value;

    boot();
    for (unsigned round = 0; round < 3; round++) {
        post(1, 7, 0, SS_DESCRIPTOR_OPTION_PUT, ALWAYS, 0);
        sim_command(GENERIC, &end);
        sim_turns(1);
        CHECK(sim_result(GENERIC, &value) && value == 0 && accelerated_alive == 0);
        sim_restart_process(USER, PID, PENDINGS, TX_PENDINGS, 1024);
    }
    sim_check_idle();
}

const struct test tests_accel[] = {
    {"a small put is in memory before its event", a_small_put_is_in_memory_before_its_event},
    {"an acknowledgement is sent without the host", an_acknowledgement_is_sent_without_the_host},
    {"a payload goes to its place and is acknowledged",
     a_payload_goes_to_its_place_and_is_acknowledged},
    {"a get is answered from the descriptor", a_get_is_answered_from_the_descriptor},
    {"a reply goes into its descriptor", a_reply_goes_into_its_descriptor},
    {"a post that a message overtook is refused", a_post_that_a_message_overtook_is_refused},
    {"what is in use is not taken away", what_is_in_use_is_not_taken_away},
    {"a bad command ends its process and no other", a_bad_command_ends_its_process_and_no_other},
    {"without a pending messages wait", without_a_pending_messages_wait},
    {"without room for events messages wait", without_room_for_events_messages_wait},
    {"a slot is free when its header is read", a_slot_is_free_when_its_header_is_read},
    {"a place is used again", a_place_is_used_again},
    {0, 0},
};

#else

const struct test tests_accel[] = {{0, 0}};

#endif
