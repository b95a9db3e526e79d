/* Buffers for payloads of unexpected messages. The processor never touches them, so that what is
 * free stands in a table of its own: a page of buffers is split into parts of one size, a bit each.
 * Allocating and freeing take the same time however many there are. */
#ifndef OFFLOAD_BUFFER_H
#define OFFLOAD_BUFFER_H

#include <stdint.h>

void buffer_init(void);

/* Address of a buffer of so many bytes (1 to EAGER_LIMIT); 0: there is none. */
uint32_t buffer_allocate(uint32_t length);

void buffer_free(uint32_t address);

#endif
