/* The RDMA NIC's memory region for a program on machines of model rdma: its registers, counters and debugging
 * aids (docs/debugging.md; abi_forth.h has their offsets). */
#ifndef SUNSTAR_NIC_H
#define SUNSTAR_NIC_H

#include "abi_forth.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The region, mapped; NULL where there is no such card. Only the simulator's library has it. Plain loads and
 * stores of 8 bytes reach the card over its bus, and take their time. Programs may store to registers, not to
 * the request queue. */
extern volatile uint64_t *sunstar_nic_map(void) __attribute__((weak));

/* Reads the register at that offset in bytes. */
static __inline uint64_t nic_read(const volatile uint64_t *nic, unsigned offset)
{
    return nic[offset / 8];
}

/* Writes it. */
static __inline void nic_write(volatile uint64_t *nic, unsigned offset, uint64_t value)
{
    nic[offset / 8] = value;
}

#ifdef __cplusplus
}
#endif

#endif
