/* Boot of the data structures, and the endless loop. */
#ifndef OFFLOAD_MAINLOOP_H
#define OFFLOAD_MAINLOOP_H

void firmware_init(void);
void mainloop(void) __attribute__((noreturn));

/* One turn of it, for tests. */
void mainloop_turn(void);

#endif
