#include "panic.h"

#include "niccb.h"
#include "port.h"
#include "trace.h"

void panic(uint32_t reason, uint32_t detail)
{
    trace_val((uint8_t)reason);
    niccb.crash_detail = cached_niccb.crash_detail = detail;
    niccb.crash_reason = cached_niccb.crash_reason = reason;
    niccb.log_write = trace_index();
    niccb.tracebuf_info[2] = trace_index();
    io_order();
    io_write32(SS_REG_PANIC, reason << 24 | (detail & 0x00FFFFFF));
    port_halt();
}
