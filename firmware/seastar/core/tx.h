/* Transmission (pedretti2005 s4.3.1): one list of pendings and one FIFO for all processes and
 * destinations. */
#ifndef SEASTAR_TX_H
#define SEASTAR_TX_H

#include "context.h"

void tx_init(void);

/* TX command of `process`; word0 is its first word. Returns 0 or a negative enum command_error. */
int tx_command(uint32_t word0, const volatile uint32_t *words);

#if OPT_ACCELERATED
/* Appends `pending`, an answer, to the list; gives it to the engine if there is room. */
void tx_append(void);
#endif

/* Gives the engine as many commands as its FIFO takes; the rest waits for the main loop. */
void tx_progress(void);

/* Takes the engine's completions up to `tail`. */
void tx_complete_all(uint32_t tail);

#endif
