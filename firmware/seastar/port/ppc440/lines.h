/* The shared SRAM by lines of the data cache: what others have written there, and the firmware only reads,
 * comes by two reads instead of sixteen. Commands of accelerated processes and headers of messages are read
 * so and in no other way, and the firmware stores nothing there. Nobody tells the cache of what others
 * write, so each look drops what was there before. */
#ifndef SEASTAR_LINES_H
#define SEASTAR_LINES_H

/* Where the shared SRAM, one page of 64 KB, is mapped once more, and cached: behind the host windows. */
#define PORT_LINES 0xF0000000

#ifndef __ASSEMBLER__
#include <stdint.h>

/* The 64 bytes at `shared` that were fetched. */
static inline const uint32_t *port_lines_came(const volatile void *shared)
{
    return (const uint32_t *)((uint32_t)PORT_LINES | ((uint32_t)shared & 0xFFFF));
}

/* Fetches the 64 bytes at `shared`, as they are now. They come while the processor goes on. Where data are
 * not cached each word comes by itself, when it is used. */
static inline void port_lines_ahead(const volatile void *shared)
{
    const uint32_t *lines = port_lines_came(shared);

    __asm__ volatile("dcbi 0,%0\n\tdcbi 0,%1\n\tdcbt 0,%0\n\tdcbt 0,%1"
                     : : "r"(lines), "r"(lines + 8) : "memory");
}

/* Both at once. */
static inline const uint32_t *port_lines(const volatile void *shared)
{
    port_lines_ahead(shared);
    return port_lines_came(shared);
}

/* What was fetched has been read, and is not any more: its place can be given back. */
static inline void port_lines_done(void)
{
    __asm__ volatile("" : : : "memory");
}
#endif

#endif
