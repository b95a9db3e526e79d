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
    PLANT_LOSES_UNLINK,     /* A used-up descriptor of over 40 bytes takes another message. */
    PLANT_HEAD_IS_TAIL,     /* A match entry goes behind what it should go before. */
    PLANT_COUNTS_TOO_LATE,  /* The first operation on such a descriptor does not count. */
    PLANT_HALF_THE_BITS,    /* The upper half of the match bits is not compared. */
    PLANT_OFFSET_STAYS,     /* A message goes over the one before it. */
    PLANT_TAKES_TOO_LONG,   /* A message is taken whose end has no room. */
    PLANT_LOSES_ACK,        /* No acknowledgement is sent. */
    PLANT_FORGETS_POST,     /* A post of a buffer of 20 bytes is refused, and nobody knows. */
    PLANT_LOSES_CARRY,      /* An atomic add is one of the lower half and one of the upper. */
    PLANT_SWAPS_ALWAYS,     /* An atomic conditional swap does not look at its condition. */
    PLANT_ANSWERS_NEW,      /* An atomic operation answers with what memory has after it. */
    PLANT_REFUSES_LATER,    /* A refusal names the message behind the one that was refused. */
    PLANT_TAKES_REFUSED,    /* A message is taken of which one before it was refused. */
    PLANT_REPEATS_TAKEN,    /* What was taken before a refusal is sent again, too. */
    PLANT_KEEPS_BACKWARDS,  /* Refused messages are sent again in the wrong order. */
    PLANT_FREES_EARLY,      /* A message is done with when it has left, taken or not. */
    PLANT_RESUMES_ANYWHERE, /* After a call any message is taken for the one that was refused. */
    PLANT_MEETS_NOBODY,     /* A collective operation awaits nothing. */
    PLANT_REDUCES_TWICE,    /* The first entry that comes for a reduction is combined twice. */
};

#if OPT_PLANTED
/* The number of the bug, as the address of a symbol that the linker defines. */
extern const char planted_bug[];
#define PLANTED(bug) ((uint32_t)(uintptr_t)planted_bug == (bug))
#else
#define PLANTED(bug) 0
#endif

#endif
