#include "mainloop.h"

#include "advance.h"
#include "buffer.h"
#include "command.h"
#include "port.h"
#include "receive.h"
#include "state.h"
#include "unit.h"

#define REGISTER(name) (OF_REGISTER_BASE + OF_REGISTER_##name)

/* What was built, for those who look at the image. */
const char offload_options[] __attribute__((used)) = OPT_STRING;

/* The state is all zero before. */
void firmware_init(void)
{
    uint32_t options = io_read32(REGISTER(OPTIONS));

    nic->cells = options & 0xFFFF;
    nic->has_units = nic->cells != 0;
    nic->threshold = options >> 16 & 0xFF;
    nic->node = io_read32(REGISTER(NODE)) << 16;
    for (uint32_t i = 0; i < OF_PROCESSES; i++) {
        struct process *process = &nic->processes[i];

        process->number = (uint8_t)i;
        process->window = OF_WINDOW_BASE + i * OF_WINDOW_SIZE;
        queue_init(&process->posted);
        queue_init(&process->unexpected);
        if (OPT_SEARCH_HASH) {
            hash_init(&nic->hashes[i][POSTED]);
            hash_init(&nic->hashes[i][UNEXPECTED]);
        }
    }
    buffer_init();
    unit_init();
    io_write32(REGISTER(READY), 1);
}

/* The four actions of brightwell2005 s5.3. Inlined into the endless loop, so that a turn saves no
 * registers. */
static inline __attribute__((always_inline)) void turn(void)
{
    uint32_t status, tails, moved;

    /* Both loads go out before the first is used, so that their latencies overlap. */
    status = io_read32(REGISTER(STATUS));
    tails = io_read32(REGISTER(TAILS));

    if ((uint8_t)(status - nic->headers))
        take_headers(status);
    if (tails != nic->tails)
        take_commands(tails);
    moved = (uint8_t)((status >> 16) - nic->dmas_done) | (uint8_t)((status >> 8) - nic->sends_done);
    if (moved | (uintptr_t)nic->active_receives.first | (uintptr_t)nic->sends.first)
        advance(status);
    if (nic->unit_work) {
        nic->unit_work = 0;
        update_unit(&nic->units[POSTED]);
        update_unit(&nic->units[UNEXPECTED]);
    }
    io_write32(REGISTER(HEARTBEAT), 1);
}

void mainloop_turn(void)
{
    turn();
}

void mainloop(void)
{
    for (;;)
        turn();
}
