/* Atomic operations on the memory of accelerated processes, and the windows through which the firmware sees
 * it. */
#include <string.h>

#include "tests.h"
#include "user.h"

#if OPT_ACCELERATED

/* An entry for atomic operations on `length` bytes at a host physical address. */
static void post_at(uint32_t number, uint64_t phys, uint32_t length, uint32_t options)
{
    struct ss_entry_command command = entry(SS_COMMAND_OP_POST, number);

    command.match_bits = 7;
    command.options = (uint16_t)options;
    command.addr_lo = (uint32_t)phys;
    command.addr_hi = (uint16_t)(phys >> 32);
    command.length = length;
    command.test = SS_ENTRY_NONE & 0xFF; /* Whatever has come before. */
    sim_command(USER, &command);
    sim_turns(1);
}

#define BOTH (SS_DESCRIPTOR_OPTION_PUT | SS_DESCRIPTOR_OPTION_GET)

static struct ss_portals_header ask(uint32_t op, uint32_t flags, uint32_t length)
{
    struct ss_portals_header header = sim_header(op, flags, 9, PID, length);

    header.match_bits = 7;
    header.source_pid = 5;
    header.md_handle = 0xABCDE;
    return header;
}

/* An operation whose operand is in its header: what it answers stands in `got`. */
static void atomic(const struct ss_portals_header *header, uint8_t *got)
{
    uint32_t lower, stream = sim_arrive(header, 0), length = header->length;
    const struct sim_sent *reply;

    sim_turns(1);
    lower = taken(sim_event(USER), SS_EVENT_TYPE_RX_GET);
    check_line(header);
    CHECK(event_line.mlength == length && event_line.answer != 0);
    CHECK(sim_tx_step(2) == 1);
    reply = sim_sent(0);
    CHECK(reply->peer == 9 && reply->header.op == SS_PORTALS_OP_REPLY);
    CHECK(reply->header.hdr_data == 0 && reply->header.length == length);
    CHECK(reply->header.serial == event_line.answer && reply->header.md_handle == 0xABCDE);
    if (length <= 8) {
        CHECK(reply->header.flags == SS_HEADER_FLAG_INLINE && reply->total == 0);
        memcpy(got, reply->header.inline_data, length);
    } else {
        CHECK(reply->header.flags == 0 && reply->total == length && reply->regions == 1);
        memcpy(got, devices_host(reply->addr[0], length), length);
    }
    sim_turns(1);
    CHECK(sim_event(USER) == EVENT(TX_COMPLETE, lower));
    drain(stream);
}

/* Everywhere around the end of a window, aligned or not. */
static void an_atomic_add_answers_with_what_was_there(void)
{
    for (uint32_t at = 0; at <= 16; at++) {
        for (uint32_t length = 4; length <= 8; length += 4) {
            uint64_t phys = HOST_PHYS - 8 + at, place = 0x00000001FFFFFFFEull, sum, got = 0;
            uint8_t *memory[8];
            struct ss_portals_header header =
                ask(SS_PORTALS_OP_GETADD, SS_HEADER_FLAG_INLINE, length);
            uint64_t operand = 0x0000000500000003ull;

            boot();
            for (uint32_t i = 0; i < 8; i++) {
                memory[i] = devices_host(phys + i, 1);
                *memory[i] = (uint8_t)(place >> 8 * i);
            }
            post_at(1, phys, length, BOTH);
            memcpy(header.inline_data, &operand, length);
            atomic(&header, (uint8_t *)&got);
            CHECK(memcmp(&got, &place, length) == 0);
            sum = length == 8 ? place + operand
                              : (place & ~0xFFFFFFFFull) | (uint32_t)(place + operand);
            for (uint32_t i = 0; i < 8; i++)
                CHECK(*memory[i] == (uint8_t)(sum >> 8 * i));
            sim_check_idle();
        }
    }
}

