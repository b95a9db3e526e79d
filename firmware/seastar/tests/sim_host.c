/* The host's side: boot, commands, results, events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "mainloop.h"
#include "niccb.h"
#include "sim.h"

extern volatile uint32_t ready_flag;

/* Each process has 256 KB of simulated host memory: upper pendings, then the event ring. */
#define PROCESS_STRIDE 0x40000u
#define EVENTS_OFFSET 0x30000u

/* What an accelerated process's rings are made of. */
static int is_accelerated(uint32_t index)
{
    return OPT_ACCELERATED && index != GENERIC;
}

static uint32_t slot_count(uint32_t mailbox)
{
    return is_accelerated(mailbox) ? SS_SLOT_COUNT : SS_COMMAND_COUNT;
}

static uint32_t slot_size(uint32_t mailbox)
{
    return is_accelerated(mailbox) ? SS_SLOT_SIZE : SS_COMMAND_SIZE;
}

void *sim_panic_jump[5];
static int panic_expected;
static uint32_t event_next[SS_MAILBOX_COUNT];
static uint32_t event_count[SS_MAILBOX_COUNT];
static uint32_t events_taken;
struct ss_event_line event_line;
static uint32_t next_serial;

static void halted(void)
{
    if (!panic_expected) {
        fprintf(stderr, "unexpected panic %08x\n", devices.panic_word);
        sim_fail(__FILE__, __LINE__, "panic");
    }
    panic_expected = 0;
    __builtin_longjmp(sim_panic_jump, 1);
}

void sim_expect_panic(void)
{
    panic_expected = 1;
}

void sim_reset(void)
{
    memset(&devices, 0, sizeof(devices));
    memset((void *)mailboxes, 0, sizeof(struct ss_mailbox) * SS_MAILBOX_COUNT);
    memset((void *)&niccb, 0xA5, sizeof(niccb));
    sim_dma_reset();
    memset(event_next, 0, sizeof(event_next));
    memset(event_count, 0, sizeof(event_count));
    events_taken = 0;
    next_serial = 0;
    panic_expected = 0;
    ready_flag = 0;
    devices.nid = 7;
    devices_halted = halted;
    firmware_init();
    CHECK(ready_flag == SS_READY_VALUE);
}

void sim_turns(unsigned count)
{
    while (count--) {
        uint32_t heartbeat = niccb.firmware_heartbeat;

        mainloop_turn();
        CHECK(niccb.firmware_heartbeat == heartbeat + 1);
    }
}

int sim_command_room(uint32_t mailbox)
{
    uint32_t next = (mailboxes[mailbox].command_write + 1) % slot_count(mailbox);

    return next != mailboxes[mailbox].command_read;
}

static void give(uint32_t mailbox, const void *command, uint32_t size)
{
    uint32_t tail = mailboxes[mailbox].command_write;

    CHECK(sim_command_room(mailbox));
    memcpy((void *)&mailboxes[mailbox].commands[tail * slot_size(mailbox)], command, size);
    mailboxes[mailbox].command_write = (tail + 1) % slot_count(mailbox);
}

void sim_command(uint32_t mailbox, const void *command)
{
    give(mailbox, command, SS_COMMAND_SIZE);
}

int sim_result(uint32_t mailbox, uint32_t *value)
{
    uint32_t head = mailboxes[mailbox].result_read;

    if (head == mailboxes[mailbox].result_write)
        return 0;
    *value = mailboxes[mailbox].results[head];
    mailboxes[mailbox].result_read = (head + 1) % SS_RESULT_COUNT;
    return 1;
}

uint64_t sim_upper_phys(uint32_t index)
{
    return HOST_PHYS + index * PROCESS_STRIDE;
}

uint32_t sim_upper_local(uint32_t index)
{
    return HOST_LOCAL + index * PROCESS_STRIDE;
}

uint32_t sim_event_local(uint32_t index)
{
    return sim_upper_local(index) + EVENTS_OFFSET;
}

struct ss_portals_header *sim_upper(uint32_t index, uint32_t lower)
{
    return (struct ss_portals_header *)&devices.host[index * PROCESS_STRIDE + lower * 128];
}

