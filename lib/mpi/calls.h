/* The thin MPI library: what its files share. MPI itself runs in the simulator; calls go through the seam
 * (lib/seam), or in a guest to Pico-MPI (lib/pico). */
#ifndef SUNSTAR_CALLS_H
#define SUNSTAR_CALLS_H

#include "generated/functions.h"
#include "mpi.h"
#include "seam.h"

/* PMPI_x is the function, MPI_x a weak second name that profiling tools may replace. */
#define RANK_WEAK(result, name, parameters)                                                        \
    __attribute__((visibility("default"))) result P##name parameters;                              \
    __attribute__((visibility("default"), weak, alias("P" #name))) result name parameters;         \
    result P##name parameters

struct rank_facts {
    const char *name;
    uint8_t any_time; /* may be called before MPI_Init and after MPI_Finalize */
};
extern const struct rank_facts rank_facts[RANK_FUNCTIONS];

/* --- calls.c --- */

/* Posts a call and waits for its answer: an MPI error code. Ends the process if MPI cannot be called now. */
int rank_call(enum rank_function function, unsigned count, const uint64_t *arguments);
/* The same for a call that reads these bytes of the program's. */
int rank_call_with(enum rank_function function, unsigned count, const uint64_t *arguments,
                   const void *read, size_t bytes);
/* As rank_call, at any time within a run. */
int rank_call_any_time(enum rank_function function, unsigned count, const uint64_t *arguments);
/* Posts a call and does not wait. */
int rank_post(enum rank_function function, unsigned count, const uint64_t *arguments);
/* Posts a send whose payload travels with it. False if the caller must wait for an answer because errors may
 * be returned; nothing is done then. */
bool rank_post_carrying(enum rank_function function, unsigned count, const uint64_t *arguments,
                        size_t bytes);
/* A request handle that was never used before. */
uint64_t rank_new_request(void);

/* --- send.c --- */

/* Bytes of so many request handles, and of items of a predefined type without holes, if they are few; else
 * 0. */
size_t rank_handles(uint64_t count);
size_t rank_items(uint64_t count, uint64_t datatype);

/* A blocking send (buffer, count, datatype, ...): posted if its payload can be carried. */
int rank_send(enum rank_function function, unsigned count, const uint64_t *arguments);

#endif
