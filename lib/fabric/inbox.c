/* Messages that nobody has asked for yet: the blocks of memory behind an inbox's receives, and
 * what is in them. */
#define _GNU_SOURCE
#include "fabric.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Bytes of the blocks of an inbox; FI_SUNSTAR_UNEXPECTED, in MiB, changes that. */
#define UNEXPECTED_MIB 16

static const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};

static size_t block_bytes(void)
{
    const char *text = getenv("FI_SUNSTAR_UNEXPECTED");
    const long mib = text ? atol(text) : 0;
    return (size_t)(mib > 0 ? mib : UNEXPECTED_MIB) * (1u << 20) / BLOCKS;
}

bool op_matches(const struct op *op, ptl_process_id_t from, uint64_t bits)
{
    return (op->from.nid == PTL_NID_ANY ||
            (op->from.nid == from.nid && op->from.pid == from.pid)) &&
           ((op->bits ^ bits) & ~op->ignore) == 0;
}

/* --- the list of what has come --- */

static void append(struct inbox *box, struct arrival *arrival)
{
    arrival->next = NULL;
    *box->end = arrival;
    box->end = &arrival->next;
    call_notes(RANK_FABRIC_NOTE_KEPT, 1);
}

void inbox_front(struct inbox *box, struct arrival *arrival)
{
    arrival->next = box->arrivals;
    if (!box->arrivals)
        box->end = &arrival->next;
    box->arrivals = arrival;
    call_notes(RANK_FABRIC_NOTE_KEPT, 1);
}

void arrival_unlink(struct inbox *box, struct arrival *arrival)
{
    struct arrival **at = &box->arrivals;
    while (*at != arrival)
        at = &(*at)->next;
    *at = arrival->next;
    if (box->end == &arrival->next)
        box->end = at;
    call_notes(RANK_FABRIC_NOTE_CLAIMED, 1);
}

void arrival_free(struct arrival *arrival)
{
    if (!arrival->block)
        free(arrival->data);
    free(arrival);
}

struct arrival *inbox_find(struct inbox *box, const struct op *op)
{
    struct arrival *arrival = box->arrivals;
    uint64_t compared = arrival ? 1 : 0;
    while (arrival && (arrival->is_claimed || !op_matches(op, arrival->from, arrival->bits))) {
        arrival = arrival->next;
        compared += arrival ? 1 : 0;
    }
    if (compared > 0)
        call_notes(RANK_FABRIC_NOTE_SEARCHED, compared);
    return arrival;
}

/* A message has come that no receive in the match list has taken: the first one beside it does
 * that matches, and was not found room for in the list. */
static void arrive(struct inbox *box, struct arrival *arrival)
{
    struct op *op = box->waiting > 0 ? box->first : NULL;
    for (; op; op = op->next) {
        if ((!op->queued && !op->settling) || !op_matches(op, arrival->from, arrival->bits))
            continue;
        if (op->settling)
            break; /* it takes what is in the list before it goes on */
        if (op->multi) {
            multi_wake(op);
            break;
        }
        receive_unlink(op);
        op_begin(op);
        receive_take(op, arrival);
        return;
    }
    append(box, arrival);
}

/* Short messages end before long ones that were matched before them. So they are noted when they
 * are matched, and have come when all before them have. */
static void begin(struct inbox *box, const ptl_event_t *event, struct block *block)
{
    struct arrival *arrival = need(1, sizeof *arrival);
    *arrival = (struct arrival){
        .from = event->initiator,
        .bits = event->match_bits,
        .head = event->hdr_data,
        .length = arrival_length(event->hdr_data, event->rlength),
        .stored = event->mlength,
        .data = block ? block->memory + event->offset : NULL,
        .block = block,
        .number = event->sequence,
    };
    struct arrival **last = &box->coming;
    while (*last)
        last = &(*last)->next;
    *last = arrival;
}

static void complete(struct inbox *box, const ptl_event_t *event)
{
    struct arrival *arrival = box->coming;
    while (arrival->number != event->link)
        arrival = arrival->next;
    arrival->number = 0;
    if (event->ni_fail_type != PTL_NI_OK)
        arrival->stored = 0;
    while (box->coming && box->coming->number == 0) {
        arrival = box->coming;
        box->coming = arrival->next;
        arrive(box, arrival);
    }
}

static void take(struct inbox *box, const ptl_event_t *event, struct block *block)
{
    if (event->type == PTL_EVENT_PUT_START)
        begin(box, event, block);
    else if (event->type == PTL_EVENT_PUT_END)
        complete(box, event);
}

/* --- memory for it --- */

