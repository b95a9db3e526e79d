/* The objects that port_state.h names. */
#include "state.h"

struct state nic_state;

/* Not cleared at boot: pages are set up before their first use. */
struct buffer_page buffer_pages[BUFFER_PAGES] __attribute__((section(".noinit")));
