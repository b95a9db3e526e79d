/* Sizes fixed at compile time. Nothing is allocated at run time (pedretti2005 s4.2). */
#ifndef SEASTAR_LIMITS_H
#define SEASTAR_LIMITS_H

#include "abi_seastar.h"
#include "options.h"

/* Layout version in the NIC control block. */
#define NICCB_VERSION 1

/* Lower pendings of all firmware processes together: three pools as large as the generic one, which
 * makes 119 KB (3 * 1274 of 32 bytes), beside 32 KB of sources and 4 KB of hash table, in 192 KB. With
 * accelerated processes theirs are smaller, because match lists need the room. */
#if OPT_ACCELERATED
#define LOWER_PENDINGS (SS_GENERIC_PENDINGS + SS_ACCELERATED_MAX * SS_ACCELERATED_PENDINGS)
#else
#define LOWER_PENDINGS (3 * SS_GENERIC_PENDINGS)
#endif

/* Buckets of the table that finds a source by node id; a power of two. */
#define SOURCE_BUCKETS 1024

/* DMA tags name lower pendings by their place in the pool; these two name no pending. They mark the
 * command that only frees the stream of a message without payload, announced good or bad. */
#define TAG_DRAIN 0xFFFFu
#define TAG_DRAIN_BAD 0xFFFEu

/* An event ring has at least this many slots (and at least one a pending of its process). */
#define EVENTS_MIN 1024
/* Slots of an accelerated process's ring for its other events: a result, and an operation of each group. */
#define EVENTS_KEPT 16
/* OVERFLOW=host: and this many more. */
#define EVENTS_BESIDE 16

_Static_assert(LOWER_PENDINGS < TAG_DRAIN_BAD, "tags must name every pending");
_Static_assert((SOURCE_BUCKETS & (SOURCE_BUCKETS - 1)) == 0, "buckets are masked");
_Static_assert((SS_DMA_FIFO_DEPTH & (SS_DMA_FIFO_DEPTH - 1)) == 0, "FIFO indices are masked");
_Static_assert((SS_DONE_FIFO_DEPTH & (SS_DONE_FIFO_DEPTH - 1)) == 0, "FIFO indices are masked");

/* Words of a header, which is read and copied by them. */
_Static_assert(offsetof(struct ss_portals_header, op) == 0, "word 0");
_Static_assert(offsetof(struct ss_portals_header, flags) == 1, "word 0");
_Static_assert(offsetof(struct ss_portals_header, source_nid) == 4, "word 1");
_Static_assert(offsetof(struct ss_portals_header, target_pid) == 10, "word 2");
_Static_assert(offsetof(struct ss_portals_header, length) == 12, "word 3");
_Static_assert(offsetof(struct ss_portals_header, serial) == 48, "word 12");

#endif
