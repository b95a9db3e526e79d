/* The card's memory and its special registers, as the processor sees them: it has the byte order of both. */
#ifndef LANAI_PORT_H
#define LANAI_PORT_H

#include "abi_myrinet.h"

static inline uint32_t mem_get(uint32_t addr)
{
    return *(volatile uint32_t *)addr;
}

static inline void mem_set(uint32_t addr, uint32_t value)
{
    *(volatile uint32_t *)addr = value;
}

static inline uint32_t mem_byte(uint32_t addr)
{
    return *(volatile uint8_t *)addr;
}

static inline void mem_put_byte(uint32_t addr, uint32_t value)
{
    *(volatile uint8_t *)addr = (uint8_t)value;
}

static inline uint32_t reg_get(uint32_t offset)
{
    return *(volatile uint32_t *)(MY_SPECIAL_BASE + offset);
}

static inline void reg_set(uint32_t offset, uint32_t value)
{
    *(volatile uint32_t *)(MY_SPECIAL_BASE + offset) = value;
}

#endif
