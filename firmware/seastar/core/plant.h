/* Bugs for the judge to find (crates/cli/tests/command/planted.rs). An image has them only if it was
 * built with PLANTED=on, which `make` never does by itself, and then one of them: the linker is told
 * which. Everywhere else a bug is a condition that is never true. */
#ifndef SEASTAR_PLANT_H
#define SEASTAR_PLANT_H

#include <stdint.h>

#ifndef OPT_PLANTED
#define OPT_PLANTED 0
#endif

enum plant {
    PLANT_LOSES_INLINE = 1, /* Every eighth message with inline payload is not announced. */
    PLANT_ANNOUNCES_TWICE,  /* A message with inline payload is announced twice. */
    PLANT_OVERTAKES,        /* Of every eight such messages the last two change places. */
    PLANT_SPOILS_HEADER,    /* The match bits of a message come with a wrong bit. */
    PLANT_MISPLACES,        /* A payload goes four bytes behind its place. */
    PLANT_DEPOSITS_LESS,    /* The last four bytes of a payload are discarded. */
    PLANT_SENDS_BEHIND,     /* A payload is read four bytes behind its place. */
    PLANT_ENDS_TOO_SOON,    /* A message is said to have left before its payload is read. */
    PLANT_CRIES_WOLF,       /* A payload is said to be damaged that is not. */
};

#if OPT_PLANTED
/* The number of the bug, as the address of a symbol that the linker defines. */
extern const char planted_bug[];
#define PLANTED(bug) ((uint32_t)(uintptr_t)planted_bug == (bug))
#else
#define PLANTED(bug) 0
#endif

#endif
