/* Turns of a rank's threads that wait for a time. */
#ifndef SUNSTAR_TURNS_H
#define SUNSTAR_TURNS_H

#include "seam.h"

#include <pthread.h>
#include <time.h>

/* A thread that waits with a limit; NULL: it is alone, or not known. */
struct rank_turn;

/* This thread is about to wait until then, in picoseconds of simulated time, on this condition or (NULL) in
 * pieces. NULL if no other thread could sleep meanwhile. */
struct rank_turn *rank_turn_begin(uint64_t until, pthread_cond_t *condition);
/* The end of its next piece of the wait, on the kernel's clock, before that of the whole. */
struct timespec rank_turn_piece(const struct rank_turn *turn, const struct timespec *until);
/* True if its limit is reached: a sleeping thread says so, or the kernel's clock. */
bool rank_turn_over(const struct rank_turn *turn, const struct timespec *until);
/* The same, for one on a condition: whether a sleeping thread says so. */
bool rank_turn_due(const struct rank_turn *turn);
/* It waits no longer; for NULL nothing happens. */
void rank_turn_end(void *turn);

/* Sleeps for so many picoseconds, after all others that end before. False if there is no other thread. */
bool rank_turn_sleep(struct rank_channel *channel, uint64_t picoseconds);

#endif
