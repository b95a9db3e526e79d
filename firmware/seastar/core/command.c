#include "command.h"

#include "accel.h"
#include "panic.h"
#include "relay.h"
#include "rx.h"
#include "trace.h"
#include "tx.h"

_Static_assert(offsetof(struct ss_tx_command, op) == 0, "byte 0 of any command");
_Static_assert(SS_COMMAND_SIZE == 64, "commands are indexed by shifting");

/* Whether the host has taken enough of the earlier results. */
static int result_room(uint32_t index)
{
    uint32_t next = (processes[index].result_write + 1) % SS_RESULT_COUNT;

    return next != mailboxes[index].result_read;
}

static void result_post(uint32_t index, uint32_t value)
{
    process_t *owner = &processes[index];

    mailboxes[index].results[owner->result_write] = value;
    owner->result_write = (owner->result_write + 1) % SS_RESULT_COUNT;
    io_order();
    mailboxes[index].result_write = owner->result_write;
}

/* Commands that set up a process come only from the kernel, never from a user's mailbox, whatever
 * process they concern. Their results: INIT_EQCB 1, the others 0. */
static int command_control(uint32_t index, uint32_t op, const volatile uint32_t *words)
{
    uint32_t result = 0;
    int status;

    if (index != SS_GENERIC_PROCESS)
        return COMMAND_BAD;
    if (!result_room(index))
        return COMMAND_AGAIN;
    if (OPT_ACCELERATED && op == SS_COMMAND_OP_END_PROCESS) {
        status = accel_end_process(words);
        if (status == 0)
            result_post(index, 0);
        return status;
    }
    switch (op) {
    case SS_COMMAND_OP_INIT_PROCESS:
        status = process_setup(words);
        break;
    case SS_COMMAND_OP_MARK_ALIVE:
        status = process_mark_alive(words);
        break;
    default:
        status = process_setup_events(words);
        result = 1;
        break;
    }
    if (status < 0)
        return status;
    result_post(index, result);
    return 0;
}

/* Commands about messages act on the process of their own mailbox. */
static int command_message(uint32_t index, uint32_t word0, const volatile uint32_t *words)
{
    if (((word0 >> 8) & 0xFF) != index)
        return COMMAND_BAD;
    if (!process->alive)
        return COMMAND_NO_PROCESS;
    switch (word0 & 0xFF) {
    case SS_COMMAND_OP_TX:
        return tx_command(word0, words);
#if OPT_RELAY
    case SS_COMMAND_OP_CONTROL:
        return relay_control(word0, words);
    case SS_COMMAND_OP_SEEN:
        return relay_seen(word0);
#endif
    case SS_COMMAND_OP_RX:
        return rx_command(word0, words);
    default:
        return rx_release(word0);
    }
}

static int command_obey(uint32_t index, uint32_t word0, const volatile uint32_t *words)
{
    uint32_t op = word0 & 0xFF;

    trace_val((uint8_t)op);
    switch (op) {
    case SS_COMMAND_OP_TX:
    case SS_COMMAND_OP_RX:
    case SS_COMMAND_OP_RELEASE:
#if OPT_RELAY
    case SS_COMMAND_OP_CONTROL:
    case SS_COMMAND_OP_SEEN:
#endif
        return command_message(index, word0, words);
    case SS_COMMAND_OP_INIT_PROCESS:
    case SS_COMMAND_OP_MARK_ALIVE:
    case SS_COMMAND_OP_INIT_EQCB:
        return command_control(index, op, words);
    default:
        if (OPT_ACCELERATED && op == SS_COMMAND_OP_END_PROCESS)
            return command_control(index, op, words);
        return COMMAND_BAD;
    }
}

void command_take_all(uint32_t index, uint32_t tail)
{
    process_t *owner = &processes[index];
    uint32_t head = command_head(index);

    if (tail >= SS_COMMAND_COUNT)
        panic(SS_PANIC_REASON_BAD_COMMAND, tail);
    while (head != tail) {
        const volatile uint32_t *words =
            (const volatile uint32_t *)&mailboxes[index].commands[head * SS_COMMAND_SIZE];
        uint32_t word0 = words[0];
        int status;

        process = owner; /* The previous command may have worked on another's pending. */
        status = command_obey(index, word0, words);
        if (status == COMMAND_AGAIN)
            return;
        if (status == COMMAND_NO_PROCESS)
            panic(SS_PANIC_REASON_NO_PROCESS, (word0 >> 8) & 0xFF);
        if (status < 0)
            panic(SS_PANIC_REASON_BAD_COMMAND, word0 & 0xFF);
        head = head + 1 == SS_COMMAND_COUNT ? 0 : head + 1;
        owner->command_head = head;
        mailboxes[index].command_read = head;
    }
}
