/* The user-level library of an accelerated process, for dialogues with the firmware. */
#ifndef SEASTAR_TESTS_USER_H
#define SEASTAR_TESTS_USER_H

#include "sim.h"

#define USER 2u
#define PID 42u
#define BUFFER HOST_PHYS /* Memory of process 0, which there is none of. */
#define TX_PENDINGS 16u
#define PENDINGS 48u

static inline void boot(void)
{
    sim_boot(64, 32, 1024);
    sim_start_process(USER, PID, PENDINGS, TX_PENDINGS, 1024);
}

static inline struct ss_entry_command entry(uint32_t op, uint32_t number)
{
    struct ss_entry_command command = {
        .op = (uint8_t)op, .process_index = USER, .entry = (uint16_t)number,
        .base = SS_ENTRY_NONE, .flags = SS_ENTRY_FLAG_AFTER | SS_ENTRY_FLAG_ANY_NID |
                                        SS_ENTRY_FLAG_ANY_PID,
        .eq = 3, .test = 3, .threshold = 0xFFFFFFFFu, .handle = 1u << 20 | number};

    return command;
}

/* The pending of an event of this type. */
static inline uint32_t taken(uint32_t event, uint32_t type)
{
    CHECK(event >> 16 == type);
    CHECK((event & 0xFFFF) >= TX_PENDINGS);
    return event & 0xFFFF;
}

/* An event of a message that was whole in its header. */
static inline void taken_whole(uint32_t event, uint32_t type)
{
    CHECK(event == (type << 16 | SS_EVENT_WHOLE));
}

/* The line of the last event tells of this request. */
static inline void check_line(const struct ss_portals_header *header)
{
    CHECK(event_line.op == header->op && event_line.flags == header->flags);
    CHECK(event_line.pt_index == header->pt_index && event_line.ac_index == header->ac_index);
    CHECK(event_line.source_nid == header->source_nid);
    CHECK(event_line.source_pid == header->source_pid);
    CHECK(event_line.length == header->length && event_line.uid == header->uid);
    CHECK(((uint64_t)event_line.match_bits_hi << 32 | event_line.match_bits_lo) ==
          header->match_bits);
    CHECK(((uint64_t)event_line.hdr_data_hi << 32 | event_line.hdr_data_lo) == header->hdr_data);
    CHECK(event_line.serial == header->serial);
}

static inline void drain(uint32_t stream)
{
    CHECK(sim_rx_step(8) == 1 && sim_rx_finish(stream));
    sim_turns(1);
}

#endif
