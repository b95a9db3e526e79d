/* Streams that are freed without a pending, and messages that are dropped: a part of rx.c. */
#ifndef SEASTAR_DRAINS_H
#define SEASTAR_DRAINS_H

#include "fifo.h"
#include "rx.h"

/* Streams to free that found the FIFO full: words 0 and 1 of their commands. A stream is here
 * once at most, so the ring cannot overflow. */
static struct {
    uint32_t word0, word1;
#if OPT_NUMBERED
    uint32_t length;
#define LENGTH_IF_ANY(length) (length)
#else
#define LENGTH_IF_ANY(length) 0
#endif
} drains[SS_CAM_ENTRIES];
static uint32_t drains_head;
static uint32_t drains_count;

/* Frees the stream of a message that had no payload, or drops all of it, `length` bytes. No pending waits for
 * this: the tag says so. */
#if OPT_NUMBERED
static void rx_drop(uint32_t stream, uint32_t tag, uint32_t length)
#else
ACCEL_SHARED void rx_drain(uint32_t stream, uint32_t tag)
#endif
{
    uint32_t word0 = DMA_WORD0(SS_DMA_OP_DISCARD, SS_DMA_FLAG_LAST, stream);
    uint32_t word1 = DMA_WORD1(tag, 0);

    if (drains_count == 0 && rx_fifo_has_room()) {
        rx_fifo_push(word0, word1, 0, LENGTH_IF_ANY(length));
        return;
    }
    drains[(drains_head + drains_count) % SS_CAM_ENTRIES].word0 = word0;
    drains[(drains_head + drains_count) % SS_CAM_ENTRIES].word1 = word1;
#if OPT_NUMBERED
    drains[(drains_head + drains_count) % SS_CAM_ENTRIES].length = length;
#endif
    ++drains_count;
    waiting |= WAITING_DRAIN;
}

#if OPT_NUMBERED
ACCEL_SHARED void rx_drain(uint32_t stream, uint32_t tag)
{
    rx_drop(stream, tag, 0);
}
#endif

static void rx_drain_waiting(void)
{
    while (drains_count) {
        if (!rx_fifo_has_room())
            return;
        rx_fifo_push(drains[drains_head].word0, drains[drains_head].word1, 0,
                     LENGTH_IF_ANY(drains[drains_head].length));
        drains_head = (drains_head + 1) % SS_CAM_ENTRIES;
        --drains_count;
    }
    waiting &= ~WAITING_DRAIN;
}

#endif
