/* The thin MPI library: what its files share.
 *
 * A program's process holds only this library. It posts calls into a ring in memory that it shares with the
 * simulator, and hands over when it must have an answer; MPI itself runs in the simulator. */
#ifndef SUNSTAR_RANK_H
#define SUNSTAR_RANK_H

#include "generated/functions.h"
#include "mpi.h"
#include "seam.h"

/* PMPI_x is the function, MPI_x a weak second name that profiling tools may replace. */
#define RANK_WEAK(result, name, parameters)                                                        \
    __attribute__((visibility("default"))) result P##name parameters;                              \
    __attribute__((visibility("default"), weak, alias("P" #name))) result name parameters;         \
    result P##name parameters

/* Arguments of a blocking send, and bytes of payload that fit behind them in a record. */
#define RANK_SEND_ARGUMENTS 6u
#define RANK_CARRIED (sizeof((struct rank_record){0}.arguments) - RANK_SEND_ARGUMENTS * sizeof(uint64_t))

struct rank_facts {
    const char *name;
    uint8_t any_time; /* may be called before MPI_Init and after MPI_Finalize */
};
extern const struct rank_facts rank_facts[RANK_FUNCTIONS];

/* --- attach.c --- */

/* The channel of this process, which is or becomes the rank; ends it if it cannot be. The name is that of
 * the function that was called. */
struct rank_channel *rank_require(const char *name);
/* True if this process is the rank. */
bool rank_is_rank(void);
/* The number of the node; false outside of a run. */
bool rank_node(uint32_t *number);

/* The channel of a process of a run, be it the rank or not; NULL elsewhere. */
const struct rank_channel *rank_channel_of_run(void);

/* --- counter.c --- */

/* From now on the time-stamp counter tells simulated time; to be called again when others may have taken over
 * SIGSEGV meanwhile. */
void rank_counter_begin(void);

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

/* --- seam.c, beside what stands in seam.h --- */

/* This process has become the rank. */
void rank_begin(struct rank_channel *channel);

/* True if rank_state has all these bits. */
bool rank_state_has(uint32_t bits);

/* Posts a call and waits for its answer: an MPI error code. Ends the process if MPI cannot be called now. */
int rank_call(enum rank_function function, unsigned count, const uint64_t *arguments);
/* The same for a call that reads these bytes of the program's. */
int rank_call_with(enum rank_function function, unsigned count, const uint64_t *arguments,
                   const void *read, size_t bytes);
/* As rank_call, at any time within a run. */
int rank_call_any_time(enum rank_function function, unsigned count, const uint64_t *arguments);
/* Arguments of a call of a socket: its own, and at the end, as socket_call says, these. */
enum {
    RANK_SOCKET_SHARES = 11, /* 1: other threads may want to call */
    RANK_SOCKET_WAITED,
    RANK_SOCKET_LIMIT,
    RANK_SOCKET_ARGUMENTS
};
/* Asks for such a call: its result, or a negative error number, and six words beside. */
int rank_call_socket(unsigned call, const uint64_t *arguments, uint64_t *words);
/* Posts a call and does not wait. */
int rank_post(enum rank_function function, unsigned count, const uint64_t *arguments);
/* Posts a call whose first argument becomes the address of a copy of the payload, which fits into
 * RANK_CARRIED bytes. False if the caller must wait for an answer because errors may be returned;
 * nothing is done then. */
bool rank_post_carrying(enum rank_function function, unsigned count, const uint64_t *arguments,
                        size_t bytes);
/* A request handle that was never used before. */
uint64_t rank_new_request(void);
/* Writes out what the program has printed. */
void rank_flush(void);
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
/* Bytes of so many request handles, and of items of a predefined type without holes; 0 if they are too many
 * or it is another type. */
size_t rank_handles(uint64_t count);
size_t rank_items(uint64_t count, uint64_t datatype);

/* --- move.c --- */

/* Maps what runs are moved through: that of this channel in its memory file. */
void rank_move_begin(int file, uint32_t number);
/* Copies what stands first in PACKED. */
void rank_move_look(void *copy, size_t bytes);
/* Moves the runs that the simulator has named. */
void rank_move(struct rank_channel *channel);

/* --- send.c --- */

/* Bytes of an item of a predefined type without holes; 0 for all other types. */
size_t rank_size_of(uint64_t datatype);

/* A blocking send (buffer, count, datatype, ...): posted if its payload can be carried. */
int rank_send(enum rank_function function, unsigned count, const uint64_t *arguments);

#endif
