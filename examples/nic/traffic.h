/* Something to look at: rank 0 writes messages into rank 1's memory by verbs. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

/* Sends `count` messages of `bytes` (a multiple of 8) from rank 0 to rank 1, and returns on both ranks when
 * they are over. False if there is no device. */
int traffic(unsigned count, unsigned bytes);

#endif
