/* What the libfabric provider says of the calls of programs (abi/rank/channel.toml, fabric_note). */
#include "rank.h"

struct rank_fabric rank_fabric;

void rank_fabric_tell(unsigned note, uint64_t number)
{
    struct rank_channel *c = rank_attach();
    if (c && rank_is_rank())
        rank_say(c, RANK_RECORD_KIND_FABRIC, note, number);
}

void rank_fabric_begin(unsigned call)
{
    /* It goes on to look. */
    if (rank_fabric.looks != call)
        rank_fabric_tell(RANK_FABRIC_NOTE_BEGIN, call);
    rank_fabric = (struct rank_fabric){.inside = call};
}

void rank_fabric_end(uint64_t completions, bool in_vain)
{
    rank_fabric = (struct rank_fabric){.looks = in_vain ? rank_fabric.inside : 0};
    if (!in_vain)
        rank_fabric_tell(RANK_FABRIC_NOTE_END, completions);
}
