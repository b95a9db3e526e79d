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

static inline struct ss_match_result *result(uint32_t lower)
{
    return (struct ss_match_result *)((uint8_t *)sim_upper(USER, lower) +
                                      offsetof(struct ss_upper_pending, data));
}

static inline uint32_t taken(uint32_t event, uint32_t type)
{
    CHECK(event >> 16 == type);
    CHECK((event & 0xFFFF) >= TX_PENDINGS);
    return event & 0xFFFF;
}

static inline void release(uint32_t lower)
{
    sim_release(USER, lower);
    sim_turns(1);
}

static inline void drain(uint32_t stream)
{
    CHECK(sim_rx_step(8) == 1 && sim_rx_finish(stream));
    sim_turns(1);
}

#endif
