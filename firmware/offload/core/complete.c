#include "complete.h"

#include "port.h"

/* The bus sees stores in the order of the program, and neighbours as one write of 16 bytes, so
 * that `lap` comes with the second half and behind the first. Nothing that follows can overtake
 * it, and a barrier would only make the processor wait until the host's bus has taken the write. */
void complete(struct process *process, uint32_t kind, uint32_t request, uint32_t bits_lo,
              uint32_t bits_hi, uint32_t length, uint32_t handle, uint32_t serial)
{
    uint32_t slot = process->slot, next = slot + sizeof(struct of_completion);
    uint32_t lap = process->lap;

    io_write32(slot + offsetof(struct of_completion, kind), kind);
    io_write32(slot + offsetof(struct of_completion, request), request);
    io_write32(slot + offsetof(struct of_completion, bits_lo), bits_lo);
    io_write32(slot + offsetof(struct of_completion, bits_hi), bits_hi);
    io_write32(slot + offsetof(struct of_completion, length), length);
    io_write32(slot + offsetof(struct of_completion, handle), handle);
    io_write32(slot + offsetof(struct of_completion, serial), serial);
    io_write32(slot + offsetof(struct of_completion, lap), lap);
    /* Windows stand at multiples of their size. */
    if (next % OF_WINDOW_SIZE == 0) {
        next = process->window;
        process->lap = lap + 1;
    }
    process->slot = next;
}
