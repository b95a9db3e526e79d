/* Precomputed DMA commands: for a buffer that is not physically contiguous the host computes one
 * command a region and leaves them in SRAM (pedretti2005 s4.3.1). The firmware adds what only it
 * knows: tag, stream, and which command is the last. A pending's addr_lo then holds the address
 * of the next one. */
#ifndef SEASTAR_DMALIST_H
#define SEASTAR_DMALIST_H

#include "context.h"

struct dmalist_region {
    uint32_t addr_lo; /* Host physical address, bits 31..0. */
    uint32_t addr_hi; /* Bits 39..32. */
    uint32_t length;  /* Bytes. */
};

/* Whether a list that the host names lies in the SRAM that it may allocate. */
int dmalist_valid(uint32_t list, uint32_t count);

/* Takes the next region of `pending`. Panics when the list does not add up to the command's
 * length. */
void dmalist_take(struct dmalist_region *region);

#endif
