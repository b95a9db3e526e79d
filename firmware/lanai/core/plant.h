/* Bugs for the tests to find (crates/myrinet/tests/whole/planted.rs). An image has one of them only if it
 * was built with PLANT=its number, which `make` never does by itself. */
#ifndef LANAI_PLANT_H
#define LANAI_PLANT_H

enum plant {
    PLANT_ENDLESS_CHAIN = 1, /* The DMA block lacks its terminal bit. */
    PLANT_SHORT_BLOCK,       /* The size in the DMA block is four bytes too small. */
    PLANT_ANY_TYPE,          /* The host is interrupted for every packet. */
    PLANT_SHORT_ROUTE,       /* The last byte of a route is left out. */
    PLANT_DEAF,              /* After a packet of another type nothing is received any more. */
    PLANT_DAMAGED,           /* Packets with a wrong CRC are passed on. */
    PLANT_WILD,              /* The size of a packet is stored into the guard region. */
    PLANT_EARLY_DONE,        /* A command is said to be done before its packet was read. */
    PLANT_LATE_SIZE,         /* The size is written behind the interrupt. */
    PLANT_EARLY_BUFFER,      /* The next packet is let in before the host has taken this one. */
    PLANT_WRONG_ROUTE,       /* The route is the next node's. */
};

#ifndef OPT_PLANT
#define OPT_PLANT 0
#endif
#define PLANTED(bug) (OPT_PLANT == (bug))

#endif
