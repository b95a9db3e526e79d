/* Transmission. */
#include <string.h>

#include "niccb.h"
#include "sim.h"
#include "tests.h"

static void header_only(void)
{
    struct ss_portals_header header;

    sim_boot(64, 32, 1024);
    header = sim_header(SS_PORTALS_OP_PUT, SS_HEADER_FLAG_INLINE, 7, 1, 12);
    *sim_upper(GENERIC, 5) = header;
    sim_tx(GENERIC, 5, 1234, 0, 0);
    sim_turns(1);
    CHECK(devices.tx_tail == 1);
    CHECK(devices.tx_fifo[0].op == SS_DMA_OP_HEADER);
    CHECK(devices.tx_fifo[0].flags == SS_DMA_FLAG_LAST);
    CHECK(sim_event(GENERIC) == 0);
    CHECK(sim_tx_step(8) == 1);
    CHECK(sim_sent(0)->peer == 1234 && sim_sent(0)->total == 0);
    CHECK(memcmp(&sim_sent(0)->header, &header, sizeof(header)) == 0);
    sim_turns(1);
    CHECK(sim_event(GENERIC) == EVENT(TX_COMPLETE, 5));
    CHECK(devices.interrupts == 1 && niccb.tx_complete == 1);
    sim_check_idle();
}

static void contiguous_payload_is_one_command(void)
{
    sim_boot(64, 32, 1024);
    sim_tx(GENERIC, 0, 2, 0xFF89ABCDEFull, 0x12345678);
    sim_turns(1);
    CHECK(devices.tx_tail == 2);
    CHECK(devices.tx_fifo[0].flags == 0 && devices.tx_fifo[1].flags == SS_DMA_FLAG_LAST);
    CHECK(sim_tx_step(8) == 1);
    CHECK(sim_sent(0)->regions == 1 && sim_sent(0)->addr[0] == 0xFF89ABCDEFull);
    CHECK(sim_sent(0)->length[0] == 0x12345678);
    sim_turns(1);
    CHECK(sim_event(GENERIC) == EVENT(TX_COMPLETE, 0));
    sim_check_idle();
}

/* Fills the host's precomputed commands: region i has 100 + i bytes at 0x100000000 + i MB. */
static uint32_t fill_list(uint32_t first, uint32_t count)
{
    uint32_t total = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct ss_dma_command *entry = &devices.dma_list[first + i];

        memset(entry, 0xEE, sizeof(*entry)); /* Only address and length count. */
        entry->addr_hi = 1;
        entry->addr_lo = i << 20;
        entry->length = 100 + i;
        total += 100 + i;
    }
    return total;
}

static void lists_may_stand_in_host_memory(void)
{
    sim_boot(64, 32, 1024);
    for (uint32_t i = 0; i < 3; i++) {
        devices.host_list[5 + i].addr_lo = i << 20;
        devices.host_list[5 + i].length = 100 + i;
    }
    sim_tx_list(1, 2, 303, SS_DMA_LIST_COUNT + 5, 3);
    sim_turns(1);
    CHECK(sim_tx_step(8) == 1);
    CHECK(sim_sent(0)->regions == 3 && sim_sent(0)->addr[2] == 2 << 20);
    sim_turns(1);
    CHECK(sim_event(GENERIC) == EVENT(TX_COMPLETE, 1));
    sim_check_idle();
}

static void an_open_list_ends_with_the_message(void)
{
    sim_boot(64, 32, 1024);
    for (uint32_t i = 0; i < HOST_LIST_COUNT; i++) {
        devices.host_list[i].addr_lo = i << 12;
        devices.host_list[i].length = 4;
    }
    sim_tx_list(1, 2, 4 * HOST_LIST_COUNT, SS_DMA_LIST_COUNT, SS_DMA_COUNT_OPEN);
    for (uint32_t turn = 0; turn < HOST_LIST_COUNT; turn++) {
        sim_turns(1);
        if (sim_tx_step(8))
            break;
    }
    CHECK(sim_sent(0)->regions == HOST_LIST_COUNT && sim_sent(0)->total == 4 * HOST_LIST_COUNT);
    sim_turns(1);
    CHECK(sim_event(GENERIC) == EVENT(TX_COMPLETE, 1));
    sim_check_idle();
}

static void scattered_payload_uses_the_host_s_commands(void)
{
    uint32_t total;

    sim_boot(64, 32, 1024);
    total = fill_list(7, 3);
    sim_tx_list(1, 2, total, 7, 3);
    sim_turns(1);
    CHECK(sim_tx_step(8) == 1);
    CHECK(sim_sent(0)->regions == 3 && sim_sent(0)->total == total);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(sim_sent(0)->addr[i] == 0x100000000ull + (i << 20));
        CHECK(sim_sent(0)->length[i] == 100 + i);
    }
    sim_turns(1);
    CHECK(sim_event(GENERIC) == EVENT(TX_COMPLETE, 1));
    sim_check_idle();
}

