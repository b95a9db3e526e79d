/* The same on a workstation, with a card that tests play (tests/card.c). */
#ifndef LANAI_PORT_H
#define LANAI_PORT_H

#include "abi_myrinet.h"

uint32_t mem_get(uint32_t addr);
void mem_set(uint32_t addr, uint32_t value);
uint32_t mem_byte(uint32_t addr);
void mem_put_byte(uint32_t addr, uint32_t value);
uint32_t reg_get(uint32_t offset);
void reg_set(uint32_t offset, uint32_t value);

#endif
