/* Calls to the simulator: when they may be made, and which of them only look. */
#include "calls.h"

/* The ABI keeps handles below 4096 for itself. */
#define FIRST_REQUEST 0x10000u

static uint64_t next_request = FIRST_REQUEST;
static bool errors_return; /* the program has set an error handler: it may look at a result */

/* Both libraries and the simulator must be made of the same data. */
__attribute__((constructor)) static void check(void)
{
    const struct rank_channel *channel = rank_attach();
    if (channel && channel->fingerprint != FUNCTIONS_FINGERPRINT)
        rank_fail("libmpi_abi.so.1 belongs to another version of the simulator; build both again");
}

uint64_t rank_new_request(void)
{
    return __atomic_fetch_add(&next_request, 1, __ATOMIC_RELAXED);
}

/* Ends the process if this function cannot be called now. */
static void require(enum rank_function function)
{
    const struct rank_facts *facts = &rank_facts[function];
    const struct rank_channel *channel = rank_require(facts->name);
    if (!facts->any_time && !(channel->state & RANK_STATE_INITIALIZED))
        rank_fail("%s was called before MPI_Init", facts->name);
    if (!facts->any_time && channel->state & RANK_STATE_FINALIZED)
        rank_fail("%s was called after MPI_Finalize", facts->name);
}

static struct rank_call call_of(enum rank_function function, unsigned count,
                                const uint64_t *arguments)
{
    return (struct rank_call){
        .name = rank_facts[function].name,
        .function = function,
        .count = count,
        .arguments = arguments,
    };
}

int rank_call_any_time(enum rank_function function, unsigned count, const uint64_t *arguments)
{
    const struct rank_call call = call_of(function, count, arguments);
    return rank_call_mpi(&call);
}

int rank_call(enum rank_function function, unsigned count, const uint64_t *arguments)
{
    return rank_call_with(function, count, arguments, NULL, 0);
}

int rank_call_with(enum rank_function function, unsigned count, const uint64_t *arguments,
                   const void *read, size_t bytes)
{
    struct rank_call call = call_of(function, count, arguments);
    require(function);
    if (function == FN_MPI_Comm_set_errhandler)
        errors_return = true;
    call.read = read;
    call.bytes = bytes;
    if (function == FN_MPI_Test) {
        call.flag = (int *)(uintptr_t)arguments[1];
        call.request = (const uint64_t *)(uintptr_t)arguments[0];
    } else if (function == FN_MPI_Iprobe) {
        call.flag = (int *)(uintptr_t)arguments[3];
    }
    return rank_call_mpi(&call);
}

int rank_post(enum rank_function function, unsigned count, const uint64_t *arguments)
{
    const struct rank_call call = call_of(function, count, arguments);
    require(function);
    rank_post_mpi(&call);
    return MPI_SUCCESS;
}

bool rank_post_carrying(enum rank_function function, unsigned count, const uint64_t *arguments,
                        size_t bytes)
{
    struct rank_call call = call_of(function, count, arguments);
    require(function);
    if (errors_return || rank_state_has(RANK_STATE_ERRORS_RETURN))
        return false;
    call.read = (const void *)(uintptr_t)arguments[0];
    call.bytes = bytes;
    rank_post_mpi(&call);
    return true;
}
