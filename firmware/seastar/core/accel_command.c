#include "accel_state.h"
#include "collective.h"
#include "command.h"
#include "event.h"
#include "niccb.h"
#include "plant.h"
#include "trace.h"
#include "tx.h"

_Static_assert(offsetof(struct ss_transmit_slot, length) == 4, "word 1");
_Static_assert(offsetof(struct ss_transmit_slot, addr_lo) == 8, "word 2");
_Static_assert(offsetof(struct ss_transmit_slot, addr_hi) == 12, "word 3");
_Static_assert(offsetof(struct ss_transmit_slot, entry) == 14, "word 3");
_Static_assert(offsetof(struct ss_transmit_slot, header) == 16, "word 4");
_Static_assert(offsetof(struct ss_portals_header, target_nid) == 8, "word 6 of a slot");

static int transmit(uint32_t word0, const uint32_t *words, uint32_t slot)
{
    uint32_t index = word0 >> 16;
    uint32_t addr_hi = words[3] & 0xFFFF, entry = words[3] >> 16;

    if (index >= process->tx_limit)
        return COMMAND_BAD;
    pending = &process->pendings[index];
    if (pending->state != PENDING_IDLE || addr_hi > 0xFF || (entry && !accel_counted(entry)))
        return COMMAND_BAD;
    pending->next = 0;
    pending->peer = (uint16_t)words[6];
    pending->length = words[1];
    pending->addr_lo = words[2];
    pending->addr_hi = (uint16_t)addr_hi;
    pending->extra = entry;
    if (tx_straight(slot))
        return 0;
    /* It takes its header from the upper pending, and the slot is free. */
    pending->dma_count = 0;
    pending->state = PENDING_TX_HEADER;
    if (PLANTED(PLANT_ENDS_TOO_SOON) && pending->length)
        event_post(SS_EVENT_TYPE_TX_COMPLETE);
#if OPT_OVERFLOW
    tx_enter(0);
#else
    source = source_get(pending->peer);
    pending->source = local_address(source);
    tx_append();
#endif
    return 0;
}

/* The library has read events of messages. */
static int credit(uint32_t count)
{
    process->event_room += count;
    return (int32_t)process->event_room > (int32_t)process_events(process) ? COMMAND_BAD : 0;
}

static int obey(uint32_t word0, const uint32_t *words, uint32_t slot)
{
    struct match_lists *lists = &own()->lists;
    int result;

    if ((word0 & 0xFF) == SS_COMMAND_OP_POST)
        return match_post(lists, words);
    if ((word0 & 0xFF) == SS_COMMAND_OP_TX)
        return transmit(word0, words, slot);
    switch (word0 & 0xFF) {
    case SS_COMMAND_OP_CREDIT:
        return credit(word0 >> 16);
    case SS_COMMAND_OP_ATTACH:
        return match_attach(lists, words);
    case SS_COMMAND_OP_DESCRIBE:
        return match_describe(lists, words);
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
    /* In order with the messages. */
    event_end(process, SS_EVENT_TYPE_RESULT, (uint32_t)result);
    return 0;
}

/* Whether the engines have nothing of a process any more. */
static int process_quiet(const process_t *p)
{
    for (uint32_t i = 0; i < p->num_pendings; i++)
        if (p->pendings[i].state != PENDING_IDLE)
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
    uint32_t *taken = &accelerated[index - ACCELERATED_FIRST].taken;
    uint32_t head = command_head(index);
    const volatile uint8_t *slots = mailboxes[index].commands;
    const uint32_t *words;

    if (tail >= SS_SLOT_COUNT) {
        kill(index, 0xFF);
        return;
    }
    port_lines_ahead(slots + head * SS_SLOT_SIZE);
    while (head != tail && owner->alive) {
        uint32_t slot = head, word0;

        head = head + 1 == SS_SLOT_COUNT ? 0 : head + 1;
        words = port_lines_came(slots + slot * SS_SLOT_SIZE);
        word0 = words[0];
        /* The next is on its way while this one is obeyed. */
        if (head != tail)
            port_lines_ahead(slots + head * SS_SLOT_SIZE);
        trace_val((uint8_t)word0);
        process = owner;
        if (((word0 >> 8) & 0xFF) != index || obey(word0, words, slot) < 0) {
            kill(index, word0 & 0xFF);
            return;
        }
        ++*taken;
        owner->command_head = head;
        port_lines_done();
        if (!owner->slots_held)
            mailboxes[index].command_read = head;
    }
}
