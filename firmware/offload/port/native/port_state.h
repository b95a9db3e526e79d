/* The state, entries and pages of the node that executes. */
#ifndef OFFLOAD_PORT_STATE_H
#define OFFLOAD_PORT_STATE_H

extern struct state *nic;
extern struct entry *native_entries;
extern struct buffer_page *native_pages;

#define entries native_entries
#define buffer_pages native_pages

#endif
