/* DMA: one transfer at a time, for one port. Messages come from its memory and go there, and events go
 * there. */
#ifndef BYPASS_DMA_H
#define BYPASS_DMA_H

#include "ports.h"

enum dma_use {
    DMA_FREE,
    DMA_FETCH,   /* A message comes from the host. */
    DMA_DELIVER, /* A message goes to the host, and the event that tells of it behind. */
    DMA_TELL,    /* An event goes to the host. */
};

/* What is told of a message; an event begins with it. */
struct news {
    uint32_t kind, status, node, port, length, offset;
};

enum dma_use dma_use(void);

/* Each needs a free engine. */
void dma_fetch(struct port *port, uint32_t offset, uint32_t length, uint32_t to);
void dma_deliver(struct port *port, uint32_t from, const struct news *news);
void dma_tell(struct port *port, const struct news *news);

/* The engine is free again. What it was used for. */
enum dma_use dma_ended(void);

#endif
