#include "niccb.h"

#include "limits.h"
#include "port.h"

struct ss_niccb cached_niccb;

void niccb_init(void)
{
    static const struct ss_niccb blank;

    cached_niccb = blank;
    cached_niccb.version = NICCB_VERSION;
    cached_niccb.build_time = OPT_BUILD_HASH;
    cached_niccb.local_nid = (uint16_t)io_read32(SS_REG_NID);
    cached_niccb.tracebuf_info[0] = SS_TRACE_BASE;
    cached_niccb.tracebuf_info[1] = OPT_TRACE ? SS_TRACE_COUNT : 0;
    niccb = cached_niccb;
}
