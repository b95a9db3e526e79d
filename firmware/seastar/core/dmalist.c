#include "dmalist.h"

#include "panic.h"

#define ENTRY sizeof(struct ss_dma_command)
#define WINDOWS_END (SS_WINDOW_COUNT * SS_WINDOW_SIZE)

int dmalist_valid(uint32_t list, uint32_t count)
{
    uint32_t offset = list - SS_DMA_LIST_BASE;

    if (offset % ENTRY)
        return 0;
    if (offset / ENTRY < SS_DMA_LIST_COUNT)
        return count <= SS_DMA_LIST_COUNT - offset / ENTRY;
    /* Lists that found no room in SRAM: host memory, through the windows that are mapped (not window 0). */
    return list >= SS_WINDOW_SIZE && list < WINDOWS_END && count <= (WINDOWS_END - list) / ENTRY;
}

void dmalist_take(struct dmalist_region *region)
{
    uint32_t entry = pending->addr_lo;
    int ended;

    region->addr_hi = io_read32(entry + 4) >> 16;
    region->addr_lo = io_read32(entry + 8);
    region->length = io_read32(entry + 12);
    pending->addr_lo = entry + ENTRY;
    /* Lengths must add up: an entry may not pass the end, nor may the last one leave a rest. */
    if (pending->dma_count == SS_DMA_COUNT_OPEN)
        ended = region->length == pending->length;
    else
        ended = --pending->dma_count == 0;
    if (region->length == 0 || region->length > pending->length ||
        ended != (region->length == pending->length))
        panic(SS_PANIC_REASON_BAD_COMMAND, pending->state < PENDING_RX_ANNOUNCED
                                               ? SS_COMMAND_OP_TX : SS_COMMAND_OP_RX);
}
