#include "accel_state.h"
#include "collective.h"
#include "command.h"
#include "niccb.h"
#include "trace.h"
#include "tx.h"

static int release(uint32_t word0)
{
    uint32_t index = word0 >> 16;

    if (index < process->tx_limit || index >= process->num_pendings)
        return COMMAND_BAD;
    pending = &process->pendings[index];
    switch (pending->state) {
    case PENDING_RX_DONE:
        pending->state = PENDING_IDLE;
        process_give(process, pending);
        return 0;
    case PENDING_TX_HEADER:
    case PENDING_TX_PAYLOAD:
    case PENDING_TX_SENT:
    case PENDING_TX_NEW:
    case PENDING_TX_KEPT:
    case PENDING_TX_KEPT_BAD:
        if ((own()->answers[index].word0 & 0xFF) != SS_PORTALS_OP_ACK || pending->extra)
            return COMMAND_BAD;
        pending->extra = 1;
        return 0;
    default:
        return COMMAND_BAD;
    }
}

/* Tells the user-level library what became of a command, in order with the messages. */
static void result_post(uint32_t result)
{
    uint32_t slot = process->event_next;

    io_order();
    io_write32(process->event_local + (slot << 2), SS_EVENT_TYPE_RESULT << 16 | result);
    process->event_next = (slot + 1) & process->event_mask;
}

static int obey(uint32_t word0, const uint32_t *words)
{
    struct match_lists *lists = &own()->lists;
    int result;

    if ((word0 & 0xFF) == SS_COMMAND_OP_TX)
        return tx_command(word0, words);
    switch (word0 & 0xFF) {
    case SS_COMMAND_OP_RELEASE:
        return release(word0);
    case SS_COMMAND_OP_ATTACH:
        return match_attach(lists, words);
    case SS_COMMAND_OP_DESCRIBE:
        return match_describe(lists, words);
    case SS_COMMAND_OP_POST:
        return match_post(lists, words);
    case SS_COMMAND_OP_ADMIT:
        return match_admit(lists, words);
    case SS_COMMAND_OP_UPDATE:
        result = match_update(lists, words);
        break;
    case SS_COMMAND_OP_UNLINK:
        result = match_unlink(lists, words);
        break;
    case SS_COMMAND_OP_COUNT:
        result = match_count(lists, words);
        break;
    case SS_COMMAND_OP_SYNC:
        result = SS_ENTRY_RESULT_DONE;
        break;
#if OPT_COLLECTIVES
    case SS_COMMAND_OP_COLLECT:
        return collective_enter(word0, words);
    case SS_COMMAND_OP_GROUP: {
        int silent = 0;

        result = collective_group(word0, words, &silent);
        if (silent)
            return result;
        break;
    }
#endif
    default:
        return COMMAND_BAD;
    }
    if (result < 0)
        return result;
    result_post((uint32_t)result);
    return 0;
}

/* Whether the engines have nothing of a process any more. */
static int process_quiet(const process_t *p)
{
    for (uint32_t i = 0; i < p->num_pendings; i++)
        if (p->pendings[i].state != PENDING_IDLE && p->pendings[i].state != PENDING_RX_DONE)
            return 0;
    return 1;
}

int accel_end_process(const volatile uint32_t *words)
{
    uint32_t index = (words[0] >> 8) & 0xFF;
    process_t *p;

    if (index < ACCELERATED_FIRST || index >= ACCELERATED_FIRST + SS_ACCELERATED_MAX ||
        !processes[index].initialised)
        return COMMAND_NO_PROCESS;
    p = &processes[index];
    if (p->alive) {
        p->alive = 0;
        --accelerated_alive;
    }
    if (!process_quiet(p))
        return COMMAND_AGAIN;
    p->initialised = 0;
    p->has_events = 0;
    mailboxes[index].command_read = mailboxes[index].command_write;
    p->command_head = mailboxes[index].command_write;
    return 0;
}

/* Ends a process because of its command `op`, and tells the kernel. */
static void kill(uint32_t index, uint32_t op)
{
    process_t *kernel = &processes[SS_GENERIC_PROCESS];
    uint32_t slot = kernel->event_next;

    trace_val((uint8_t)op);
    processes[index].alive = 0;
    --accelerated_alive;
    io_order();
    io_write32(kernel->event_local + (slot << 2),
               SS_EVENT_TYPE_PROCESS_ENDED << 16 | (op & 0xFF) << 8 | index);
    kernel->event_next = (slot + 1) & kernel->event_mask;
    io_order();
    io_write32(SS_REG_INTERRUPT, 1);
    NICCB_ADD(interrupt_count, 1);
}

void accel_take_all(uint32_t index, uint32_t tail)
{
    process_t *owner = &processes[index];
    uint32_t head = command_head(index);

    if (tail >= SS_COMMAND_COUNT) {
        kill(index, 0xFF);
        return;
    }
    while (head != tail && owner->alive) {
        const uint32_t *words = port_lines(&mailboxes[index].commands[head * SS_COMMAND_SIZE]);
        uint32_t word0 = words[0];

        trace_val((uint8_t)word0);
        process = owner;
        if (((word0 >> 8) & 0xFF) != index || obey(word0, words) < 0) {
            kill(index, word0 & 0xFF);
            return;
        }
        ++accelerated[index - ACCELERATED_FIRST].taken;
        head = head + 1 == SS_COMMAND_COUNT ? 0 : head + 1;
        owner->command_head = head;
        port_lines_done();
        mailboxes[index].command_read = head;
    }
}