static void a_conditional_swap_looks_at_its_condition(void)
{
    static const struct { uint64_t condition; uint32_t length; int swaps; } cases[] = {
        {0x1122334455667788ull, 8, 1}, {0x0022334455667788ull, 8, 0}, {0x1122334455667787ull, 8, 0},
        {0xFFFFFFFF55667788ull, 4, 1}, {0x1122334455667700ull, 4, 0}};

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t was = 0x1122334455667788ull, operand = 0xAABBCCDDEEFF0011ull, got = 0, now;
        struct ss_portals_header header =
            ask(SS_PORTALS_OP_CGETPUT, SS_HEADER_FLAG_INLINE, cases[i].length);

        boot();
        memcpy(devices.host, &was, 8);
        post_at(1, HOST_PHYS, 8, BOTH);
        header.hdr_data = cases[i].condition;
        memcpy(header.inline_data, &operand, cases[i].length);
        atomic(&header, (uint8_t *)&got);
        CHECK(memcmp(&got, &was, cases[i].length) == 0);
        memcpy(&now, devices.host, 8);
        memcpy(&was, &operand, cases[i].swaps ? cases[i].length : 0);
        CHECK(now == was);
    }
}

/* Up to 64 bytes: answers over eight leave from host memory, and operands over twelve come there. */
static void a_swap_exchanges_up_to_64_bytes(void)
{
    for (uint32_t length = 0; length <= SS_ATOMIC_MAX; length++) {
        uint64_t phys = HOST_PHYS - length / 2;
        struct ss_portals_header header =
            ask(SS_PORTALS_OP_GETPUT, length <= 12 ? SS_HEADER_FLAG_INLINE : 0, length);
        uint8_t got[SS_ATOMIC_MAX];
        uint32_t lower, stream, answer;

        boot();
        for (uint32_t i = 0; i < length; i++)
            *devices_host(phys + i, 1) = (uint8_t)(i + 1);
        post_at(1, phys, length, BOTH);
        header.hdr_data = 0x0102030405060708ull; /* The user's; no answer has it. */
        if (length <= 12) {
            memset(header.inline_data, 0xC7, length);
            atomic(&header, got);
        } else {
            stream = sim_arrive(&header, length);
            sim_turns(1);
            lower = taken(sim_event(USER), SS_EVENT_TYPE_RX_HEADER);
            answer = event_line.answer;
            CHECK(sim_rx_step(8) == 1 && sim_streams[stream].deposited == length);
            /* Where nobody else's operand goes. */
            CHECK(sim_streams[stream].addr ==
                  sim_upper_phys(USER) + PENDINGS * 128 + lower * SS_ATOMIC_MAX);
            memset(devices_host(sim_streams[stream].addr, length), 0xC7, length);
            CHECK(*devices_host(phys, 1) == 1 && sim_rx_finish(stream));
            sim_turns(1);
            CHECK(sim_event(USER) == EVENT(RX_COMPLETE, lower));
            CHECK(sim_tx_step(2) == 1 && sim_sent(0)->header.op == SS_PORTALS_OP_REPLY);
            CHECK(sim_sent(0)->header.flags == 0 && sim_sent(0)->total == length);
            CHECK(sim_sent(0)->header.hdr_data == 0);
            CHECK(answer && sim_sent(0)->header.serial == answer);
            memcpy(got, devices_host(sim_sent(0)->addr[0], length), length);
            sim_turns(1);
            CHECK(sim_event(USER) == EVENT(TX_COMPLETE, lower));
        }
        for (uint32_t i = 0; i < length; i++)
            CHECK(got[i] == i + 1 && *devices_host(phys + i, 1) == 0xC7);
        sim_check_idle();
    }
}

