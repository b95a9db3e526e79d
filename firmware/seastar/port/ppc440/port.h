/* What the core needs of a platform, on the SeaStar's PowerPC 440. A local address is a pointer. */
#ifndef SEASTAR_PORT_H
#define SEASTAR_PORT_H

#include <stdint.h>

#include "lines.h"
#include "mmio.h"

/* Not cleared at boot: large pools that are set up before use. */
#define PORT_NOINIT __attribute__((section(".noinit")))
/* In the part of the stack's region that the stack does not need; not cleared either. */
#define PORT_BELOW_STACK __attribute__((section(".below_stack")))
/* In the firmware's own uncached data. */
#define PORT_UNCACHED __attribute__((section(".uncached")))

static inline uint32_t local_address(const volatile void *pointer)
{
    return (uint32_t)pointer;
}

static inline void *local_pointer(uint32_t address)
{
    return (void *)address;
}

/* Calls trace_record (trace.S), which keeps to r0, r3 and r4 so that little has to be saved
 * here. The link register gives it the address of the trace point. */
static inline __attribute__((always_inline)) void port_trace(uint8_t value)
{
    register uint32_t v __asm__("r3") = value;

    __asm__ volatile("bl trace_record" : "+r"(v) : : "r0", "r4", "lr");
}

/* The index of the next record lives in r13, which the compiler leaves alone, as a byte offset. */
static inline uint32_t port_trace_index(void)
{
    uint32_t offset;

    __asm__ volatile("mr %0,13" : "=r"(offset));
    return offset >> 3;
}

static inline __attribute__((noreturn)) void port_halt(void)
{
    for (;;)
        __asm__ volatile("");
}

#endif
