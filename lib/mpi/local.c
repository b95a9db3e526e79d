/* Functions that need no simulator, and those that change how far the rank has come. */
#include "calls.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- null pointers --- */

/* A result has no place, or what is asked about is not there: the simulator says so, and the program's error
 * handler decides. */
static int placeless(enum rank_function function, unsigned count, const uint64_t *arguments)
{
    return rank_call_any_time(function, count, arguments);
}

/* The same for a function whose results are in all of its arguments. */
#define PLACES(function, ...)                                                                      \
    do {                                                                                           \
        const uint64_t places[] = {__VA_ARGS__};                                                   \
        const unsigned count = sizeof places / sizeof *places;                                     \
        for (unsigned i = 0; i < count; i++)                                                       \
            if (places[i] == 0)                                                                    \
                return placeless(FN_##function, count, places);                                    \
    } while (0)

/* --- beginning and end --- */

/* The thread that has begun MPI. */
static pthread_t main_thread;

static int initialize(enum rank_function function, unsigned count, const uint64_t *arguments)
{
    if (rank_state_has(RANK_STATE_INITIALIZED))
        rank_fail("%s was called twice", rank_facts[function].name);
    rank_counter_begin(); /* sanitizers begin in between */
    const int code = rank_call_any_time(function, count, arguments);
    main_thread = pthread_self();
    if (code == MPI_SUCCESS)
        rank_state_add(RANK_STATE_INITIALIZED);
    return code;
}

RANK_WEAK(int, MPI_Init, (int *argc, char ***argv))
{
    const uint64_t args[] = {POINTER(argc), POINTER(argv)};
    return initialize(FN_MPI_Init, 2, args);
}

RANK_WEAK(int, MPI_Init_thread, (int *argc, char ***argv, int required, int *provided))
{
    const uint64_t args[] = {POINTER(argc), POINTER(argv), INTEGER(required), POINTER(provided)};
    return initialize(FN_MPI_Init_thread, 4, args);
}

RANK_WEAK(int, MPI_Is_thread_main, (int *flag))
{
    if (!rank_state_has(RANK_STATE_INITIALIZED))
        rank_fail("%s was called before MPI_Init", "MPI_Is_thread_main");
    PLACES(MPI_Is_thread_main, POINTER(flag));
    *flag = pthread_equal(pthread_self(), main_thread) != 0;
    return MPI_SUCCESS;
}

RANK_WEAK(int, MPI_Finalize, (void))
{
    const int code = rank_call(FN_MPI_Finalize, 0, NULL);
    if (code == MPI_SUCCESS)
        rank_state_add(RANK_STATE_FINALIZED);
    return code;
}

RANK_WEAK(int, MPI_Initialized, (int *flag))
{
    PLACES(MPI_Initialized, POINTER(flag));
    *flag = rank_state_has(RANK_STATE_INITIALIZED);
    return MPI_SUCCESS;
}

RANK_WEAK(int, MPI_Finalized, (int *flag))
{
    PLACES(MPI_Finalized, POINTER(flag));
    *flag = rank_state_has(RANK_STATE_FINALIZED);
    return MPI_SUCCESS;
}

RANK_WEAK(int, MPI_Abort, (MPI_Comm comm, int errorcode))
{
    const uint64_t args[] = {POINTER(comm), INTEGER(errorcode)};
    rank_flush();
    rank_call_any_time(FN_MPI_Abort, 2, args);
    /* The simulator ends the run by killing its ranks, this one too. */
    _exit(errorcode);
}

/* --- versions --- */

RANK_WEAK(int, MPI_Get_version, (int *version, int *subversion))
{
    PLACES(MPI_Get_version, POINTER(version), POINTER(subversion));
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

RANK_WEAK(int, MPI_Abi_get_version, (int *abi_major, int *abi_minor))
{
    PLACES(MPI_Abi_get_version, POINTER(abi_major), POINTER(abi_minor));
    *abi_major = MPI_ABI_VERSION;
    *abi_minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}

RANK_WEAK(int, MPI_Get_library_version, (char *version, int *resultlen))
{
    PLACES(MPI_Get_library_version, POINTER(version), POINTER(resultlen));
    *resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Sunstar (MPI %d.%d ABI)", MPI_VERSION,
                          MPI_SUBVERSION);
    return MPI_SUCCESS;
}

/* --- time --- */

#define PS_PER_SECOND 1000000000000ull
/* Steps of the clock: Pico-MPI has the guest's. */
#ifndef PS_PER_TICK
#define PS_PER_TICK 1ull
#endif

RANK_WEAK(double, MPI_Wtime, (void))
{
    return (double)rank_clock(rank_require("MPI_Wtime")) / (double)PS_PER_SECOND;
}

RANK_WEAK(double, MPI_Wtick, (void))
{
    return (double)PS_PER_TICK / (double)PS_PER_SECOND;
}

/* --- addresses --- */

RANK_WEAK(int, MPI_Get_address, (const void *location, MPI_Aint *address))
{
    const uint64_t args[] = {POINTER(location), POINTER(address)};
    if (!address)
        return placeless(FN_MPI_Get_address, 2, args);
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}

RANK_WEAK(MPI_Aint, MPI_Aint_add, (MPI_Aint base, MPI_Aint disp))
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

RANK_WEAK(MPI_Aint, MPI_Aint_diff, (MPI_Aint addr1, MPI_Aint addr2))
{
    return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}

/* --- memory: any of the program's may be sent, so nothing is special about this --- */

RANK_WEAK(int, MPI_Alloc_mem, (MPI_Aint size, MPI_Info info, void *baseptr))
{
    void *memory = size < 0 || !baseptr ? NULL : malloc(size == 0 ? 1 : (size_t)size);
    if (!memory) {
        const uint64_t args[] = {INTEGER(size), POINTER(info), POINTER(baseptr)};
        return rank_call(FN_MPI_Alloc_mem, 3, args); /* the error handler decides */
    }
    *(void **)baseptr = memory;
    return MPI_SUCCESS;
}

RANK_WEAK(int, MPI_Free_mem, (void *base))
{
    free(base);
    return MPI_SUCCESS;
}

/* --- handles as integers: handles are small numbers here, so both are the same number --- */

#define CONVERSIONS(type, name, argument)                                                          \
    RANK_WEAK(int, name##_toint, (type argument))                                                  \
    {                                                                                              \
        return (int)(intptr_t)argument;                                                            \
    }                                                                                              \
    RANK_WEAK(type, name##_fromint, (int argument))                                                \
    {                                                                                              \
        return (type)(intptr_t)argument;                                                           \
    }

CONVERSIONS(MPI_Comm, MPI_Comm, comm)
CONVERSIONS(MPI_Errhandler, MPI_Errhandler, errhandler)
CONVERSIONS(MPI_File, MPI_File, file)
CONVERSIONS(MPI_Group, MPI_Group, group)
CONVERSIONS(MPI_Info, MPI_Info, info)
CONVERSIONS(MPI_Message, MPI_Message, message)
CONVERSIONS(MPI_Op, MPI_Op, op)
CONVERSIONS(MPI_Session, MPI_Session, session)
CONVERSIONS(MPI_Datatype, MPI_Type, datatype)
CONVERSIONS(MPI_Win, MPI_Win, win)

/* Requests are numbered anew each, and C has more numbers than Fortran. */
RANK_WEAK(int, MPI_Request_toint, (MPI_Request request))
{
    if (POINTER(request) > INT_MAX)
        rank_fail("Fortran has no number for a request after 2^31 others; C has");
    return (int)(intptr_t)request;
}

RANK_WEAK(MPI_Request, MPI_Request_fromint, (int request))
{
    return (MPI_Request)(intptr_t)request;
}

/* --- public fields of a status --- */

#define STATUS_FIELD(field, argument, member)                                                      \
    RANK_WEAK(int, MPI_Status_get_##field, (const MPI_Status *status, int *argument))              \
    {                                                                                              \
        PLACES(MPI_Status_get_##field, POINTER(status), POINTER(argument));                        \
        *argument = status->member;                                                                \
        return MPI_SUCCESS;                                                                        \
    }                                                                                              \
    RANK_WEAK(int, MPI_Status_set_##field, (MPI_Status * status, int argument))                    \
    {                                                                                              \
        const uint64_t args[] = {POINTER(status), INTEGER(argument)};                              \
        if (!status)                                                                               \
            return placeless(FN_MPI_Status_set_##field, 2, args);                                  \
        status->member = argument;                                                                 \
        return MPI_SUCCESS;                                                                        \
    }

STATUS_FIELD(source, source, MPI_SOURCE)
STATUS_FIELD(tag, tag, MPI_TAG)
STATUS_FIELD(error, error, MPI_ERROR)
