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

/* What a turn looks at. */
struct looks {
    uint32_t rx_tail, tx_tail;
    uint32_t rx_word; /* The next notification, if there is one. */
    uint32_t command_tail;
    uint32_t user_tails[SS_ACCELERATED_MAX];
};

/* Reads it all before the first is used, so that latencies overlap. Four reads are under way at a time: the images
 * with accelerated processes leave out what cannot be there. While messages are leaving, the kernel's mailbox and
 * the completions take turns. */
static inline __attribute__((always_inline)) void look(struct looks *looks)
{
#if OPT_ACCELERATED
    uint32_t leaving = cached_niccb.tx_pending, odd = cached_niccb.firmware_heartbeat & 1;

    looks->rx_tail = io_read32(SS_RX_DONE_TAIL);
    looks->rx_word =
        io_read32(SS_RX_DONE_FIFO + (fifo_own_index(SS_RX_DONE_HEAD, rx_done_head) << 2));
    looks->tx_tail = fifo_own_index(SS_TX_DONE_HEAD, tx_done_head);
    looks->command_tail = command_head(SS_GENERIC_PROCESS);
    if (leaving && odd)
        looks->tx_tail = io_read32(SS_TX_DONE_TAIL);
    else
        looks->command_tail = mailboxes[SS_GENERIC_PROCESS].command_write;
    for (uint32_t i = 0; i < SS_ACCELERATED_MAX; i++) {
        uint32_t index = ACCELERATED_FIRST + i;

        looks->user_tails[i] = command_head(index);
        if (processes[index].alive)
            looks->user_tails[i] = mailboxes[index].command_write;
    }
#else
    looks->rx_tail = io_read32(SS_RX_DONE_TAIL);
    looks->tx_tail = io_read32(SS_TX_DONE_TAIL);
    looks->command_tail = mailboxes[SS_GENERIC_PROCESS].command_write;
#endif
}

/* Inlined into the endless loop, so that a turn saves no registers. */
static inline __attribute__((always_inline)) void turn(void)
{
    const process_t *generic = &processes[SS_GENERIC_PROCESS];
    struct looks looks;

    niccb.firmware_heartbeat = ++cached_niccb.firmware_heartbeat;
    if (OPT_TRACE)
        niccb.tracebuf_info[2] = trace_index();

    look(&looks);
#if OPT_OVERFLOW
    /* Or the compiler compares the first before it loads the others. */
    __asm__ volatile("" : "+r"(looks.rx_tail), "+r"(looks.tx_tail), "+r"(looks.command_tail));
#endif

    /* Until the kernel says that it is alive, messages wait in the engine. */
    if (looks.rx_tail != fifo_own_index(SS_RX_DONE_HEAD, rx_done_head) && generic->alive) {
        trace_val(1);
#if OPT_ACCELERATED
        rx_take_all(looks.rx_tail, looks.rx_word);
#else
        rx_take_all(looks.rx_tail);
#endif
    }
    if (looks.command_tail != command_head(SS_GENERIC_PROCESS)) {
        trace_val(2);
        command_take_all(SS_GENERIC_PROCESS, looks.command_tail);
    }
    if (looks.tx_tail != fifo_own_index(SS_TX_DONE_HEAD, tx_done_head)) {
        trace_val(3);
        tx_complete_all(looks.tx_tail);
    }
    if (OPT_ACCELERATED) {
        for (uint32_t i = 0; i < SS_ACCELERATED_MAX; i++) {
            uint32_t index = ACCELERATED_FIRST + i;

            if (looks.user_tails[i] != command_head(index) && processes[index].alive)
                accel_take_all(index, looks.user_tails[i]);
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
