/* Fields of structures in the card's memory, by their names in abi/myrinet. */
#ifndef LANAI_AREA_H
#define LANAI_AREA_H

#include "abi_myrinet.h"
#include "port.h"

#define AREA(field) (MY_REGION_COMMAND_BASE + (uint32_t)offsetof(struct my_command_area, field))
#define BLOCK(field) (MY_DMA_RECEIVE_CHAIN + (uint32_t)offsetof(struct my_dma_block, field))
#define HEADER(buffer, field) ((buffer) + (uint32_t)offsetof(struct my_packet_header, field))
#define HEADER_SIZE ((uint32_t)sizeof(struct my_packet_header))

/* A number of two bytes. */
static inline uint32_t mem_half(uint32_t addr)
{
    return mem_byte(addr) << 8 | mem_byte(addr + 1);
}

/* One more of what is counted there. */
static inline void mem_count(uint32_t addr)
{
    mem_set(addr, mem_get(addr) + 1);
}

#endif
