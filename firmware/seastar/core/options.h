/* Build options: each is 0 or 1, set by the Makefile with -D, and used in plain C conditions so
 * that every variant compiles every line. CACHE is an option of the port alone (page
 * attributes). */
#ifndef SEASTAR_OPTIONS_H
#define SEASTAR_OPTIONS_H

/* Messages with their payload in the header are announced and done in one event (pedretti2005
 * s5.2). */
#ifndef OPT_INLINE
#define OPT_INLINE 1
#endif

/* Control block counters and FIFO indices are read from cached copies and written through to the
 * uncached original (pedretti2005 s5.3). Off: every use reads the original. */
#ifndef OPT_SHADOW_FIFOS
#define OPT_SHADOW_FIFOS 1
#endif

/* Trace points (pedretti2005 s3.3). */
#ifndef OPT_TRACE
#define OPT_TRACE 0
#endif

/* Hot globals live in registers r22..r31 (pedretti2005 s5.4): PowerPC only. */
#ifndef OPT_PINNED_REGS
#define OPT_PINNED_REGS 0
#endif

/* Accelerated processes: the firmware matches for them (pedretti2005 s4.1). */
#ifndef OPT_ACCELERATED
#define OPT_ACCELERATED 0
#endif

/* A message for which something has run out is refused, and comes again (recover.h). */
#ifndef OPT_OVERFLOW
#define OPT_OVERFLOW 0
#endif
/* The same, and the hosts' kernels see to it (relay.h). */
#ifndef OPT_RELAY
#define OPT_RELAY 0
#endif
#if OPT_RELAY && (OPT_OVERFLOW || OPT_ACCELERATED)
#error "OVERFLOW=host is for the kernel's Portals"
#endif
/* Collective operations of accelerated processes by the firmware (collective.h). */
#ifndef OPT_COLLECTIVES
#define OPT_COLLECTIVES 0
#endif
#if OPT_COLLECTIVES && !(OPT_OVERFLOW && OPT_ACCELERATED)
#error "COLLECTIVES=on is for accelerated processes, and needs the control class of OVERFLOW=nic"
#endif
/* Messages are numbered, and what has no room is dropped. */
#define OPT_NUMBERED (OPT_OVERFLOW || OPT_RELAY)
#if OPT_OVERFLOW && OPT_TRACE
#error "OVERFLOW=nic keeps its bits in the place of the trace ring; build it with TRACE=off"
#endif

/* Functions that only such an image uses outside of their file. */
#if OPT_ACCELERATED
#define ACCEL_SHARED
#else
#define ACCEL_SHARED static
#endif

/* Source structures: peers with messages in progress at once. */
#ifndef OPT_SOURCES
#define OPT_SOURCES SS_SOURCES
#endif

/* Identifies the build: a hash over sources and options, so that builds are reproducible. */
#ifndef OPT_BUILD_HASH
#define OPT_BUILD_HASH 0
#endif

/* All options as text, kept in the image (symbol seastar_options). */
#ifndef OPT_STRING
#define OPT_STRING "native"
#endif

#endif
