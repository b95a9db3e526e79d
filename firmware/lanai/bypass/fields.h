/* Fields of the structures that driver, processes and this program share. */
#ifndef BYPASS_FIELDS_H
#define BYPASS_FIELDS_H

#include "area.h"

#define CONTROL(field) (MY_BYPASS_CONTROL + (uint32_t)offsetof(struct my_bypass_control, field))
#define LIMITS(port, field) \
    (MY_BYPASS_LIMITS + ((port) << 4) + (uint32_t)offsetof(struct my_bypass_limits, field))
#define FIELD(base, type, field) ((base) + (uint32_t)offsetof(struct my_##type, field))

/* Structures of a port's page. */
static inline uint32_t send_at(uint32_t port, uint32_t number)
{
    return MY_BYPASS_PAGES + (port << 12) + ((number & (MY_BYPASS_SENDS - 1)) << 4);
}

static inline uint32_t place_at(uint32_t port, uint32_t number)
{
    uint32_t sends = MY_BYPASS_SENDS << 4;

    return MY_BYPASS_PAGES + (port << 12) + sends + ((number & (MY_BYPASS_PLACES - 1)) << 3);
}

/* Epoch and number of the next message of a port to a node. */
static inline uint32_t sender_at(uint32_t port, uint32_t node)
{
    return MY_BYPASS_SENDERS + (port << 12) + (node << 2);
}

/* Epoch and number of the message that is expected from a node's port. */
static inline uint32_t receiver_at(uint32_t node, uint32_t port)
{
    return MY_BYPASS_RECEIVERS + (node << 5) + (port << 2);
}

/* The route to a node: 6 is 4 and 2, as the processor cannot multiply. */
static inline uint32_t route_of(uint32_t node)
{
    return MY_REGION_ROUTES_BASE + (node << 2) + (node << 1);
}

/* Writes a number of two bytes. */
static inline void mem_put_half(uint32_t addr, uint32_t value)
{
    mem_put_byte(addr, value >> 8);
    mem_put_byte(addr + 1, value);
}

#endif
