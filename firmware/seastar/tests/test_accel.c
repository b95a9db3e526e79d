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
            uint32_t lower, stream;

            boot();
            post(1, 7, at, SS_DESCRIPTOR_OPTION_PUT, ALWAYS, 0);
            header = put(SS_HEADER_FLAG_INLINE, 7, length);
            stream = sim_arrive(&header, 0);
            sim_turns(1);
            lower = taken(sim_event(USER), SS_EVENT_TYPE_RX_INLINE);
            CHECK(memcmp(&devices.host[at], header.inline_data, length) == 0);
            CHECK(devices.host[at + length] == 0 && (at == 0 || devices.host[at - 1] == 0));
            CHECK(memcmp(sim_upper(USER, lower), &header, sizeof(header)) == 0);
            CHECK(result(lower)->entry == 1 && result(lower)->visits == 1);
            CHECK(result(lower)->mlength == length && result(lower)->offset == 0);
            CHECK(result(lower)->handle == (1u << 20 | 1) && result(lower)->taken == 1);
            CHECK(devices.interrupts == 0);
            drain(stream);
            release(lower);
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
    uint32_t lower, stream;

    boot();
    post(1, 7, 0, SS_DESCRIPTOR_OPTION_PUT, ALWAYS, 0);
    header = put(SS_HEADER_FLAG_INLINE | SS_HEADER_FLAG_ACK_REQUESTED, 7, 4);
    stream = sim_arrive(&header, 0);
    sim_turns(1);
    lower = taken(sim_event(USER), SS_EVENT_TYPE_RX_INLINE);
    release(lower); /* Before the acknowledgement has left. */
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
    CHECK(result(lower)->mlength == 1000 && result(lower)->answer == 1);
    CHECK(sim_rx_step(8) == 2 && sim_streams[stream].deposited == 1000);
    CHECK(sim_streams[stream].addr == BUFFER + 64);
    CHECK(sim_rx_finish(stream));
    sim_turns(1);
    CHECK(sim_event(USER) == EVENT(RX_COMPLETE, lower));
    CHECK(sim_tx_step(1) == 1);
    check_ack(&header, 1000);
    sim_turns(1);
    release(lower);
    CHECK(devices.interrupts == 0);
    /* It was unlinked: the next finds nobody. */
    header = put(0, 7, 100);
    stream = sim_arrive(&header, 100);
    sim_turns(1);
    lower = taken(sim_event(USER), SS_EVENT_TYPE_RX_HEADER);
    CHECK(result(lower)->entry == SS_ENTRY_NONE && result(lower)->visits == 0);
    drain(stream);
    CHECK(sim_event(USER) == EVENT(RX_COMPLETE, lower));
    release(lower);
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
    CHECK(sim_tx_step(2) == 1);
    CHECK(sim_sent(0)->header.op == SS_PORTALS_OP_REPLY && sim_sent(0)->header.flags == 0);
    CHECK(sim_sent(0)->header.length == 300 && sim_sent(0)->header.remote_offset == 100);
    CHECK(sim_sent(0)->header.hdr_data == 0x123456789ull);
    CHECK(sim_sent(0)->header.md_handle == 0xABCDE);
    CHECK(sim_sent(0)->header.serial == result(lower)->answer);
    CHECK(sim_sent(0)->total == 300 && sim_sent(0)->addr[0] == BUFFER + 164);
    sim_turns(1);
    CHECK(sim_event(USER) == EVENT(TX_COMPLETE, lower));
    drain(stream);
    release(lower);
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
        CHECK(result(lower)->mlength == (round ? 0 : 400));
        CHECK(result(lower)->entry == (round ? SS_ENTRY_NONE : 300));
        sim_rx_step(8);
        CHECK(sim_streams[stream].deposited == (round ? 0 : 400));
        CHECK(round || sim_streams[stream].addr == BUFFER + 600);
        CHECK(sim_rx_finish(stream));
        sim_turns(1);
        CHECK(sim_event(USER) == EVENT(RX_COMPLETE, lower));
        release(lower);
    }
    sim_check_idle();
}

static void a_post_that_a_message_overtook_is_refused(void)
{
    struct ss_portals_header header;
    uint32_t lower, stream;

    boot();
    post(1, 7, 0, SS_DESCRIPTOR_OPTION_PUT, ALWAYS, 0);
    header = put(SS_HEADER_FLAG_INLINE, 7, 4);
    stream = sim_arrive(&header, 0);
    sim_turns(1);
    lower = taken(sim_event(USER), SS_EVENT_TYPE_RX_INLINE);
    drain(stream);
    release(lower);
    post(2, 8, 0, SS_DESCRIPTOR_OPTION_PUT, ALWAYS, 0); /* It has not seen the message. */
    post(3, 8, 0, SS_DESCRIPTOR_OPTION_PUT, ALWAYS, 1);
    header = put(SS_HEADER_FLAG_INLINE, 8, 4);
    stream = sim_arrive(&header, 0);
    sim_turns(1);
    lower = taken(sim_event(USER), SS_EVENT_TYPE_RX_INLINE);
    CHECK(result(lower)->entry == 3 && result(lower)->visits == 2);
    drain(stream);
    release(lower);
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
    release(lower);
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
    uint32_t streams[40], first = 0;

    boot();
    post(1, 7, 0, SS_DESCRIPTOR_OPTION_PUT, ALWAYS, 0);
    for (unsigned i = 0; i < 40; i++) {
        header = put(SS_HEADER_FLAG_INLINE, 7, 1);
        streams[i] = sim_arrive(&header, 0);
    }
    sim_turns(3);
    /* 32 pendings: eight messages stay in the engine. */
    CHECK(niccb.rx_message == 32);
    for (unsigned i = 0; i < 40; i++) {
        uint32_t lower = taken(sim_event(USER), SS_EVENT_TYPE_RX_INLINE);

        if (i == 0)
            first = lower;
        sim_release(USER, lower);
        sim_turns(1);
        sim_rx_step(8);
        sim_rx_finish(streams[i]);
        sim_turns(1);
    }
    CHECK(first != 0 && niccb.rx_message == 40);
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
    {"a place is used again", a_place_is_used_again},
    {0, 0},
};

#else

const struct test tests_accel[] = {{0, 0}};

#endif
