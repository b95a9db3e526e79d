/* Boot, mailbox, processes, trace. */
#include <string.h>

#include "command.h"
#include "niccb.h"
#include "sim.h"
#include "tests.h"

static void boot_reports_itself(void)
{
    sim_reset();
    CHECK(niccb.version == NICCB_VERSION);
    CHECK(niccb.local_nid == 7);
    CHECK(niccb.crash_reason == 0 && niccb.interrupt_count == 0);
    CHECK(niccb.tracebuf_info[0] == SS_TRACE_BASE);
    sim_turns(10);
    CHECK(niccb.firmware_heartbeat == 10);
}

static void kernel_brings_generic_process_to_life(void)
{
    sim_boot(SS_GENERIC_PENDINGS, 600, 2048);
    CHECK(sim_free_pendings(GENERIC) == SS_GENERIC_PENDINGS - 600);
    sim_check_idle();
}

static void results_wait_for_the_host(void)
{
    struct ss_init_process_command init = {
        .op = SS_COMMAND_OP_INIT_PROCESS, .process_index = GENERIC, .num_pendings = 8,
        .pending_tx_limit = 4, .upper_pending_local = HOST_LOCAL};
    struct ss_init_eqcb_command eqcb = {
        .op = SS_COMMAND_OP_INIT_EQCB, .process_index = GENERIC, .count = 1024,
        .base_local = HOST_LOCAL + 0x30000};
    uint32_t value;

    sim_reset();
    sim_command(GENERIC, &init);
    sim_command(GENERIC, &eqcb);
    sim_turns(3);
    /* One result fits; the second command waits until it is taken. */
    CHECK(mailboxes[GENERIC].command_read == 1);
    CHECK(sim_result(GENERIC, &value) && value == 0);
    sim_turns(1);
    CHECK(mailboxes[GENERIC].command_read == 2);
    CHECK(sim_result(GENERIC, &value) && value == 1);
    CHECK(!sim_result(GENERIC, &value));
}

static void commands_wrap_in_the_mailbox(void)
{
    sim_boot(64, 32, 1024);
    for (unsigned i = 0; i < 5 * SS_COMMAND_COUNT; i++) {
        sim_tx(GENERIC, i % 32, 3, HOST_PHYS, 0);
        sim_turns(1);
        CHECK(sim_tx_step(1) == 1);
        sim_turns(1);
        CHECK(sim_event(GENERIC) == EVENT(TX_COMPLETE, i % 32));
    }
    sim_check_idle();
}

static void a_full_mailbox_is_taken_whole(void)
{
    unsigned sent = 0;

    sim_boot(128, 64, 1024);
    while (sim_command_room(GENERIC))
        sim_tx(GENERIC, sent++, 3, HOST_PHYS, 0);
    CHECK(sent == SS_COMMAND_COUNT - 1);
    sim_turns(1);
    CHECK(mailboxes[GENERIC].command_read == mailboxes[GENERIC].command_write);
    CHECK(sim_tx_step(64) == sent);
    sim_turns(1);
    for (unsigned i = 0; i < sent; i++)
        CHECK(sim_event(GENERIC) == EVENT(TX_COMPLETE, i));
    sim_check_idle();
}