static void a_full_fifo_makes_transmission_yield(void)
{
    unsigned left = 0;

    sim_boot(256, 200, 1024);
    for (unsigned i = 0; i < 100; i++) {
        sim_tx(GENERIC, i, i, HOST_PHYS, 1000 + i);
        sim_turns(1); /* Checks that the heartbeat goes on. */
    }
    CHECK((devices.tx_tail + 1) % SS_DMA_FIFO_DEPTH == devices.tx_head);
    CHECK(waiting & WAITING_TX);
    CHECK(cached_niccb.tx_pending == 100);
    while (left < 100) {
        left += sim_tx_step(3);
        sim_turns(1);
    }
    sim_turns(1);
    for (unsigned i = 0; i < 100; i++) {
        CHECK(sim_sent(99 - i)->peer == i && sim_sent(99 - i)->total == 1000 + i);
        CHECK(sim_event(GENERIC) == EVENT(TX_COMPLETE, i));
    }
    sim_check_idle();
}

static void a_message_larger_than_the_fifo_goes_in_parts(void)
{
    uint32_t total;

    sim_boot(64, 32, 1024);
    total = fill_list(0, 250);
    sim_tx_list(1, 2, total, 0, 250);
    sim_tx(GENERIC, 2, 3, HOST_PHYS, 5);
    for (unsigned turns = 0; sim_tx_step(1) == 0; turns++) {
        CHECK(turns < 1000);
        sim_turns(1);
    }
    CHECK(sim_sent(0)->regions == 250 && sim_sent(0)->total == total);
    sim_turns(1);
    CHECK(sim_event(GENERIC) == EVENT(TX_COMPLETE, 1));
    CHECK(sim_tx_step(8) == 1);
    sim_turns(1);
    CHECK(sim_event(GENERIC) == EVENT(TX_COMPLETE, 2));
    sim_check_idle();
}

static void upper_pendings_may_cross_4_gb(void)
{
    struct ss_init_process_command init = {
        .op = SS_COMMAND_OP_INIT_PROCESS, .process_index = GENERIC, .num_pendings = 8,
        .pending_tx_limit = 4, .upper_pending_lo = 0xFFFFFF80, .upper_pending_hi = 4,
        .upper_pending_local = sim_upper_local(GENERIC)};
    struct ss_init_eqcb_command eqcb = {
        .op = SS_COMMAND_OP_INIT_EQCB, .process_index = GENERIC, .count = 1024,
        .base_local = sim_event_local(GENERIC)};
    struct ss_mark_alive_command alive = {
        .op = SS_COMMAND_OP_MARK_ALIVE, .process_index = GENERIC};
    const void *commands[] = {&init, &eqcb, &alive};
    uint32_t value;

    sim_reset();
    for (unsigned i = 0; i < 3; i++) {
        sim_command(GENERIC, commands[i]);
        sim_turns(1);
        CHECK(sim_result(GENERIC, &value));
    }
    sim_tx(GENERIC, 0, 2, 0, 0);
    sim_tx(GENERIC, 1, 2, 0, 0);
    sim_turns(1);
    CHECK(devices.tx_fifo[0].addr_lo == 0xFFFFFF80 && devices.tx_fifo[0].addr_hi == 4);
    CHECK(devices.tx_fifo[1].addr_lo == 0 && devices.tx_fifo[1].addr_hi == 5);
}

static void a_failed_transmission_is_reported(void)
{
    sim_boot(64, 32, 1024);
    sim_tx(GENERIC, 9, 2, HOST_PHYS, 100);
    sim_turns(1);
    sim_tx_error_next();
    CHECK(sim_tx_step(8) == 1);
    sim_turns(1);
    CHECK(sim_event(GENERIC) == EVENT(ERR_TX, 9));
    sim_check_idle();
}

const struct test tests_tx[] = {
    {"tx: header only", header_only},
    {"tx: contiguous payload is one command", contiguous_payload_is_one_command},
    {"tx: lists may stand in host memory", lists_may_stand_in_host_memory},
    {"tx: an open list ends with the message", an_open_list_ends_with_the_message},
    {"tx: scattered payload uses the host's commands", scattered_payload_uses_the_host_s_commands},
    {"tx: a full FIFO makes transmission yield", a_full_fifo_makes_transmission_yield},
    {"tx: a message larger than the FIFO goes in parts",
     a_message_larger_than_the_fifo_goes_in_parts},
    {"tx: upper pendings may cross 4 GB", upper_pendings_may_cross_4_gb},
    {"tx: a failed transmission is reported", a_failed_transmission_is_reported},
    {0, 0},
};
