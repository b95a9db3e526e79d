/* The thin Portals library: what its files share. Portals itself runs in the simulator. */
#ifndef SUNSTAR_PORTALS_H
#define SUNSTAR_PORTALS_H

#include "generated/functions.h"
#include "portals3.h"
#include "seam.h"

#define PORTALS_EXPORT __attribute__((visibility("default")))

/* A process id as one argument. */
#define PROCESS(id) ((uint64_t)(id).nid | (uint64_t)(id).pid << 32)

/* True if a look at event queues shall let time pass: many have found nothing. Not beside other threads: one
 * of them may do what this one waits for, and calls wait for each other. */
bool portals_look_waits(void);
/* True if PtlEQGet of these arguments finds nothing, and the simulator need not be asked. */
bool portals_look_alone(const uint64_t *arguments);
/* Notes of a look, and of a look at one queue. */
rank_note portals_note_look, portals_note_look_at_one;

#endif
