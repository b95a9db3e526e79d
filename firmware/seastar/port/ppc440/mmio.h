/* Device registers, FIFOs and host memory from the embedded processor: naturally aligned words. */
#ifndef SEASTAR_MMIO_H
#define SEASTAR_MMIO_H

#include <stdint.h>

static inline uint32_t io_read32(uint32_t address)
{
    return *(volatile uint32_t *)address;
}

static inline void io_write32(uint32_t address, uint32_t value)
{
    *(volatile uint32_t *)address = value;
}

/* For payload only, which may stand anywhere. */
static inline uint8_t io_read8(uint32_t address)
{
    return *(volatile uint8_t *)address;
}

static inline void io_write8(uint32_t address, uint8_t value)
{
    *(volatile uint8_t *)address = value;
}

/* Storage accesses before it are performed before those after it. Needed between pages that are
 * not both guarded: host windows and shared SRAM gather stores; register pages are guarded and
 * keep order among themselves. */
static inline void io_order(void)
{
    __asm__ volatile("mbar 0" : : : "memory");
}

#endif
