/* Trace points (pedretti2005 s3.3): trace() and trace_val(value) write an 8-byte record with
 * program counter, time and an eight-bit value to a ring in uncached SRAM; nothing is left of
 * them when tracing is compiled out. Inlined so that the port sees the caller's address in the
 * link register. */
#ifndef SEASTAR_TRACE_H
#define SEASTAR_TRACE_H

#include "options.h"
#include "port.h"

static inline __attribute__((always_inline)) void trace_val(uint8_t value)
{
    if (OPT_TRACE)
        port_trace(value);
}

static inline __attribute__((always_inline)) void trace(void)
{
    trace_val(0);
}

/* Index of the next record in the ring. */
static inline uint32_t trace_index(void)
{
    return OPT_TRACE ? port_trace_index() : 0;
}

#endif
