#include "relay.h"

#include "command.h"
#include "event.h"
#include "fifo.h"
#include "niccb.h"
#include "panic.h"
#include "plant.h"
#include "trace.h"

/* CONTROL commands that are told of by one ROOM. */
#define TOLD (SS_CONTROL_WINDOW / 2)

uint32_t relay_room;
static uint32_t spare_events; /* Most that relay_room can be. */

static uint32_t control_tail;
static uint32_t control_free; /* Entries of the engine's FIFO, as far as that is known. */
static uint32_t slot_head;    /* Of the slots for what comes. */

/* Packets that found the FIFO full. The kernel has no more under way than fit here. */
static struct { uint32_t word0, number; } held[SS_CONTROL_WINDOW];
static uint32_t held_head;
static uint32_t held_count;
static uint32_t carried;   /* Packets given to the engine since the last ROOM. */
static uint32_t rooms_due; /* ROOM events that found no room in the event ring. */

_Static_assert(sizeof(struct ss_control_packet) == 16, "entries are indexed by shifting");
_Static_assert(SS_HOST_EVENT_TAKEN == SS_CONTROL_OP_TAKEN << 29, "kinds are control_op");
_Static_assert(SS_HOST_EVENT_REFUSED == SS_CONTROL_OP_REFUSED << 29, "kinds are control_op");
_Static_assert(SS_HOST_EVENT_CALLED == SS_CONTROL_OP_CALLED << 29, "kinds are control_op");

void relay_init(void)
{
    relay_room = 0;
    spare_events = 0;
    control_tail = 0;
    control_free = SS_DMA_FIFO_DEPTH - 1;
    slot_head = 0;
    held_head = 0;
    held_count = 0;
    carried = 0;
    rooms_due = 0;
}

void relay_events(uint32_t spare)
{
    relay_room = spare_events = spare;
}

/* Tells the kernel of a message on a node's way. The caller has seen room. */
static void tell(uint32_t kind, uint32_t nid, uint32_t number)
{
    process = &processes[SS_GENERIC_PROCESS];
    --relay_room;
    event_tell(kind | (number & (SS_NUMBER_TELL - 1)) << SS_HOST_EVENT_NUMBER_SHIFT |
               (nid & SS_HOST_EVENT_NODE_MASK));
}

int relay_admits(uint32_t nid, uint32_t number)
{
    uint32_t kind = SS_HOST_EVENT_NO_PENDING;

    if (processes[SS_GENERIC_PROCESS].rx_free) {
        if (source_available(nid))
            return 1;
        kind = SS_HOST_EVENT_NO_STREAM;
    }
    NICCB_ADD(refused, 1);
    tell(kind, nid, number);
    return 0;
}

void relay_overflow(uint32_t nid, uint32_t number)
{
    NICCB_ADD(refused, 1);
    tell(SS_HOST_EVENT_NO_STREAM, nid, number);
}

void relay_note(uint32_t nid, uint32_t number)
{
    uint32_t upper = process->upper_local +
                     pending->index * (uint32_t)sizeof(struct ss_upper_pending);

    io_write32(upper + offsetof(struct ss_upper_pending, data), (number & 0xFFFF) | nid << 16);
}

void relay_read_slot(uint32_t slot)
{
    const volatile uint32_t *words = (const volatile uint32_t *)&control_slots[slot];
    uint32_t word0 = words[0], word1 = words[1];
    uint32_t op = word0 & 0xFF;

    if (slot != slot_head || op < SS_CONTROL_OP_TAKEN || op > SS_CONTROL_OP_CALLED)
        panic(SS_PANIC_REASON_DMA_ERROR, op << 16 | slot);
    slot_head = (slot + 1) % SS_CONTROL_SLOTS;
    io_write32(SS_RX_CONTROL_HEAD, slot_head);
    tell(op << 29, word0 >> 16, word1);
}

static int control_has_room(void)
{
    if (!control_free)
        control_free =
            (io_read32(SS_TX_CONTROL_HEAD) - control_tail - 1) & (SS_DMA_FIFO_DEPTH - 1);
    return control_free != 0;
}

static void control_send(uint32_t word0, uint32_t number)
{
    fifo_entry_write(SS_TX_CONTROL_FIFO + (control_tail << 4), word0, number, 0, 0);
    control_tail = FIFO_AFTER(control_tail);
    --control_free;
    io_write32(SS_TX_CONTROL_TAIL, control_tail);
    if (++carried == TOLD) {
        carried = 0;
        ++rooms_due;
        waiting |= WAITING_CALL;
    }
}

_Static_assert(offsetof(struct ss_control_command, control) == 2, "word 0");
_Static_assert(offsetof(struct ss_control_command, peer) == 4, "word 1");
_Static_assert(offsetof(struct ss_control_command, number) == 6, "word 1");
_Static_assert(offsetof(struct ss_seen_command, count) == 2, "word 0");

int relay_control(uint32_t word0, const volatile uint32_t *words)
{
    uint32_t op = word0 >> 16;
    uint32_t word1 = words[1];

    if (op < SS_CONTROL_OP_TAKEN || op > SS_CONTROL_OP_CALLED || held_count == SS_CONTROL_WINDOW)
        return COMMAND_BAD;
    op |= word1 << 16;
    if (!held_count && control_has_room()) {
        control_send(op, word1 >> 16);
        return 0;
    }
    held[(held_head + held_count) % SS_CONTROL_WINDOW].word0 = op;
    held[(held_head + held_count) % SS_CONTROL_WINDOW].number = word1 >> 16;
    ++held_count;
    waiting |= WAITING_CALL;
    return 0;
}

int relay_seen(uint32_t word0)
{
    uint32_t count = word0 >> 16;

    if (count > spare_events - relay_room)
        return COMMAND_BAD;
    relay_room += count;
    return 0;
}

void relay_progress(void)
{
    while (held_count && control_has_room()) {
        control_send(held[held_head].word0, held[held_head].number);
        held_head = (held_head + 1) % SS_CONTROL_WINDOW;
        --held_count;
    }
    for (; rooms_due && relay_room; --rooms_due)
        tell(SS_HOST_EVENT_ROOM, 0, 0);
    if (!held_count && !rooms_due)
        waiting &= ~WAITING_CALL;
}
