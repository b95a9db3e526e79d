/* What the core needs of a platform, on a workstation: simulated devices, and local addresses that
 * are translated and checked instead of being pointers. */
#ifndef OFFLOAD_PORT_H
#define OFFLOAD_PORT_H

#include <stdint.h>

uint32_t io_read32(uint32_t address);
void io_write32(uint32_t address, uint32_t value);

static inline void io_order(void)
{
}

static inline uint32_t io_base(uint32_t address)
{
    return address;
}

/* Of a header or a command. */
void *local_pointer(uint32_t address);

/* The firmware is about to look at a header or a command. */
void port_invalidate(const void *line);

static inline void port_touch(const void *line)
{
    (void)line;
}

void port_halt(void) __attribute__((noreturn));

#endif
