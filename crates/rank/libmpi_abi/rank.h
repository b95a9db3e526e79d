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

/* --- seam.c, beside what stands in seam.h --- */

/* True if rank_state has all these bits. */
bool rank_state_has(uint32_t bits);

/* Posts a call and waits for its answer: an MPI error code. Ends the process if MPI cannot be called now. */
int rank_call(enum rank_function function, unsigned count, const uint64_t *arguments);
/* The same at any time within a run. */
int rank_call_any_time(enum rank_function function, unsigned count, const uint64_t *arguments);
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

/* --- send.c --- */

/* A blocking send (buffer, count, datatype, ...): posted if its payload can be carried. */
int rank_send(enum rank_function function, unsigned count, const uint64_t *arguments);

#endif
