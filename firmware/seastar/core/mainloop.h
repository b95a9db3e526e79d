/* The main loop: polls, and runs the handler of what it finds until that returns (pedretti2005
 * s4.3). */
#ifndef SEASTAR_MAINLOOP_H
#define SEASTAR_MAINLOOP_H

/* Puts the firmware into the state after boot and raises the ready flag. */
void firmware_init(void);

/* One turn of the loop, for tests. */
void mainloop_turn(void);

/* Turn after turn. */
void mainloop(void) __attribute__((noreturn));

#endif
