#include "mainloop.h"

#include "accel.h"
#include "collective.h"
#include "command.h"
#include "fifo.h"
#include "niccb.h"
#include "recover.h"
#include "relay.h"
#include "rx.h"
#include "trace.h"
#include "tx.h"

#if !OPT_PINNED_REGS
process_t *process;
source_t *source;
pending_t *pending;
uint32_t tx_fifo_head, tx_fifo_tail;
uint32_t rx_fifo_head, rx_fifo_tail;
uint32_t tx_done_head, rx_done_head;
uint32_t waiting;
#endif

/* What was built, for those who look at the image. */
const char seastar_options[] __attribute__((used)) = OPT_STRING;

extern volatile uint32_t ready_flag; /* At SS_READY_FLAG. */

void firmware_init(void)
{
    niccb_init();
    source_init();
    process_init();
    tx_init();
    rx_init();
    if (OPT_ACCELERATED)
        accel_init();
#if OPT_COLLECTIVES
    collective_init();
#endif
#if OPT_OVERFLOW
    recover_init();
#elif OPT_RELAY
    relay_init();
#endif
    process = &processes[SS_GENERIC_PROCESS];
    source = 0;
    pending = 0;
    waiting = 0;
    ready_flag = SS_READY_VALUE;
}

/* The mailboxes of accelerated processes, where they are served as the generic one. */
static void poll_accelerated(void)
{
    for (uint32_t i = 0; i < SS_MAILBOX_COUNT; i++) {
        uint32_t tail;

        if (i == SS_GENERIC_PROCESS || !processes[i].alive)
            continue;
        tail = mailboxes[i].command_write;
        if (tail != command_head(i))
            command_take_all(i, tail);
    }
}

/* Inlined into the endless loop, so that a turn saves no registers. */
static inline __attribute__((always_inline)) void turn(void)
{
    const process_t *generic = &processes[SS_GENERIC_PROCESS];
    uint32_t rx_tail, tx_tail, command_tail;
    uint32_t user_tails[SS_ACCELERATED_MAX];

    niccb.firmware_heartbeat = ++cached_niccb.firmware_heartbeat;
    if (OPT_TRACE)
        niccb.tracebuf_info[2] = trace_index();

    /* The three loads go out before the first is used, so that their latencies overlap. */
    rx_tail = io_read32(SS_RX_DONE_TAIL);
    tx_tail = io_read32(SS_TX_DONE_TAIL);
    command_tail = mailboxes[SS_GENERIC_PROCESS].command_write;
    if (OPT_ACCELERATED) {
        /* Four loads are under way at a time: a mailbox that nobody has is left out. */
        for (uint32_t i = 0; i < SS_ACCELERATED_MAX; i++) {
            uint32_t index = ACCELERATED_FIRST + i;

            user_tails[i] = processes[index].command_head;
            if (processes[index].alive)
                user_tails[i] = mailboxes[index].command_write;
        }
    }
#if OPT_OVERFLOW
    /* Or the compiler compares the first before it loads the others. */
    __asm__ volatile("" : "+r"(rx_tail), "+r"(tx_tail), "+r"(command_tail));
#endif

    /* Until the kernel says that it is alive, messages wait in the engine. */
    if (rx_tail != fifo_own_index(SS_RX_DONE_HEAD, rx_done_head) && generic->alive) {
        trace_val(1);
        rx_take_all(rx_tail);
    }
    if (command_tail != command_head(SS_GENERIC_PROCESS)) {
        trace_val(2);
        command_take_all(SS_GENERIC_PROCESS, command_tail);
    }
    if (tx_tail != fifo_own_index(SS_TX_DONE_HEAD, tx_done_head)) {
        trace_val(3);
        tx_complete_all(tx_tail);
    }
    if (OPT_ACCELERATED) {
        for (uint32_t i = 0; i < SS_ACCELERATED_MAX; i++) {
            uint32_t index = ACCELERATED_FIRST + i;

            if (user_tails[i] != command_head(index) && processes[index].alive)
                accel_take_all(index, user_tails[i]);
        }
    } else if (accelerated_alive) {
        poll_accelerated();
    }
    if (waiting) {
#if OPT_OVERFLOW
        if (waiting & WAITING_CALL)
            recover_call();
#elif OPT_RELAY
        if (waiting & WAITING_CALL)
            relay_progress();
#endif
#if OPT_COLLECTIVES
        if (waiting & WAITING_COLLECTIVE)
            collective_progress();
#endif
#if OPT_ACCELERATED && !OPT_OVERFLOW
        if (waiting & WAITING_MESSAGE)
            accel_resume();
#endif
        if (waiting & WAITING_TX)
            tx_progress();
        if (waiting & (WAITING_RX | WAITING_DRAIN))
            rx_progress();
    }
}

void mainloop_turn(void)
{
    turn();
}

void mainloop(void)
{
    for (;;)
        turn();
}
