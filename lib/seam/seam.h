/* The seam to the simulator, as the thin libraries of MPI, Portals and verbs and
 * the libfabric provider use it. It is a library of its
 * own, libsunstar_seam.so, which each process of a run has; its functions are exported under names that no
 * program has, and it has none of MPI's or verbs' (docs/decisions/0159). */
#ifndef SUNSTAR_SEAM_H
#define SUNSTAR_SEAM_H

#include "generated/abi_rank.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANK_SHARED(name) __asm__("sunstar_" #name) __attribute__((visibility("default")))

/* Raw arguments: pointers and handles as they are, integers sign-extended. */
#define POINTER(value) ((uint64_t)(uintptr_t)(value))
#define INTEGER(value) ((uint64_t)(int64_t)(value))

/* The channel of the rank, or of the process that the simulator has started and that may become it; NULL
 * outside of a run and in what these have started. */
struct rank_channel *rank_attach(void) RANK_SHARED(rank_attach);
/* The channel of this process, which is or becomes the rank; ends it if it cannot be. The name is that of the
 * function that was called. */
struct rank_channel *rank_require(const char *name) RANK_SHARED(rank_require);
/* Adds bits of rank_state. */
void rank_state_add(uint32_t bits) RANK_SHARED(rank_state_add);
/* True if rank_state has all these bits. */
bool rank_state_has(uint32_t bits) RANK_SHARED(rank_state_has);

/* A call of MPI's. */
struct rank_call {
    const char *name;
    unsigned function, count;
    const uint64_t *arguments;
    const void *read; /* bytes that the simulator is about to read */
    size_t bytes;
    int *flag; /* of a call that only looks: where it says whether something has come */
    const uint64_t *request; /* the request that it looks at, if it is one */
};
/* Posts a call and waits for its answer: an error code, 0 for none. */
int rank_call_mpi(const struct rank_call *call) RANK_SHARED(rank_call_mpi);
/* Posts a call and does not wait. What it reads travels with it, and its first argument becomes the address
 * of that; there is room for it behind the arguments. */
void rank_post_mpi(const struct rank_call *call) RANK_SHARED(rank_post_mpi);
/* Notes the answer to a call, before others make calls: true if that was a look that has found nothing. */
typedef bool rank_note(const struct rank_channel *channel, const uint64_t *arguments, int code);
/* Posts a Portals call and waits for its answer: a return code. Ends the process outside of the simulator.
 * `event` is where an event goes, which the simulator looks at first; both it and `note` may be NULL. */
int rank_call_noting(unsigned function, const char *name, unsigned count, const uint64_t *arguments,
                     const void *event, rank_note *note) RANK_SHARED(rank_call_noting);
/* The same for a call that is no look. */
static inline int rank_call_portals(unsigned function, const char *name, unsigned count,
                                    const uint64_t *arguments)
{
    return rank_call_noting(function, name, count, arguments, NULL, NULL);
}
/* Looks at event queues that have found nothing, one after the other: looks at a clock may come between. */
extern uint32_t rank_vain_looks RANK_SHARED(rank_vain_looks);
/* Tells what is done again (rank_deed), while no other thread makes a call; TELL: nothing. */
typedef uint32_t rank_find(const struct rank_channel *channel, const uint64_t *arguments);
/* Says what the library has done by itself, which takes so long; with `find` that tells what, and it takes as
 * long as the channel says. False if the simulator must be
 * asked: something else may come before; a call that was posted takes its time first; a signal handler has
 * interrupted the library. */
bool rank_do_alone(struct rank_channel *channel, uint32_t deed, uint64_t cost, rank_find *find,
                   const uint64_t *arguments) RANK_SHARED(rank_do_alone);
/* The libfabric provider says that the program calls a function (rank_fabric_call); that this returns, with
 * so many completions, or as a look that has found nothing; and what its queues do (rank_fabric_note).
 * Nothing happens outside of a run. */
void rank_fabric_begin(unsigned call) RANK_SHARED(rank_fabric_begin);
void rank_fabric_end(uint64_t completions, bool in_vain) RANK_SHARED(rank_fabric_end);
void rank_fabric_tell(unsigned note, uint64_t number) RANK_SHARED(rank_fabric_tell);
/* A call of libibverbs: what the answer says, and what it tells beside. */
int rank_call_verbs(unsigned call, const char *name, unsigned count, const uint64_t *arguments,
                    uint64_t *words) RANK_SHARED(rank_call_verbs);
/* A card may write to this memory of the program's while the program looks: its looks are seen. */
void rank_guard(void *memory, size_t bytes) RANK_SHARED(rank_guard);
/* Not any more. */
void rank_unguard(void *memory, size_t bytes) RANK_SHARED(rank_unguard);
/* This descriptor can be read when a card has an event (or not any more): poll(2) and select(2) ask by
 * `look`, which waits so many picoseconds at most, and is true if an event has come. False if there are too
 * many of them. */
bool rank_events(int file, bool there, bool (*look)(uint64_t limit)) RANK_SHARED(rank_events);
/* True if a call can be made now: not so in a signal handler, or while another thread is in a call. */
bool rank_may_call(void) RANK_SHARED(rank_may_call);
/* Several calls of a thread, with none of another's between them. True if others wait for their turn: a wait
 * for a card would hold them up. */
bool rank_gate_enter(void) RANK_SHARED(rank_gate_enter);
void rank_gate_leave(void) RANK_SHARED(rank_gate_leave);
/* Asks for the simulated time, in picoseconds. The channel must be there. */
uint64_t rank_clock(struct rank_channel *channel) RANK_SHARED(rank_clock);
/* The simulated time that was told last. */
uint64_t rank_told(const struct rank_channel *channel) RANK_SHARED(rank_told);
/* Lets simulated time pass. The channel must be there. */
void rank_pass(struct rank_channel *channel, uint64_t picoseconds) RANK_SHARED(rank_pass);
/* The same for a process that sleeps: if it waits beside a rank, it does so in real time. */
void rank_sleep(struct rank_channel *channel, uint64_t picoseconds) RANK_SHARED(rank_sleep);
/* Lets the process compute for so long, without waiting for that. The channel must be there. */
void rank_compute(struct rank_channel *channel, uint64_t picoseconds) RANK_SHARED(rank_compute);
/* From now on the time-stamp counter tells simulated time; to be called again when others may have taken over
 * SIGSEGV meanwhile. */
void rank_counter_begin(void) RANK_SHARED(rank_counter_begin);
/* Writes out what the program has printed. */
void rank_flush(void) RANK_SHARED(rank_flush);
/* Ends the process for a reason that the simulator, or where there is none the library itself, tells. */
void rank_fail(const char *format, ...) RANK_SHARED(rank_fail)
    __attribute__((noreturn, format(printf, 1, 2)));

#endif
