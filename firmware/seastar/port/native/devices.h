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
/* Memory just below it, in another window's reach, and a little in each of several others. */
#define HOST_BELOW 0x1000u
#define HOST_FAR(i) (0x300000000ull + (uint64_t)(i) * SS_WINDOW_SIZE)
#define HOST_FAR_COUNT 9u
#define HOST_FAR_SIZE 0x100u
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
#if OPT_NUMBERED
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
    /* What the firmware's own windows show. */
    uint32_t frames[SS_WINDOW_COUNT - SS_OWN_WINDOW_FIRST];
    uint32_t maps;                      /* How often one was mapped. */
    struct ss_trace_record trace[SS_TRACE_COUNT];
    uint32_t trace_count;               /* Records written since boot. */
    uint8_t host[HOST_SIZE] __attribute__((aligned(128)));
    uint8_t below[HOST_BELOW];
    uint8_t far[HOST_FAR_COUNT][HOST_FAR_SIZE];
};

extern struct devices devices;

/* A byte of host memory by its physical address, with `size` behind it, or null. */
uint8_t *devices_host(uint64_t phys, uint32_t size);

/* A header that the transmit engine takes from SRAM, or null. */
const void *devices_local_header(uint32_t address);

/* Called instead of port_halt's endless loop. Does not return. */
extern void (*devices_halted)(void);

/* Something that the hardware would not answer: prints it and aborts. */
void devices_fail(const char *what, uint32_t address) __attribute__((noreturn));

#endif
