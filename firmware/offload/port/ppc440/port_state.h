/* Where the state stands: its address is in r13, which the compiler leaves alone (-ffixed-r13). Any
 * field is one load with a displacement away. Set by crt0.S. */
#ifndef OFFLOAD_PORT_STATE_H
#define OFFLOAD_PORT_STATE_H

register struct state *nic __asm__("r13");

extern struct buffer_page buffer_pages[BUFFER_PAGES];

#define entries ((struct entry *)OF_ENTRY_BASE)

#endif
