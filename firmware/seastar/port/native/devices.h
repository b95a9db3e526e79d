/* The simulated devices' state: what registers, FIFOs and host windows lead to. The test drives
 * the other side of it. */
#ifndef SEASTAR_DEVICES_H
#define SEASTAR_DEVICES_H

#include "abi_seastar.h"

/* Simulated host memory: 1 MB above 4 GB, reached through window 8. */
#define HOST_PHYS 0x230000000ull
#ifndef HOST_SIZE
#define HOST_SIZE 0x100000u
#endif
#define HOST_WINDOW 8u
#define HOST_LOCAL (HOST_WINDOW * SS_WINDOW_SIZE)
/* DMA lists in host memory, through the next window. */
#define HOST_LIST_LOCAL (HOST_LOCAL + SS_WINDOW_SIZE)
#define HOST_LIST_COUNT (SS_DMA_COUNT_OPEN + 2)

struct devices {
    struct ss_dma_command tx_fifo[SS_DMA_FIFO_DEPTH];
    struct ss_dma_command rx_fifo[SS_DMA_FIFO_DEPTH];
    uint32_t tx_done[SS_DONE_FIFO_DEPTH];
    uint32_t rx_done[SS_DONE_FIFO_DEPTH];
    uint32_t tx_head, tx_tail, tx_done_head, tx_done_tail;
    uint32_t rx_head, rx_tail, rx_done_head, rx_done_tail;
#if OPT_OVERFLOW
    struct ss_control_packet control_fifo[SS_DMA_FIFO_DEPTH];
    uint32_t control_head, control_tail;
    uint32_t slot_head;                 /* Of the slots that the firmware has read. */
#endif
    uint32_t interrupts;                /* Writes of REG_INTERRUPT. */
    uint32_t panic_word;                /* What REG_PANIC got. */
    uint32_t register_reads;            /* Reads of index registers. */
    uint16_t nid;
    struct ss_dma_command dma_list[SS_DMA_LIST_COUNT];
    struct ss_dma_command host_list[HOST_LIST_COUNT];
    uint32_t deposit_frame;             /* What the firmware's own window shows. */
    struct ss_trace_record trace[SS_TRACE_COUNT];
    uint32_t trace_count;               /* Records written since boot. */
    uint8_t host[HOST_SIZE] __attribute__((aligned(128)));
};

extern struct devices devices;

/* Called instead of port_halt's endless loop. Does not return. */
extern void (*devices_halted)(void);

/* Something that the hardware would not answer: prints it and aborts. */
void devices_fail(const char *what, uint32_t address) __attribute__((noreturn));

#endif