uint32_t sim_event(uint32_t index)
{
    uint32_t word, size = is_accelerated(index) ? sizeof(struct ss_event_line) : 4;
    uint8_t *slot = &devices.host[index * PROCESS_STRIDE + EVENTS_OFFSET +
                                  event_next[index] * size];

    memcpy(&word, slot + size - 4, 4);
    if (word && is_accelerated(index))
        memcpy(&event_line, slot, sizeof(event_line));
    slot += size - 4;
    if (word) {
        memset(slot, 0, 4);
        event_next[index] = (event_next[index] + 1) % event_count[index];
        events_taken += index == GENERIC;
    }
    return word;
}

uint32_t sim_events_taken(void)
{
    return events_taken;
}

static void expect_result(uint32_t expected)
{
    uint32_t value;

    sim_turns(1);
    CHECK(sim_result(GENERIC, &value));
    CHECK(value == expected);
}

void sim_start_process(uint32_t index, uint32_t pid, uint32_t num_pendings, uint32_t tx_limit,
                       uint32_t events)
{
    struct ss_init_process_command init = {
        .op = SS_COMMAND_OP_INIT_PROCESS, .process_index = (uint8_t)index, .pid = (uint16_t)pid,
        .num_pendings = (uint16_t)num_pendings, .pending_tx_limit = (uint16_t)tx_limit,
        .upper_pending_lo = (uint32_t)sim_upper_phys(index),
        .upper_pending_hi = (uint32_t)(sim_upper_phys(index) >> 32),
        .upper_pending_local = sim_upper_local(index)};
    struct ss_init_eqcb_command eqcb = {
        .op = SS_COMMAND_OP_INIT_EQCB, .process_index = (uint8_t)index, .count = events,
        .base_local = sim_event_local(index)};
    struct ss_mark_alive_command alive = {
        .op = SS_COMMAND_OP_MARK_ALIVE, .process_index = (uint8_t)index};

    event_count[index] = events;
    sim_command(GENERIC, &init);
    expect_result(0);
    sim_command(GENERIC, &eqcb);
    expect_result(1);
    sim_command(GENERIC, &alive);
    expect_result(0);
}

void sim_restart_process(uint32_t index, uint32_t pid, uint32_t num_pendings, uint32_t tx_limit,
                         uint32_t events)
{
    event_next[index] = 0;
    sim_start_process(index, pid, num_pendings, tx_limit, events);
}

void sim_boot(uint32_t num_pendings, uint32_t tx_limit, uint32_t events)
{
    sim_reset();
    sim_start_process(GENERIC, 0, num_pendings, tx_limit, events);
}

/* The same of an accelerated process: the header stands in the upper pending, too. */
static void tx_slot(uint32_t index, uint32_t lower, uint32_t peer, uint64_t addr, uint32_t length)
{
    struct ss_transmit_slot slot = {
        .op = SS_COMMAND_OP_TX, .process_index = (uint8_t)index, .pending = (uint16_t)lower,
        .length = length, .addr_lo = (uint32_t)addr, .addr_hi = (uint16_t)(addr >> 32)};

    sim_upper(index, lower)->target_nid = (uint16_t)peer;
    memcpy(slot.header, sim_upper(index, lower), sizeof(slot.header));
    give(index, &slot, SS_SLOT_SIZE);
}

void sim_tx(uint32_t index, uint32_t lower, uint32_t peer, uint64_t addr, uint32_t length)
{
    if (is_accelerated(index)) {
        tx_slot(index, lower, peer, addr, length);
        return;
    }
    struct ss_tx_command command = {
        .op = SS_COMMAND_OP_TX, .process_index = (uint8_t)index, .pending = (uint16_t)lower,
        .peer = (uint16_t)peer, .length = length, .addr_lo = (uint32_t)addr,
        .addr_hi = (uint32_t)(addr >> 32)};

    sim_command(index, &command);
}

/* Address of a precomputed command; those after SRAM's stand in host memory. */
static uint32_t list_address(uint32_t first)
{
    uint32_t size = (uint32_t)sizeof(struct ss_dma_command);

    if (first < SS_DMA_LIST_COUNT)
        return SS_DMA_LIST_BASE + first * size;
    return HOST_LIST_LOCAL + (first - SS_DMA_LIST_COUNT) * size;
}

