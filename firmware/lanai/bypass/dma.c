#include "dma.h"

#define BLOCK_SIZE ((uint32_t)sizeof(struct my_dma_block))
#define FIRST(chain) (chain)
#define SECOND(chain) ((chain) + BLOCK_SIZE)
#define EVENT (MY_DMA_SEND_CHAIN + 0x1000)
#define TO_CARD 1u
#define TO_HOST 2u

static enum dma_use use;

enum dma_use dma_use(void)
{
    return use;
}

static void set_block(uint32_t at, uint32_t next, uint32_t local, uint32_t host, uint32_t length)
{
    mem_set(FIELD(at, dma_block, next), next);
    mem_set(FIELD(at, dma_block, length), length);
    mem_set(FIELD(at, dma_block, local), local);
    mem_set(FIELD(at, dma_block, host_hi), 0);
    mem_set(FIELD(at, dma_block, host_lo), host);
}

static void start(enum dma_use what, uint32_t chains)
{
    use = what;
    reg_set(MY_REGISTER_PULSE, chains);
}

/* The event's number tells the process that the rest of it is there: it is one burst. */
static void set_event(uint32_t at, struct port *port, const struct news *news)
{
    uint32_t place = (port->events & (MY_BYPASS_EVENTS - 1)) << 5;

    mem_set(FIELD(EVENT, bypass_event, kind), news->kind);
    mem_set(FIELD(EVENT, bypass_event, status), news->status);
    mem_set(FIELD(EVENT, bypass_event, node), news->node << 16 | news->port);
    mem_set(FIELD(EVENT, bypass_event, length), news->length);
    mem_set(FIELD(EVENT, bypass_event, offset), news->offset);
    port->events++;
    mem_set(FIELD(EVENT, bypass_event, number), port->events);
    set_block(at, MY_DMA_TERMINAL | MY_DMA_WAKE, EVENT, port->host + place,
              sizeof(struct my_bypass_event));
}

void dma_fetch(struct port *port, uint32_t offset, uint32_t length, uint32_t to)
{
    set_block(FIRST(MY_DMA_SEND_CHAIN), MY_DMA_FROM_HOST | MY_DMA_TERMINAL | MY_DMA_WAKE, to,
              port->host + offset, length);
    start(DMA_FETCH, TO_CARD);
}

void dma_deliver(struct port *port, uint32_t from, const struct news *news)
{
    uint32_t event = FIRST(MY_DMA_RECEIVE_CHAIN);

    if (news->length > 0) {
        event = SECOND(MY_DMA_RECEIVE_CHAIN);
        set_block(FIRST(MY_DMA_RECEIVE_CHAIN), event, from, port->host + news->offset,
                  news->length);
    }
    set_event(event, port, news);
    start(DMA_DELIVER, TO_HOST);
}

void dma_tell(struct port *port, const struct news *news)
{
    set_event(FIRST(MY_DMA_RECEIVE_CHAIN), port, news);
    start(DMA_TELL, TO_HOST);
}

enum dma_use dma_ended(void)
{
    enum dma_use was = use;

    reg_set(MY_REGISTER_ISR, MY_ISR_WAKE);
    use = DMA_FREE;
    return was;
}
