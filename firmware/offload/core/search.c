#include "search.h"

/* Words of `bits` that differ where it matters. */
static inline uint32_t differ(uint32_t a, uint32_t b, uint32_t mask)
{
    return (a ^ b) & ~mask;
}

/* The process whose list this is. */
static inline const struct process *process_of(const struct queue *queue, uint32_t offset)
{
    return (const struct process *)((const char *)queue - offset);
}

/* The processor executes in order, and a load takes three cycles, or thirty beyond the cache. So
 * the next entry's words are loaded before this one's are compared, and the loop has one branch:
 * the end of the list matches everything (brightwell2005 s6.2: 15 ns an entry, 64 beyond the
 * cache). The low halves hold tag and source, which tell most entries apart. */
struct entry *search_posted(const struct queue *queue, struct entry *entry, uint32_t bits_lo,
                            uint32_t bits_hi)
{
    if (OPT_SEARCH_HASH) {
        const struct process *process = process_of(queue, offsetof(struct process, posted));

        /* What a unit holds does not match, so that the oldest one that does is behind it. */
        entry = hash_find_posted(&nic->hashes[process->number][POSTED], bits_lo, bits_hi);
        return entry ? entry : (struct entry *)&queue->end;
    }
#if OPT_WALK_AHEAD
    struct entry *next = entry->next;
    uint32_t bits = entry->bits_lo, mask = entry->mask_lo;

    (void)queue;
    for (;;) {
        struct entry *after = next->next;
        uint32_t difference = differ(bits, bits_lo, mask);

        bits = next->bits_lo;
        mask = next->mask_lo;
        if (__builtin_expect(!difference, 0)) {
            if (!differ(entry->bits_hi, bits_hi, entry->mask_hi))
                return entry;
        }
        entry = next;
        next = after;
    }
#else
    while (entry != &queue->end) {
        if (!differ(entry->bits_lo, bits_lo, entry->mask_lo) &&
            !differ(entry->bits_hi, bits_hi, entry->mask_hi))
            break;
        entry = entry->next;
    }
    return entry;
#endif
}

struct entry *search_unexpected(struct queue *queue, struct entry *entry, uint32_t bits_lo,
                                uint32_t bits_hi, uint32_t mask_lo, uint32_t mask_hi)
{
    /* A receive that leaves something open cannot be hashed: it looks through the list. */
    if (OPT_SEARCH_HASH && !mask_lo && !(mask_hi & BITS_HI)) {
        const struct process *process = process_of(queue, offsetof(struct process, unexpected));

        entry = hash_find_message(&nic->hashes[process->number][UNEXPECTED], bits_lo, bits_hi);
        return entry ? entry : &queue->end;
    }
#if OPT_WALK_AHEAD
    struct entry *next = entry->next;
    uint32_t bits;

    /* Messages have no mask, so the end of the list matches by having the very bits. */
    queue->end.bits_lo = bits_lo;
    queue->end.bits_hi = bits_hi;
    bits = entry->bits_lo;
    for (;;) {
        struct entry *after = next->next;
        uint32_t difference = differ(bits, bits_lo, mask_lo);

        bits = next->bits_lo;
        if (__builtin_expect(!difference, 0)) {
            if (!differ(entry->bits_hi, bits_hi, mask_hi))
                return entry;
        }
        entry = next;
        next = after;
    }
#else
    while (entry != &queue->end) {
        if (!differ(entry->bits_lo, bits_lo, mask_lo) &&
            !differ(entry->bits_hi, bits_hi, mask_hi))
            break;
        entry = entry->next;
    }
    return entry;
#endif
}
