#include "dmalist.h"

#include "panic.h"

#define ENTRY sizeof(struct ss_dma_command)

int dmalist_valid(uint32_t list, uint32_t count)
{
    uint32_t offset = list - SS_DMA_LIST_BASE;

    return offset % ENTRY == 0 && offset / ENTRY < SS_DMA_LIST_COUNT &&
           count <= SS_DMA_LIST_COUNT - offset / ENTRY;
}

void dmalist_take(struct dmalist_region *region)
{
    uint32_t entry = pending->addr_lo;

    region->addr_hi = io_read32(entry + 4) >> 16;
    region->addr_lo = io_read32(entry + 8);
    region->length = io_read32(entry + 12);
    pending->addr_lo = entry + ENTRY;
    --pending->dma_count;
    /* Lengths must add up: an entry may not pass the end, nor may the last one leave a rest. */
    if (region->length == 0 || region->length > pending->length ||
        (pending->dma_count == 0) != (region->length == pending->length))
        panic(SS_PANIC_REASON_BAD_COMMAND, pending->state < PENDING_RX_ANNOUNCED
                                               ? SS_COMMAND_OP_TX : SS_COMMAND_OP_RX);
}
