/* The NIC control block: global state of the firmware that the RAS system and the host may look
 * at. Its counters are kept in a cached copy and written through; what only the firmware uses
 * stays in the copy (pedretti2005 s5.3). */
#ifndef SEASTAR_NICCB_H
#define SEASTAR_NICCB_H

#include "abi_seastar.h"
#include "options.h"

extern volatile struct ss_niccb niccb; /* Uncached, at SS_NICCB_BASE. */
extern struct ss_niccb cached_niccb;

/* Adds to a counter and writes it through. */
#define NICCB_ADD(field, amount)                                                       \
    (OPT_SHADOW_FIFOS ? (niccb.field = (cached_niccb.field += (amount)))               \
                      : (niccb.field = (cached_niccb.field = niccb.field + (amount))))

void niccb_init(void);

#endif