static int attach(struct block *block)
{
    struct inbox *box = block->box;
    int code = PtlMEInsert(box->beyond_me, anybody, 0, ~UINT64_C(0), PTL_UNLINK, PTL_INS_BEFORE,
                           &block->me);
    if (code != PTL_OK)
        return fabric_error(code, "PtlMEInsert");
    ptl_md_t md = descriptor(block->memory, block_bytes(), PTL_MD_THRESH_INF,
                             PTL_MD_OP_PUT | PTL_MD_MAX_SIZE, &block->handler);
    md.max_size = EAGER_MAX;
    md.options &= ~(unsigned)PTL_MD_EVENT_START_DISABLE;
    md.eq_handle = interface_arrivals;
    code = PtlMDAttach(block->me, md, PTL_UNLINK, &block->md);
    if (code != PTL_OK)
        return fabric_error(code, "PtlMDAttach");
    block->there = true;
    return 0;
}

/* Copies those that are in the block. */
static void keep(struct arrival *arrival, const struct block *block)
{
    for (; arrival; arrival = arrival->next) {
        if (arrival->block != block)
            continue;
        char *data = need(1, arrival->stored + 1);
        copy(data, arrival->data, arrival->stored);
        arrival->data = data;
        arrival->block = NULL;
    }
}

/* The block is full. What is in it and still waits is kept elsewhere, and it is used anew,
 * behind the others. */
static void renew(struct block *block)
{
    struct inbox *box = block->box;
    block->there = false;
    keep(box->arrivals, block);
    keep(box->coming, block);
    unsigned at = 0;
    while (box->order[at] != block)
        at++;
    for (; at + 1 < BLOCKS; at++)
        box->order[at] = box->order[at + 1];
    box->order[BLOCKS - 1] = block;
    if (attach(block))
        refuse(0, "an endpoint has less memory for unexpected messages than it had: the "
                  "interface has no room for a match entry");
}

static void block_event(struct handler *handler, const ptl_event_t *event)
{
    struct block *block = (struct block *)handler;
    take(block->box, event, block);
    if (event->type == PTL_EVENT_UNLINK)
        renew(block);
}

/* Only the header of a message has found room. */
static void beyond_event(struct handler *handler, const ptl_event_t *event)
{
    struct inbox *box = (struct inbox *)((char *)handler - offsetof(struct inbox, beyond));
    take(box, event, NULL);
}

ptl_handle_me_t inbox_base(struct inbox *box)
{
    for (unsigned i = 0; i < BLOCKS; i++)
        if (box->order[i]->there)
            return box->order[i]->me;
    return box->beyond_me;
}

int inbox_open(struct inbox *box, struct endpoint *ep, bool tagged, ptl_pt_index_t portal)
{
    box->ep = ep;
    box->tagged = tagged;
    box->portal = portal;
    box->end = &box->arrivals;
    box->beyond.event = beyond_event;
    ptl_handle_md_t md;
    ptl_md_t header = descriptor(NULL, 0, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_TRUNCATE,
                                 &box->beyond);
    header.options &= ~(unsigned)PTL_MD_EVENT_START_DISABLE;
    header.eq_handle = interface_arrivals;
    int code = PtlMEAttach(interface_ni, portal, anybody, 0, ~UINT64_C(0), PTL_RETAIN,
                           PTL_INS_AFTER, &box->beyond_me);
    if (code == PTL_OK)
        code = PtlMDAttach(box->beyond_me, header, PTL_RETAIN, &md);
    if (code != PTL_OK)
        return fabric_error(code, "PtlMEAttach");
    for (unsigned i = 0; i < BLOCKS; i++) {
        struct block *block = &box->blocks[i];
        box->order[i] = block;
        block->box = box;
        block->handler.event = block_event;
        block->memory = mmap(NULL, block_bytes(), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block->memory == MAP_FAILED)
            return -FI_ENOMEM;
        const int error = attach(block);
        if (error)
            return error;
    }
    return 0;
}

static void detach(ptl_handle_me_t me)
{
    while (PtlMEUnlink(me) == PTL_ME_IN_USE)
        progress();
}

/* Nothing is under way to it any more when this returns, and no event names it. */
void inbox_close(struct inbox *box)
{
    receive_drop(box);
    for (unsigned i = 0; i < BLOCKS; i++)
        while (box->blocks[i].there && PtlMEUnlink(box->blocks[i].me) != PTL_OK)
            progress();
    detach(box->beyond_me);
    progress();
    while (box->arrivals) {
        struct arrival *arrival = box->arrivals;
        arrival_unlink(box, arrival);
        if (arrival->head & HEAD_LONG)
            fetch_refuse(box->ep, arrival->from, arrival->head);
        arrival_free(arrival);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        munmap(box->blocks[i].memory, block_bytes());
}
