/* Bugs for the tests to find. An image has one of them only if it was built with PLANT=its number,
 * which `make` never does by itself; the native tests have all, and a variable says which. */
#ifndef OFFLOAD_PLANT_H
#define OFFLOAD_PLANT_H

enum plant {
    PLANT_INSERTS_TOO_SOON = 1, /* A failure is drained, but dealt with after inserting. */
    PLANT_SKIPS_TAIL,           /* Behind a failure nothing is searched. */
    PLANT_DEAD_LIVES,           /* A dead entry that a unit returns takes the message. */
    PLANT_TAIL_STAYS,           /* The first entry that no unit holds is taken out, and the pointer
                                 * to it is not moved. */
    PLANT_RESET_FORGETS,        /* RESET drops the results that are on their way. */
    PLANT_YOUNGEST_WINS,        /* An entry goes to the head of its list. */
    PLANT_FORGETS_TAKE,         /* A message without room leaves its payload in the engine. */
    PLANT_OVERTAKES,            /* A short send goes before those that wait. */
    PLANT_TELLS_TOO_SOON,       /* A receive is told of a kept payload before it is copied. */
    PLANT_FREES_TOO_SOON,       /* An entry is used again while a unit still holds it. */
    PLANT_LOSES_NEWS,           /* A PROBE that found nothing is not told of a later message. */
};

/* The number of the bug; `planted_bug` in the native tests. */
#ifndef OPT_PLANT
#define OPT_PLANT 0
#endif
extern unsigned planted_bug;
#define PLANTED(bug) (OPT_PLANT == (bug))

#endif
