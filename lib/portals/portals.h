/* The thin Portals library: what its files share. Portals itself runs in the simulator. */
#ifndef SUNSTAR_PORTALS_H
#define SUNSTAR_PORTALS_H

#include "generated/functions.h"
#include "portals3.h"
#include "seam.h"

#define PORTALS_EXPORT __attribute__((visibility("default")))

/* A process id as one argument. */
#define PROCESS(id) ((uint64_t)(id).nid | (uint64_t)(id).pid << 32)

#endif
