/* The DMA engines' FIFOs, mapped uncached. The firmware moves the tail of a command FIFO and the
 * head of a completion FIFO, and keeps copies of both; the copy of the other end of a command
 * FIFO is refreshed only when the FIFO may be full (pedretti2005 s5.3). */
#ifndef SEASTAR_FIFO_H
#define SEASTAR_FIFO_H

#include "context.h"

#define FIFO_AFTER(index) (((index) + 1) & (SS_DMA_FIFO_DEPTH - 1))
#define DONE_AFTER(index) (((index) + 1) & (SS_DONE_FIFO_DEPTH - 1))

/* Words of a dma_command. */
#define DMA_WORD0(op, flags, peer) ((op) | (flags) << 8 | (uint32_t)(peer) << 16)
#define DMA_WORD1(tag, addr_hi) ((tag) | (uint32_t)(addr_hi) << 16)

_Static_assert(sizeof(struct ss_dma_command) == 16, "entries are indexed by shifting");
_Static_assert(offsetof(struct ss_dma_command, flags) == 1, "word 0");
_Static_assert(offsetof(struct ss_dma_command, peer) == 2, "word 0");
_Static_assert(offsetof(struct ss_dma_command, tag) == 4, "word 1");
_Static_assert(offsetof(struct ss_dma_command, addr_hi) == 6, "word 1");
_Static_assert(offsetof(struct ss_dma_command, addr_lo) == 8, "word 2");
_Static_assert(offsetof(struct ss_dma_command, length) == 12, "word 3");

/* An index that the firmware itself moves: its copy, or the register when shadows are off. */
static inline uint32_t fifo_own_index(uint32_t reg, uint32_t copy)
{
    return OPT_SHADOW_FIFOS ? copy : io_read32(reg);
}

static inline int tx_fifo_has_room(void)
{
    uint32_t next = FIFO_AFTER(fifo_own_index(SS_TX_TAIL, tx_fifo_tail));

    if (OPT_SHADOW_FIFOS && next != tx_fifo_head)
        return 1;
    tx_fifo_head = io_read32(SS_TX_HEAD);
    return next != tx_fifo_head;
}

static inline int rx_fifo_has_room(void)
{
    uint32_t next = FIFO_AFTER(fifo_own_index(SS_RX_TAIL, rx_fifo_tail));

    if (OPT_SHADOW_FIFOS && next != rx_fifo_head)
        return 1;
    rx_fifo_head = io_read32(SS_RX_HEAD);
    return next != rx_fifo_head;
}

/* Writes an entry. The pages of the FIFOs and their registers are guarded, so these stores reach
 * the engine in program order and the tail comes last without a barrier. */
static inline void fifo_entry_write(uint32_t entry, uint32_t w0, uint32_t w1, uint32_t w2,
                                    uint32_t w3)
{
    io_write32(entry, w0);
    io_write32(entry + 4, w1);
    io_write32(entry + 8, w2);
    io_write32(entry + 12, w3);
}

/* Appends a command; the caller has seen room. */
static inline void tx_fifo_push(uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3)
{
    uint32_t tail = fifo_own_index(SS_TX_TAIL, tx_fifo_tail);

    fifo_entry_write(SS_TX_FIFO + (tail << 4), w0, w1, w2, w3);
    tx_fifo_tail = FIFO_AFTER(tail);
    io_write32(SS_TX_TAIL, tx_fifo_tail);
}

static inline void rx_fifo_push(uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3)
{
    uint32_t tail = fifo_own_index(SS_RX_TAIL, rx_fifo_tail);

    fifo_entry_write(SS_RX_FIFO + (tail << 4), w0, w1, w2, w3);
    rx_fifo_tail = FIFO_AFTER(tail);
    io_write32(SS_RX_TAIL, rx_fifo_tail);
}

#endif
