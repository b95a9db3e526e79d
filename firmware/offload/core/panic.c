#include "panic.h"

#include "port.h"

void panic(uint32_t reason, uint32_t detail)
{
    io_order();
    io_write32(OF_REGISTER_BASE + OF_REGISTER_PANIC, reason << 24 | (detail & 0x00FFFFFF));
    port_halt();
}
