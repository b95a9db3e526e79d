#include "event.h"

#include "niccb.h"
#include "trace.h"

void event_post(uint32_t type)
{
#if OPT_ACCELERATED
    if (process->index != SS_GENERIC_PROCESS) {
        event_end(process, type, pending->index);
        return;
    }
#endif
    event_store(type);
    if (process->index == SS_GENERIC_PROCESS) {
        io_order();
        io_write32(SS_REG_INTERRUPT, 1);
        NICCB_ADD(interrupt_count, 1);
    }
}

#if OPT_RELAY
void event_tell(uint32_t word)
{
    uint32_t slot = process->event_next;

    trace_val((uint8_t)(word >> 24));
    io_order();
    io_write32(process->event_local + (slot << 2), word);
    process->event_next = (slot + 1) & process->event_mask;
    io_order();
    io_write32(SS_REG_INTERRUPT, 1);
    NICCB_ADD(interrupt_count, 1);
}
#endif