/* What cannot be performed is dropped like any other request, or answered as having failed. */
static void an_atomic_operation_that_cannot_be_is_not_performed(void)
{
    static const struct { uint32_t op, length, options; } cases[] = {
        {SS_PORTALS_OP_GETADD, 2, BOTH}, {SS_PORTALS_OP_CGETPUT, 12, BOTH},
        {SS_PORTALS_OP_GETADD, 8, SS_DESCRIPTOR_OPTION_PUT},
        {SS_PORTALS_OP_GETPUT, 8, SS_DESCRIPTOR_OPTION_GET},
        /* Its descriptor has four bytes, and a number is not cut. */
        {SS_PORTALS_OP_GETADD, 8, BOTH | SS_DESCRIPTOR_OPTION_TRUNCATE}};
    struct ss_portals_header header;
    uint32_t lower, stream;

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        boot();
        post_at(1, HOST_PHYS, 4, cases[i].options);
        header = ask(cases[i].op, SS_HEADER_FLAG_INLINE, cases[i].length);
        stream = sim_arrive(&header, 0);
        sim_turns(1);
        taken_whole(sim_event(USER), SS_EVENT_TYPE_RX_INLINE);
        CHECK(event_line.entry == SS_ENTRY_NONE && event_line.answer == 0);
        CHECK(sim_tx_step(2) == 0);
        drain(stream);
        sim_check_idle();
    }
    /* The sender could not read the operand; or it was damaged on the way. */
    for (uint32_t damaged = 0; damaged <= 1; damaged++) {
        boot();
        post_at(1, HOST_PHYS, 32, BOTH);
        header = ask(SS_PORTALS_OP_GETPUT,
                     damaged ? 0 : SS_HEADER_FLAG_INLINE | SS_HEADER_FLAG_FAILED, 32);
        devices.host[0] = 77;
        stream = sim_arrive(&header, damaged ? 32 : 0);
        sim_turns(1);
        lower = taken(sim_event(USER), damaged ? SS_EVENT_TYPE_RX_HEADER : SS_EVENT_TYPE_RX_GET);
        if (damaged) {
            sim_rx_step(8);
            sim_streams[stream].error = 1;
            CHECK(sim_rx_finish(stream));
            sim_turns(1);
            CHECK(sim_event(USER) == EVENT(ERR_RX_CRC, lower));
        }
        CHECK(sim_tx_step(2) == 1 && devices.host[0] == 77);
        CHECK(sim_sent(0)->header.flags == (SS_HEADER_FLAG_INLINE | SS_HEADER_FLAG_FAILED));
        CHECK(sim_sent(0)->total == 0);
        sim_turns(1);
        CHECK(sim_event(USER) == EVENT(TX_COMPLETE, lower));
        if (!damaged)
            drain(stream);
        sim_check_idle();
    }
}

/* Four windows for nine places: one is taken back for each that none shows. */
static void windows_are_taken_back_when_they_are_few(void)
{
    struct ss_portals_header header = ask(SS_PORTALS_OP_GETADD, SS_HEADER_FLAG_INLINE, 8);

    boot();
    for (uint32_t i = 0; i < HOST_FAR_COUNT; i++)
        post_at(i, HOST_FAR(i) + 8 * i, 8, BOTH);
    memset(header.inline_data, 0, sizeof(header.inline_data));
    header.inline_data[0] = 1;
    for (uint64_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < HOST_FAR_COUNT; i++) {
            uint64_t got = 99;

            /* All have the same bits: the one that is first takes it. */
            struct ss_entry_command command = entry(SS_COMMAND_OP_UNLINK, i);

            atomic(&header, (uint8_t *)&got);
            CHECK(got == round && devices.far[i][8 * i] == round + 1);
            sim_command(USER, &command);
            sim_turns(1);
            CHECK(sim_event(USER) == EVENT(RESULT, SS_ENTRY_RESULT_DONE));
            post_at(i, HOST_FAR(i) + 8 * i, 8, BOTH);
        }
    }
    CHECK(devices.maps == 3 * HOST_FAR_COUNT);
    sim_check_idle();
}

const struct test tests_atomic[] = {
    {"an atomic add answers with what was there", an_atomic_add_answers_with_what_was_there},
    {"a conditional swap looks at its condition", a_conditional_swap_looks_at_its_condition},
    {"a swap exchanges up to 64 bytes", a_swap_exchanges_up_to_64_bytes},
    {"an atomic operation that cannot be is not performed",
     an_atomic_operation_that_cannot_be_is_not_performed},
    {"windows are taken back when they are few", windows_are_taken_back_when_they_are_few},
    {0, 0},
};

#else

const struct test tests_atomic[] = {{0, 0}};

#endif
