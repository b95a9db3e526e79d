/* Blocking sends of short messages. MPI may buffer them, so the program need not wait for the
 * simulator: the payload travels in the call's record, and the program goes on until it needs an
 * answer. In simulated time the call still takes as long as it takes. */
#include "calls.h"

/* Handles of types of a fixed size tell it: bits 3 to 5 are its logarithm (MPI 5.0, chapter on the ABI). */
#define FIRST_FIXED 0x240u
#define LAST_FIXED 0x2ffu

/* Bytes of an item of a predefined type without holes; 0 for all other types. */
static size_t size_of(uint64_t datatype)
{
    if (datatype >= FIRST_FIXED && datatype <= LAST_FIXED)
        return (size_t)1 << (datatype >> 3 & 7);
    switch (datatype) {
    case (uintptr_t)MPI_SHORT:
    case (uintptr_t)MPI_UNSIGNED_SHORT:
        return sizeof(short);
    case (uintptr_t)MPI_INT:
    case (uintptr_t)MPI_UNSIGNED:
        return sizeof(int);
    case (uintptr_t)MPI_LONG:
    case (uintptr_t)MPI_UNSIGNED_LONG:
        return sizeof(long);
    case (uintptr_t)MPI_LONG_LONG:
    case (uintptr_t)MPI_UNSIGNED_LONG_LONG:
        return sizeof(long long);
    case (uintptr_t)MPI_FLOAT:
        return sizeof(float);
    case (uintptr_t)MPI_DOUBLE:
        return sizeof(double);
    default:
        return 0;
    }
}

size_t rank_handles(uint64_t count)
{
    const size_t most = sizeof((struct rank_channel){0}.carried) / sizeof(MPI_Request);
    return count <= most ? count * sizeof(MPI_Request) : 0;
}

size_t rank_items(uint64_t count, uint64_t datatype)
{
    const size_t size = size_of(datatype), most = sizeof((struct rank_channel){0}.carried);
    return size > 0 && count <= most / size ? count * size : 0;
}

/* Arguments of a blocking send, and bytes of payload that fit behind them in a record. */
#define SEND_ARGUMENTS 6u
#define CARRIED (sizeof((struct rank_record){0}.arguments) - SEND_ARGUMENTS * sizeof(uint64_t))

/* Every library allows tags up to here (MPI 5.0, section 9.1.2). */
#define LEAST_TAG_UB 32767

/* Nothing is wrong with where it goes; of other communicators than the world only the simulator knows. */
static bool goes_somewhere(uint64_t communicator, int64_t destination, int64_t tag)
{
    const bool known = destination == MPI_PROC_NULL ||
                       (destination >= 0 && destination < (int64_t)rank_attach()->size);
    return communicator == POINTER(MPI_COMM_WORLD) && known && tag >= 0 && tag <= LEAST_TAG_UB;
}

int rank_send(enum rank_function function, unsigned count, const uint64_t *arguments)
{
    const int64_t items = (int64_t)arguments[1];
    const size_t size = size_of(arguments[2]);
    const bool short_and_there = size > 0 && items >= 0 && (uint64_t)items <= CARRIED / size &&
                                 (items == 0 || arguments[0] != 0);
    if (short_and_there && rank_attach() &&
        goes_somewhere(arguments[5], (int64_t)arguments[3], (int64_t)arguments[4]) &&
        rank_post_carrying(function, count, arguments, (size_t)items * size))
        return MPI_SUCCESS;
    return rank_call_with(function, count, arguments, (const void *)(uintptr_t)arguments[0],
                          rank_items(arguments[1], arguments[2]));
}
