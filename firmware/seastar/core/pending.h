/* Lower pendings: what the firmware knows of a message in progress. Cached, one to one with the
 * upper pendings in host memory (pedretti2005 s4.2). The layout is the contract's; its 32-bit
 * links hold local addresses, which port.h turns into pointers. */
#ifndef SEASTAR_PENDING_H
#define SEASTAR_PENDING_H

#include "limits.h"
#include "port.h"

typedef struct ss_lower_pending pending_t;

/* States of a pending's machine. A transmit pending goes IDLE, TX_HEADER, TX_PAYLOAD, TX_SENT,
 * IDLE; a receive pending IDLE, RX_ANNOUNCED, RX_QUEUED, RX_DEPOSIT, RX_PROGRAMMED, RX_DONE,
 * IDLE, or, when the whole message came in its header, IDLE, RX_DONE, IDLE. */
enum pending_state {
    PENDING_IDLE = 0,      /* TX: the host's. RX: in the process's free list. */
    PENDING_TX_HEADER,     /* Header command not yet in the FIFO. */
    PENDING_TX_PAYLOAD,    /* Some payload command not yet in the FIFO. */
    PENDING_TX_SENT,       /* All commands given; the completion is awaited. */
    PENDING_RX_ANNOUNCED,  /* The host has been told and owes an RX command. */
    PENDING_RX_QUEUED,     /* In its source's RX pending list. */
    PENDING_RX_DEPOSIT,    /* Head of the list; some command not yet in the FIFO. */
    PENDING_RX_PROGRAMMED, /* All commands given; the completion is awaited. */
    PENDING_RX_DONE,       /* The host has been told and owes a RELEASE. */
    PENDING_TX_NEW,        /* OVERFLOW=nic: it has no number yet. */
    PENDING_TX_KEPT,       /* It has left, or waits to be called; its peer has not taken it. */
    PENDING_TX_KEPT_BAD,   /* The same, and the engine could not read it. */
};

extern pending_t lower_pendings[LOWER_PENDINGS];

/* The name of a pending in DMA commands and completions. */
static inline uint32_t pending_tag(const pending_t *p)
{
    return (uint32_t)(p - lower_pendings);
}

static inline pending_t *pending_next(const pending_t *p)
{
    return local_pointer(p->next);
}

static inline void pending_link(pending_t *p, const pending_t *next)
{
    p->next = local_address(next);
}

#endif