void sim_tx_list(uint32_t lower, uint32_t peer, uint32_t length, uint32_t first, uint32_t count)
{
    struct ss_tx_command command = {
        .op = SS_COMMAND_OP_TX, .process_index = GENERIC, .pending = (uint16_t)lower,
        .peer = (uint16_t)peer, .length = length, .dma_count = (uint16_t)count,
        .dma_list = list_address(first)};

    sim_command(GENERIC, &command);
}

void sim_rx(uint32_t index, uint32_t lower, uint64_t addr, uint32_t length)
{
    struct ss_rx_command command = {
        .op = SS_COMMAND_OP_RX, .process_index = (uint8_t)index, .pending = (uint16_t)lower,
        .length = length, .addr_lo = (uint32_t)addr, .addr_hi = (uint32_t)(addr >> 32)};

    sim_command(index, &command);
}

void sim_rx_list(uint32_t lower, uint32_t length, uint32_t first, uint32_t count)
{
    struct ss_rx_command command = {
        .op = SS_COMMAND_OP_RX, .process_index = GENERIC, .pending = (uint16_t)lower,
        .length = length, .dma_count = (uint16_t)count,
        .dma_list = list_address(first)};

    sim_command(GENERIC, &command);
}

void sim_credit(uint32_t index, uint32_t count)
{
    struct ss_credit_command command = {
        .op = SS_COMMAND_OP_CREDIT, .process_index = (uint8_t)index, .count = (uint16_t)count};

    sim_command(index, &command);
}

void sim_release(uint32_t index, uint32_t lower)
{
    struct ss_release_command command = {
        .op = SS_COMMAND_OP_RELEASE, .process_index = (uint8_t)index, .pending = (uint16_t)lower};

    sim_command(index, &command);
}

struct ss_portals_header sim_header(uint32_t op, uint32_t flags, uint32_t nid, uint32_t pid,
                                    uint32_t length)
{
    struct ss_portals_header header = {
        .op = (uint8_t)op, .flags = (uint8_t)flags, .source_nid = (uint16_t)nid,
        .target_nid = devices.nid, .target_pid = (uint16_t)pid, .length = length,
        .serial = ++next_serial};

    for (unsigned i = 0; i < sizeof(header.inline_data); i++)
        header.inline_data[i] = (uint8_t)(next_serial + i);
    return header;
}

uint32_t sim_free_pendings(uint32_t index)
{
    uint32_t count = 0;

    for (const pending_t *p = processes[index].rx_free; p; p = pending_next(p)) {
        CHECK(p->state == PENDING_IDLE && p->process_index == index);
        CHECK(p->index >= processes[index].tx_limit);
        CHECK(++count <= processes[index].num_pendings);
    }
    return count;
}

void sim_check_idle(void)
{
    for (uint32_t i = 0; i < SS_MAILBOX_COUNT; i++) {
        if (!processes[i].initialised)
            continue;
        CHECK(sim_free_pendings(i) == processes[i].num_pendings - processes[i].tx_limit);
        CHECK(sim_event(i) == 0);
#if OPT_ACCELERATED
        CHECK(i == GENERIC || processes[i].slots_held == 0);
        CHECK(i == GENERIC || mailboxes[i].command_read == mailboxes[i].command_write);
#endif
        for (uint32_t j = 0; j < processes[i].num_pendings; j++)
            CHECK(processes[i].pendings[j].state == PENDING_IDLE);
    }
    for (uint32_t i = 0; i < SS_SOURCES; i++)
        CHECK(sources[i].refs == 0);
    for (uint32_t i = 0; i < SS_CAM_ENTRIES; i++)
        CHECK(!sim_streams[i].busy);
    CHECK(devices.tx_head == devices.tx_tail && devices.rx_head == devices.rx_tail);
    CHECK(niccb.cam_in_use == 0 && waiting == 0 && cached_niccb.tx_pending == 0);
    CHECK(devices.interrupts == niccb.interrupt_count);
    CHECK(devices.interrupts == events_taken);
    CHECK(niccb.sequence_errors == 0);
}
