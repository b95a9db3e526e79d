/* What the core needs of a platform, on the PowerPC 440 of the network interface. A local address
 * is a pointer. */
#ifndef OFFLOAD_PORT_H
#define OFFLOAD_PORT_H

#include <stdint.h>

#include "mmio.h"

static inline void *local_pointer(uint32_t address)
{
    return (void *)address;
}

/* The same address, of which the compiler forgets the value: words behind it are then stored with a
 * displacement from one register, instead of by an address of two instructions each. */
static inline uint32_t io_base(uint32_t address)
{
    __asm__("" : "+r"(address));
    return address;
}

/* Forgets a cached line that somebody else has written. */
static inline void port_invalidate(const void *line)
{
    __asm__ volatile("dcbi 0,%0" : : "r"(line) : "memory");
}

/* Begins to fill the cache with a line that is needed soon. */
static inline void port_touch(const void *line)
{
    __asm__ volatile("dcbt 0,%0" : : "r"(line));
}

static inline __attribute__((noreturn)) void port_halt(void)
{
    for (;;)
        __asm__ volatile("");
}

#endif
