/* All that the firmware remembers. On the processor `nic` lives in a register, so that any of it is
 * one load away; a workstation has a state for each simulated node. */
#ifndef OFFLOAD_STATE_H
#define OFFLOAD_STATE_H

#include "abi_offload.h"
#include "options.h"
#include "plant.h"

#include "entry.h"
#include "hash.h"

/* A process of the node. */
struct process {
    struct queue posted;     /* postedRecvQ. */
    struct queue unexpected; /* unexpectedQ. */
    uint32_t slot;           /* Address of the next completion in the window. */
    uint32_t window;         /* Where the window begins. */
    uint32_t lap;
    uint32_t commands; /* Taken so far. */
    uint8_t number;
    uint8_t open;
    uint8_t watching; /* A PROBE has found nothing; the next message that matches is news. */
    uint32_t watch_request;
    uint32_t watch_bits_lo, watch_bits_hi, watch_mask_lo, watch_mask_hi;
};

/* A matching unit, and the list of process 0 that it serves. */
struct unit {
    uint32_t registers;
    uint32_t port;
    struct queue *queue;
    uint32_t epoch; /* Entries that it holds carry this. */
    uint32_t held;  /* Entries in it. */
    uint32_t dead;  /* Those of them that are no longer in the list. */
    uint32_t few;   /* Dead entries that are borne; free cells for which it is worth to insert. */
    struct entry *graves; /* ENTRY_DEAD, chained by `next`; for RESET. */
    uint8_t on;     /* Copies are delivered to it. */
    uint8_t posted; /* It is the one for posted receives. */
    uint32_t late;  /* Failures that a planted bug deals with too late. */
};

/* Who is told when a send has left. */
struct send_slot {
    struct process *process; /* None: nobody. */
    uint32_t request;
    uint32_t length;
    uint32_t serial;
};

/* A page of buffers. */
struct buffer_page {
    uint32_t free[2]; /* A bit for each part that is free. */
    uint16_t next, prev;
    uint8_t class;
    uint8_t used; /* Parts in use. */
};

struct state {
    /* Counts of what firmware has given to the engines, and of what STATUS has told of. */
    uint32_t headers;
    uint32_t tails; /* TAILS as far as commands are taken. */
    uint32_t dmas_given, dmas_done;
    uint32_t sends_given, sends_done;

    struct fifo active_receives; /* activeRecvQ: CLEAR is to be sent, or a payload copied. */
    struct fifo sends;           /* sendQ. */

    struct entry *free_entries;
    uint32_t used_entries; /* Those behind have never been used. */

    uint32_t node;      /* This node's number, in bits 16 to 31. */
    uint32_t cells;     /* Of a unit; 0: there are none. */
    uint32_t has_units; /* 1: there are. */
    uint32_t unit_work; /* 1: update_unit may find something to do. */
    uint32_t threshold; /* Entries of a list from which on its unit is used. */

    struct entry *dmas[OF_DMA_DEPTH]; /* Whom a descriptor concerns when it is done, or nobody. */
    struct send_slot slots[OF_SEND_DEPTH];
    struct process processes[OF_PROCESSES];
    struct unit units[2];

    uint32_t used_pages; /* Those behind have never been used. */
    uint16_t free_pages;
    uint16_t part_pages[BUFFER_CLASSES]; /* Pages with free parts. */

    /* SEARCH=hash: of posted receives and of unexpected messages. */
    struct hash hashes[OPT_SEARCH_HASH ? OF_PROCESSES : 0][2];
};

#define POSTED 0
#define UNEXPECTED 1

#include "port_state.h"

static inline int dma_has_room(void)
{
    return nic->dmas_given - nic->dmas_done < OF_DMA_DEPTH;
}

static inline int send_has_room(void)
{
    return nic->sends_given - nic->sends_done < OF_SEND_DEPTH;
}

#endif
