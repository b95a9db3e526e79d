/* Walks of MPI's queues. Both stop at the first entry that matches; `end` of the queue: there is
 * none. They begin at `entry`, so that the part that a unit holds can be left out. */
#ifndef OFFLOAD_SEARCH_H
#define OFFLOAD_SEARCH_H

#include "state.h"

/* The first posted receive that takes a message of these bits. */
struct entry *search_posted(const struct queue *queue, struct entry *entry, uint32_t bits_lo,
                            uint32_t bits_hi) __attribute__((noinline));

/* The first unexpected message that a receive of these bits and mask takes. */
struct entry *search_unexpected(struct queue *queue, struct entry *entry, uint32_t bits_lo,
                                uint32_t bits_hi, uint32_t mask_lo, uint32_t mask_hi)
    __attribute__((noinline));

/* An entry joins its list, at the end. */
static inline void list_add(struct queue *queue, struct entry *entry)
{
    queue_append(queue, entry);
    if (OPT_SEARCH_HASH)
        hash_add(&nic->hashes[entry->process][entry->kind == ENTRY_UNEXPECTED], entry);
}

/* An entry leaves its list, as what it was when it joined it. */
static inline void list_remove(struct queue *queue, struct entry *entry)
{
    if (OPT_SEARCH_HASH)
        hash_remove(&nic->hashes[entry->process][entry->kind == ENTRY_UNEXPECTED], entry);
    queue_remove(queue, entry);
}

#endif
