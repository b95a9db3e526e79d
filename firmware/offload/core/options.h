/* Build options: each is set by the Makefile with -D, and used in plain C conditions so that every
 * variant compiles every line. */
#ifndef OFFLOAD_OPTIONS_H
#define OFFLOAD_OPTIONS_H

/* WALK=ahead: a list is walked with the next entry's words loaded while this one's are compared,
 * which suits a processor that executes in order. WALK=plain: the loop that one writes first. */
#ifndef OPT_WALK_AHEAD
#define OPT_WALK_AHEAD 1
#endif

/* SEARCH=list: MPI's queues are lists that are walked. SEARCH=hash: a table beside each finds an entry
 * (hash.h). */
#ifndef OPT_SEARCH_HASH
#define OPT_SEARCH_HASH 0
#endif

/* All options as text, kept in the image (symbol offload_options). */
#ifndef OPT_STRING
#define OPT_STRING "native"
#endif

#endif
