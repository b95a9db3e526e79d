/* Commands of the processes. */
#ifndef OFFLOAD_COMMAND_H
#define OFFLOAD_COMMAND_H

#include <stdint.h>

/* Takes the commands that TAILS tells of. */
void take_commands(uint32_t tails) __attribute__((noinline));

/* Takes a command of process 0; waits until there is one. */
void take_command_waiting(void) __attribute__((noinline));

#endif
