/* What the core needs of a platform, on a workstation: simulated devices, and local addresses
 * that are translated and checked instead of being pointers. */
#ifndef SEASTAR_PORT_H
#define SEASTAR_PORT_H

#include <stdint.h>

#define PORT_NOINIT
#define PORT_UNCACHED
#define PORT_BELOW_STACK

uint32_t io_read32(uint32_t address);
uint8_t io_read8(uint32_t address);
void io_write32(uint32_t address, uint32_t value);
void io_write8(uint32_t address, uint8_t value);

static inline void io_order(void)
{
}

/* A copy of 64 bytes of shared SRAM, until they have been read: then it is spoilt, as by others who write
 * there. */
const uint32_t *port_lines(const volatile void *shared);
static inline void port_lines_ahead(const volatile void *shared)
{
    (void)shared;
}
static inline const uint32_t *port_lines_came(const volatile void *shared)
{
    return port_lines(shared);
}
void port_lines_done(void);

/* Of lower pendings and sources; 0 for a null pointer. */
uint32_t local_address(const volatile void *pointer);
void *local_pointer(uint32_t address);

void port_trace(uint8_t value);
uint32_t port_trace_index(void);
void port_halt(void) __attribute__((noreturn));

#endif
