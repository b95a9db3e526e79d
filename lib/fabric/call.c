/* Calls of the program, as the simulator is told of them: they take their time there, and
 * reports name them. */
#include "fabric.h"

#include <string.h>

/* Functions of libfabric are made of others: the outermost one counts. */
static __thread struct {
    unsigned depth;
    uint64_t completions;
    bool in_vain;
} now_in;

struct call call_begin(unsigned number)
{
    if (now_in.depth++ == 0) {
        now_in.completions = 0;
        now_in.in_vain = false;
        rank_fabric_begin(number);
    }
    return (struct call){number};
}

void call_end(const struct call *call)
{
    (void)call;
    if (--now_in.depth == 0)
        rank_fabric_end(now_in.completions, now_in.in_vain);
}

void call_completes(size_t completions)
{
    now_in.completions += completions;
    now_in.in_vain = false;
}

void call_in_vain(void)
{
    now_in.in_vain = true;
}

void call_notes(unsigned note, uint64_t number)
{
    rank_fabric_tell(note, number);
}

void copy(void *to, const void *from, size_t bytes)
{
    if (bytes == 0)
        return;
    memcpy(to, from, bytes);
    rank_fabric_tell(RANK_FABRIC_NOTE_COPIED, bytes);
}
