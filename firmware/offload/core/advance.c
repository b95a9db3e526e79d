#include "advance.h"

#include "complete.h"
#include "receive.h"
#include "send.h"
#include "state.h"

void retire(uint32_t status)
{
    while ((uint8_t)((status >> 16) - nic->dmas_done)) {
        struct entry *entry = nic->dmas[nic->dmas_done++ % OF_DMA_DEPTH];

        if (entry)
            receive_moved(entry);
    }
    while ((uint8_t)((status >> 8) - nic->sends_done)) {
        const struct send_slot *slot = &nic->slots[nic->sends_done++ % OF_SEND_DEPTH];

        if (slot->process)
            complete(slot->process, OF_COMPLETION_KIND_SENT, slot->request, 0, 0, slot->length, 0,
                     slot->serial);
    }
}

void advance(uint32_t status)
{
    retire(status);
    receive_advance();
    send_advance();
}
