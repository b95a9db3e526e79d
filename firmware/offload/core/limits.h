/* Sizes fixed at compile time. Nothing is allocated at run time. */
#ifndef OFFLOAD_LIMITS_H
#define OFFLOAD_LIMITS_H

#include "abi_offload.h"

/* Bytes of an entry: the footprint that a walk has in the cache. Calibrated: 400 entries fit well
 * enough into 32 KB for 13 us, 500 do not (brightwell2005 s6.2). */
#define ENTRY_STRIDE 80

/* Entries of the region; a number fits into 16 bits. */
#define ENTRY_COUNT (OF_ENTRY_REGION / ENTRY_STRIDE)

/* What of `bits_hi` is match bits. */
#define BITS_HI ((1u << (OF_MATCH_WIDTH - 32)) - 1)

/* Most INSERTs of one turn. With STOP_INSERT they fit into a unit's command FIFO of 16, so that the
 * bus never waits for a unit that itself waits for somebody to take its results. */
#define INSERT_MAX 14u

/* Buffers of kept payloads: pages of the size of the longest one, split into equal parts. */
#define BUFFER_PAGE 4096u
#define BUFFER_PAGES (OF_BUFFER_SIZE / BUFFER_PAGE)
#define BUFFER_SMALLEST 64u
#define BUFFER_CLASSES 7u /* 64, 128 ... 4096. */

_Static_assert(ENTRY_COUNT <= 0x10000, "an entry's number has 16 bits");
_Static_assert(OF_EAGER_LIMIT <= BUFFER_PAGE, "a kept payload fits into a page");
_Static_assert(BUFFER_SMALLEST << (BUFFER_CLASSES - 1) == BUFFER_PAGE, "the last class is a page");
_Static_assert(BUFFER_PAGE / BUFFER_SMALLEST <= 64, "two words say which parts are free");
_Static_assert(BUFFER_PAGES < 0xFFFF, "a page's number has 16 bits, and one is none");
_Static_assert((OF_DMA_DEPTH & (OF_DMA_DEPTH - 1)) == 0, "rings are masked");
_Static_assert((OF_SEND_DEPTH & (OF_SEND_DEPTH - 1)) == 0, "rings are masked");
_Static_assert((OF_ARRIVAL_COUNT & (OF_ARRIVAL_COUNT - 1)) == 0, "rings are masked");
_Static_assert((OF_COMMAND_COUNT & (OF_COMMAND_COUNT - 1)) == 0, "rings are masked");
_Static_assert(OF_COMMAND_COUNT < 256 && OF_ARRIVAL_COUNT < 256, "counts modulo 256 tell all");

#endif
