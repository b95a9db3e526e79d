/* Firmware processes: the kernel's generic Portals and, each with a mailbox of its own,
 * accelerated host processes. The structure is cached and the firmware's own; the mailbox that
 * belongs to it is uncached and shared with the host (pedretti2005 s4.2). */
#ifndef SEASTAR_PROCESS_H
#define SEASTAR_PROCESS_H

#include "pending.h"

typedef struct process {
    uint32_t upper_local;   /* Upper pending table through a host window. */
    uint32_t upper_lo;      /* The same as a host physical address. */
    uint32_t upper_hi;
    pending_t *pendings;    /* First of its lower pendings. */
    pending_t *rx_free;     /* RX pending free list. */
    uint32_t num_pendings;
    uint32_t tx_limit;      /* Pendings below are the host's, for transmission. */
    uint32_t event_local;   /* Event ring through a host window. */
    uint32_t event_mask;    /* Slots - 1. */
    uint32_t event_next;    /* Next slot to fill. */
    uint32_t command_head;  /* Shadow of the mailbox's command_read. */
    uint32_t result_write;  /* Shadow of the mailbox's result_write. */
    uint32_t pid;
    uint32_t jid;
    uint32_t uid;
#if OPT_ACCELERATED
    uint32_t event_room;    /* Accelerated: events of messages that fit into the ring. */
    uint32_t slots_held;    /* Slots of the mailbox whose header the engine has still to read. */
#endif
#if OPT_OVERFLOW
    uint32_t rx_count;      /* Pendings in the free list. */
    uint32_t rx_answers;    /* So many of them are for answers: no fewer than the library keeps. */
#endif
    uint8_t index;          /* Place in the table, and its mailbox. */
    uint8_t initialised;    /* INIT_PROCESS has been done. */
    uint8_t has_events;     /* INIT_EQCB has been done. */
    uint8_t alive;          /* MARK_ALIVE has been done. */
} __attribute__((aligned(64))) process_t;

/* So many more pendings are in the free list. */
#if OPT_OVERFLOW
#define RX_COUNT(p, more) ((p)->rx_count += (uint32_t)(more))
#else
#define RX_COUNT(p, more) ((void)0)
#endif

/* Takes the next receive pending of the free list, which is not empty. */
static inline pending_t *process_take(process_t *p)
{
    pending_t *taken = p->rx_free;

    p->rx_free = pending_next(taken);
    RX_COUNT(p, -1);
    return taken;
}

/* The accelerated process's room for events, where there are such. */
#if OPT_ACCELERATED
#define EVENT_ROOM(p) ((int32_t)(p)->event_room)
#else
#define EVENT_ROOM(p) 2
#endif

#if OPT_ACCELERATED
/* Events of messages that an accelerated process may have unread: two for each receive pending, if its ring
 * has room. Other events have places of their own there, and so has the last of each message under way. */
static inline uint32_t process_events(const process_t *p)
{
    uint32_t slots = p->event_mask + 1 - p->num_pendings - EVENTS_KEPT;
    uint32_t pairs = p->num_pendings - p->tx_limit;

    return 2 * pairs < slots ? 2 * pairs : slots;
}
#endif

/* Whether a message for an accelerated process may begin, which has up to two events beside the last. */
static inline int process_takes(const process_t *p)
{
    return p->rx_free && EVENT_ROOM(p) > 1;
}

#if OPT_OVERFLOW
/* Messages for which a process has pendings and room for events. */
static inline uint32_t process_room(const process_t *p)
{
    int32_t events = EVENT_ROOM(p) >> 1;

    if (OPT_ACCELERATED && p->index != SS_GENERIC_PROCESS && events < (int32_t)p->rx_count)
        return events < 0 ? 0 : (uint32_t)events;
    return p->rx_count;
}
#endif

/* Gives one back. */
static inline void process_give(process_t *p, pending_t *given)
{
    pending_link(given, p->rx_free);
    p->rx_free = given;
    RX_COUNT(p, 1);
}

extern process_t processes[SS_MAILBOX_COUNT];

void process_init(void);

/* INIT_PROCESS, INIT_EQCB, MARK_ALIVE. Return 0 or a negative enum command_error. */
int process_setup(const volatile uint32_t *words);
int process_setup_events(const volatile uint32_t *words);
int process_mark_alive(const volatile uint32_t *words);

/* Processes besides the generic one that take messages. */
extern uint32_t accelerated_alive;

/* The process that serves a Portals process id: an accelerated one by its pid, else the generic
 * one. */
process_t *process_find(uint32_t pid);

#endif
