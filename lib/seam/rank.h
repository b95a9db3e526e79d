/* The seam: what its files share.
 *
 * A program's process holds only this library and thin ones of MPI, Portals or verbs. They post calls into a
 * ring in memory that it shares with the simulator, and hand over when they must have an answer; all else
 * runs in the simulator. */
#ifndef SUNSTAR_RANK_H
#define SUNSTAR_RANK_H

#include "seam.h"

/* --- attach.c --- */

/* True if this process is the rank. */
bool rank_is_rank(void);
/* The number of the node; false outside of a run. */
bool rank_node(uint32_t *number);

/* The channel of a process of a run, be it the rank or not; NULL elsewhere. */
const struct rank_channel *rank_channel_of_run(void);

/* --- gate.c --- */

/* One thread at a time is in the library; of a program with verbs one runs at a time. */
void rank_lock(void);
void rank_unlock(void);
/* True if a thread is in the library. */
bool rank_is_locked(void);
/* This thread looks at guarded memory: it waits for its turn, unless it has it. */
void rank_gate_pass(void);

/* --- guard.c --- */

/* The program is going to wait in a call, perhaps only for the time. */
void rank_guard_leave(bool looks_at_clock);
/* The simulator is going to read or write guarded memory there. True if some of it was closed. */
bool rank_guard_open(uintptr_t at, size_t bytes);
/* The program goes on: looks are seen again. */
void rank_guard_close(void);
/* A fault of the program, in SIGSEGV's handler: true if it was a look at guarded memory, which goes on. */
bool rank_guard_fault(const void *info, void *context);
/* Single steps are ours from now on. */
void rank_guard_begin(void);

/* --- store.c --- */

/* Bytes that the instruction at code stores, if all that it does is to store; else 0. */
unsigned rank_store_bytes(const uint8_t *code);

/* --- window.c --- */

/* A fault of the program at that address: true if it was an access to the card, which goes on. */
bool rank_window_fault(uintptr_t at, void *context);
/* An instruction was carried out by a single step. */
void rank_window_stepped(void);

/* --- fabric.c --- */

/* The call of libfabric that the program is in, and the one whose looks have found nothing and which goes on
 * for the simulator (fabric_call; 0: none). */
extern struct rank_fabric {
    unsigned inside, looks;
} rank_fabric;

/* --- caller.c --- */

/* The name of the outermost function of MPI that the program is in; NULL if its symbols do not tell. */
const char *rank_caller(void);

/* --- seam.c, beside what stands in seam.h --- */

/* Puts a record of one argument that needs no answer, unless a signal handler has interrupted the library. */
void rank_say(struct rank_channel *c, uint16_t kind, unsigned function, uint64_t argument);

/* This process has become the rank. */
void rank_begin(struct rank_channel *channel);

/* Arguments of a call of a socket: its own, and at the end, as socket_call says, these. */
enum {
    RANK_SOCKET_SHARES = 11, /* 1: other threads may want to call */
    RANK_SOCKET_WAITED,
    RANK_SOCKET_LIMIT,
    RANK_SOCKET_ARGUMENTS
};
/* Asks for such a call: its result, or a negative error number, and six words beside. */
int rank_call_socket(unsigned call, const uint64_t *arguments, uint64_t *words);
/* A template tells what it has forked; the number of the channel of the rank that it is to fork next. */
int rank_forked(struct rank_channel *channel, int64_t forked);

/* --- template.c --- */

/* Forks ranks as the simulator asks, in a template whose channel is the first in this file; returns in those
 * ranks. */
void rank_template(struct rank_channel *channel, int file);

/* --- memory.c --- */

/* The library is loaded, and the channel is there. */
void rank_memory_begin(void);
/* The program is about to wait. */
void rank_memory_leave(struct rank_channel *channel);
/* It goes on: what the simulator has left is stored. */
void rank_memory_return(struct rank_channel *channel);
/* The simulator is about to read these bytes: they travel with the call, if they are few and surely there. */
void rank_memory_carry(struct rank_channel *channel, const void *at, size_t bytes);

/* --- move.c --- */

/* Maps what runs are moved through: that of this channel in its memory file. */
void rank_move_begin(int file, uint32_t number);
/* Copies what stands first in PACKED. */
void rank_move_look(void *copy, size_t bytes);
/* Moves the runs that the simulator has named. */
void rank_move(struct rank_channel *channel);

#endif
