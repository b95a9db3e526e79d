/* The control program of the bypass library (GM's manner): processes talk to the card without a system
 * call. Messages between ports come once and in order: each is answered, and what is not answered is sent
 * again (go-back-N). */
#include "receive.h"
#include "wire.h"

/* Ticks after which messages on their way are looked at; in the second look they are sent again. */
#define PERIOD 250u
/* Looks without an answer after which they are given up: a tenth of a second. */
#define TRIES 400u

extern uint32_t __zeroed_start[], __zeroed_end[];

void start_c(void);

static int timer_runs;
static uint32_t turn; /* Open port that was served last. */

static void start(void)
{
    uint32_t epoch = reg_get(MY_REGISTER_RTC) << 16;

    for (uint32_t at = 0; at < sizeof(struct my_command_area); at += 4)
        mem_set(MY_REGION_COMMAND_BASE + at, 0);
    /* No epoch of before. */
    for (uint32_t at = 0; at < MY_BYPASS_PORTS * MY_BYPASS_NODES; at++) {
        mem_set(MY_BYPASS_SENDERS + (at << 2), epoch);
        mem_set(MY_BYPASS_RECEIVERS + (at << 2), 0xffff0000);
    }
    reg_set(MY_REGISTER_MYRINET, MY_MODE_CRC32);
    wire_start();
    receive_start();
    mem_set(AREA(ready), MY_READY);
}

/* Gives up the messages to the node of the oldest. Numbers begin again: an answer to one of these may be
 * lost. */
static void give_up(struct port *port)
{
    const struct message *oldest = message_of(port, port->told);
    uint32_t node = oldest->target, at = sender_at(port->number, node);

    for (uint32_t each = port->told; each != port->taken; each++) {
        struct message *message = message_of(port, each);

        if (message->over || message->target != node)
            continue;
        message->over = 1;
        message->status = oldest->status;
        mem_count(CONTROL(failed));
    }
    mem_set(at, (mem_get(at) + 0x10000) & 0xffff0000);
    port->tries = 0;
}

/* Sends a port's messages again if one of them is on its way since the look before. Whether any is. */
static int look_at_times(struct port *port)
{
    int old = 0, any = 0;

    for (uint32_t each = port->told; each != port->sent; each++) {
        struct message *message = message_of(port, each);

        if (message->over)
            continue;
        any = 1;
        if (message->age > 0)
            old = 1;
        message->age = 1;
    }
    if (!old)
        return any;
    port->tries++;
    if (port->tries > TRIES && !message_of(port, port->told)->over)
        give_up(port);
    port_resend(port);
    return 1;
}

static void look_at_all_times(void)
{
    reg_set(MY_REGISTER_ISR, MY_ISR_TIME0);
    timer_runs = 0;
    for (uint32_t each = 0; each < open_count; each++)
        timer_runs |= look_at_times(open_ports[each]);
    if (timer_runs)
        reg_set(MY_REGISTER_IT0, PERIOD);
}

/* Tells a process of its oldest message, if that is over. */
static int tell(struct port *port)
{
    struct message *message = message_of(port, port->told);
    struct news news;

    if (port->told == port->taken || !message->over)
        return 0;
    if (port->told == port->sent)
        port->sent++;
    port->told++;
    news.kind = MY_BYPASS_EVENT_KIND_SENT;
    news.status = message->status;
    news.node = message->target;
    news.port = message->port;
    news.length = message->length;
    news.offset = message->offset;
    dma_tell(port, &news);
    return 1;
}

/* Sends the next message of a port. */
static int send_next(struct port *port)
{
    struct message *message;
    uint32_t buffer;

    if (port->sent == port->taken)
        port_take(port);
    if (port->sent == port->taken)
        return 0;
    buffer = wire_buffer();
    if (buffer == 0)
        return 0;
    message = message_of(port, port->sent);
    port->sent++;
    if (message->over)
        return 0;
    if (message->age > 0)
        mem_count(CONTROL(resent));
    message->age = 0;
    if (message->length > 0)
        dma_fetch(port, message->offset, message->length, buffer);
    wire_fill(port->number, message);
    return 1;
}

/* Does one thing for a port, if there is one to do. */
static void serve_ports(void)
{
    for (uint32_t each = 0; each < open_count; each++) {
        struct port *port;

        turn = turn + 1 < open_count ? turn + 1 : 0;
        port = open_ports[turn];
        if (tell(port))
            return;
        if (send_next(port)) {
            /* It may have no bytes to wait for. */
            wire_step();
            if (!timer_runs) {
                timer_runs = 1;
                reg_set(MY_REGISTER_IT0, PERIOD);
            }
            return;
        }
    }
}

/* What the interfaces have done. */
static void take_events(uint32_t isr)
{
    if (isr & MY_ISR_WAKE) {
        enum dma_use ended = dma_ended();

        if (ended == DMA_FETCH)
            wire_filled();
        else if (ended == DMA_DELIVER)
            receive_delivered();
    }
    receive_step(isr);
    if (isr & MY_ISR_SEND)
        wire_sent();
    wire_step();
    if (isr & MY_ISR_TIME0)
        look_at_all_times();
}

static void step(void)
{
    uint32_t isr = reg_get(MY_REGISTER_ISR);

    if (isr & (MY_ISR_WAKE | MY_ISR_RECV | MY_ISR_SEND | MY_ISR_TIME0))
        take_events(isr);
    if (dma_use() == DMA_FREE) {
        ports_step();
        serve_ports();
    }
}

void start_c(void)
{
    for (uint32_t *word = __zeroed_start; word < __zeroed_end; word++)
        *word = 0;
    start();
    for (;;)
        step();
}
