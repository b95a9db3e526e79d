/* The RDMA NIC's host library for a program on machines of model rdma: the request queue and the counters are
 * mapped, and plain stores post descriptors (marazakis2006 s2.2). docs/mapped-queue.md tells how.
 *
 *     sunstar run -m forth -n 2 program.c
 *
 * Nothing is protected: a descriptor has physical addresses, and whoever writes the queue may send any memory
 * to any. */
#ifndef SUNSTAR_FORTH_H
#define SUNSTAR_FORTH_H

/* C++ has another name for it. */
#if defined __cplusplus && !defined _Static_assert
#define _Static_assert static_assert
#endif
#include "abi_forth.h"

#if defined __SSE2__
#include <emmintrin.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The card, opened. */
struct forth {
    /* The region, mapped: the request queue from byte 0 on, registers from 0x1000 on. */
    volatile uint64_t *region;
    /* Count of the descriptors with FORTH_CONTROL_NOTIFY whose source has been read; the card writes it. */
    const volatile uint64_t *notified;
    /* Number of this node, and how many there are. */
    uint32_t node, nodes;
    /* Pages of 4 KB that could be pinned when it was opened. */
    uint32_t pages;
    /* Place of the next descriptor in the line of 64 bytes that write combining gathers. */
    uint32_t slot;
};

/* These are the simulator's; elsewhere their addresses are NULL. Results below 0 are negative error numbers
 * (errno(3)). */

/* Opens the card and maps its request queue and the word of notifications. -ENODEV: this machine has no such
 * card; -EBUSY: the queue is in use, by verbs or since an earlier call; -ENOMEM: no memory is left. */
extern int forth_open(struct forth *forth) __attribute__((weak));

/* Pins memory, so that the card can read it and, if remote is not 0, other nodes can write it. The result
 * is its key: 1 for the first region of a node, 2 for the second and so on. -EINVAL: no bytes; -EFAULT: no
 * memory is there; -ENOMEM: too many pages. */
extern int64_t forth_register(void *memory, size_t bytes, int remote) __attribute__((weak));

/* Gives it back. -EINVAL: no such key. */
extern int forth_unregister(uint32_t key, void *memory, size_t bytes) __attribute__((weak));

/* The physical address of a byte of a region, here or on another node, and as the result how many bytes
 * follow in its page. -ENOENT: no such region (yet), or it ends before; -EACCES: others may not write it;
 * -EINVAL: no such node. The first time another node is asked over the administration network. */
extern int64_t forth_where(uint32_t node, uint32_t key, uint64_t byte, uint64_t *physical)
    __attribute__((weak));

/* Empties the processor's write-combining buffers, as its instruction sfence does. */
extern void forth_fence(struct forth *forth) __attribute__((weak));

/* The control word of a descriptor: 1 to 512 words of 8 bytes, the receiver's node, and flags out of
 * FORTH_CONTROL_NOTIFY and FORTH_CONTROL_INTERRUPT. */
static __inline uint32_t forth_control(unsigned words, unsigned node, unsigned flags)
{
    return words | node << FORTH_CONTROL_FLOW_SHIFT | flags;
}

/* The 16 bytes of the queue that the next descriptor goes to. They are taken in turn, since write combining
 * sends what stands in a line in the order of its addresses. */
static __inline volatile uint64_t *forth_slot(struct forth *forth)
{
    volatile uint64_t *slot = forth->region + 2 * forth->slot;
    forth->slot = (forth->slot + 1) % 4;
    return slot;
}

/* Posts a descriptor by two plain stores of 8 bytes. Both physical addresses are multiples of 8, and the
 * words cross no border of a page. With pcix.combining=on it leaves with the fourth of its line or with a fence. */
static __inline void forth_post(struct forth *forth, uint64_t from, uint32_t to, uint32_t control)
{
    volatile uint64_t *slot = forth_slot(forth);
    slot[0] = from;
    slot[1] = (uint64_t)control << 32 | to;
}

#if defined __SSE2__
/* The same by one streaming store of 16 bytes. */
static __inline void forth_post_line(struct forth *forth, uint64_t from, uint32_t to,
                                     uint32_t control)
{
    volatile uint64_t *slot = forth_slot(forth);
    const __m128i descriptor =
        _mm_set_epi64x((long long)((uint64_t)control << 32 | to), (long long)from);
    _mm_stream_si128((__m128i *)(uintptr_t)slot, descriptor);
}
#endif

/* Reads a register at that offset in bytes, over the bus: FORTH_REGISTER_QUEUE_FREE, counters. */
static __inline uint64_t forth_read(const struct forth *forth, unsigned offset)
{
    return forth->region[offset / 8];
}

/* Waits until the card has notified of so many descriptors: looks at a word in memory, not at the bus. */
static __inline void forth_await(const struct forth *forth, uint64_t count)
{
    while (*forth->notified < count)
        ;
}

#ifdef __cplusplus
}
#endif

#endif