static void accelerated_processes_have_their_own_mailbox_and_events(void)
{
    struct ss_portals_header header;
    uint32_t stream, event;

    if (OPT_ACCELERATED)
        return; /* Then the firmware matches for them (test_accel.c). */
    sim_boot(64, 32, 1024);
    sim_start_process(0, 42, 64, 16, 1024);
    sim_start_process(2, 43, 32, 16, 2048);

    /* To pid 43: events in its own queue, no interrupt. */
    header = sim_header(SS_PORTALS_OP_PUT, 0, 9, 43, 100);
    stream = sim_arrive(&header, 100);
    sim_turns(1);
    event = sim_event(2);
    CHECK(event >> 16 == SS_EVENT_TYPE_RX_HEADER && (event & 0xFFFF) >= 16);
    CHECK(sim_event(GENERIC) == 0 && devices.interrupts == 0);
    sim_rx(2, event & 0xFFFF, 0x1000, 100);
    sim_turns(1);
    CHECK(sim_rx_step(8) == 1 && sim_rx_finish(stream));
    sim_turns(1);
    CHECK(sim_event(2) == EVENT(RX_COMPLETE, event & 0xFFFF));
    sim_release(2, event & 0xFFFF);

    /* To any other pid: the generic one's. */
    header = sim_header(SS_PORTALS_OP_PUT, 0, 9, 44, 0);
    stream = sim_arrive(&header, 0);
    sim_turns(1);
    event = sim_event(GENERIC);
    CHECK(event >> 16 == SS_EVENT_TYPE_RX_HEADER && devices.interrupts == 1);
    sim_rx(GENERIC, event & 0xFFFF, 0, 0);
    sim_turns(1);
    CHECK(sim_rx_step(8) == 1 && sim_rx_finish(stream));
    sim_turns(1);
    CHECK(sim_event(GENERIC) == EVENT(RX_COMPLETE, event & 0xFFFF));
    sim_release(GENERIC, event & 0xFFFF);

    /* Transmissions of all share one list. */
    sim_tx(0, 3, 5, HOST_PHYS, 64);
    sim_tx(2, 3, 5, HOST_PHYS, 64);
    sim_tx(GENERIC, 3, 5, HOST_PHYS, 64);
    sim_turns(1);
    CHECK(sim_tx_step(64) == 3);
    sim_turns(2);
    CHECK(sim_event(0) == EVENT(TX_COMPLETE, 3));
    CHECK(sim_event(2) == EVENT(TX_COMPLETE, 3));
    CHECK(sim_event(GENERIC) == EVENT(TX_COMPLETE, 3));
    CHECK(devices.interrupts == 3);
    sim_check_idle();
}

static void the_event_ring_wraps(void)
{
    sim_boot(64, 32, 1024);
    for (unsigned i = 0; i < 5000; i++) {
        sim_tx(GENERIC, i % 32, i % 100, HOST_PHYS, 8);
        sim_turns(1);
        CHECK(sim_tx_step(2) == 1);
        sim_turns(1);
        CHECK(sim_event(GENERIC) == EVENT(TX_COMPLETE, i % 32));
        CHECK(sim_event(GENERIC) == 0);
    }
    CHECK(niccb.tx_complete == 5000 && niccb.interrupt_count == 5000);
    sim_check_idle();
}

static void trace_records_only_when_compiled_in(void)
{
    sim_boot(8, 4, 1024);
    CHECK(niccb.tracebuf_info[1] == (OPT_TRACE ? SS_TRACE_COUNT : 0));
    if (!OPT_TRACE) {
        CHECK(devices.trace_count == 0);
        return;
    }
    CHECK(devices.trace_count > 0);
    /* The mailbox was seen (2), then the command: its op as the value. */
    CHECK(devices.trace[0].value_pc >> 24 == 2);
    CHECK(devices.trace[1].value_pc >> 24 == SS_COMMAND_OP_INIT_PROCESS);
    CHECK((devices.trace[1].value_pc & 0xFFFFFF) != 0);
    sim_turns(1);
    CHECK(niccb.tracebuf_info[2] == devices.trace_count % SS_TRACE_COUNT);
}

/* An idle turn reads the two completion tails and nothing more, unless shadows are off. */
static void idle_turns_read_little(void)
{
    uint32_t before;

    sim_boot(8, 4, 1024);
    before = devices.register_reads;
    sim_turns(100);
    CHECK(devices.register_reads - before == (OPT_SHADOW_FIFOS ? 200 : 400));
}

const struct test tests_boot[] = {
    {"boot reports itself", boot_reports_itself},
    {"kernel brings the generic process to life", kernel_brings_generic_process_to_life},
    {"results wait for the host", results_wait_for_the_host},
    {"commands wrap in the mailbox", commands_wrap_in_the_mailbox},
    {"a full mailbox is taken whole", a_full_mailbox_is_taken_whole},
    {"accelerated processes have their own mailbox and events",
     accelerated_processes_have_their_own_mailbox_and_events},
    {"the event ring wraps", the_event_ring_wraps},
    {"trace records only when compiled in", trace_records_only_when_compiled_in},
    {"idle turns read little", idle_turns_read_little},
    {0, 0},
};
