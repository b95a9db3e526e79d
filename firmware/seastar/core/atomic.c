#include "atomic.h"

#include "accel_state.h"
#include "plant.h"
#include "window.h"

/* Seldom by the standards of puts, and the image has little room. */
#define SMALL __attribute__((cold, noinline))

_Static_assert(SS_PORTALS_OP_GETADD - SS_PORTALS_OP_GETPUT == 2, "a range");
_Static_assert(offsetof(struct ss_portals_header, hdr_data) == 24, "words 6 and 7");

SMALL int atomic_takes(uint32_t op, uint32_t length)
{
    if (op == SS_PORTALS_OP_GETPUT)
        return length <= SS_ATOMIC_MAX;
    return length == 4 || length == 8;
}

/* Operands and answers that are not in a header, behind the process's upper pendings: bits 31..0; `hi` gets
 * the others. */
static uint32_t beside(uint32_t *hi)
{
    uint32_t lo = process->upper_lo +
                  process->num_pendings * (uint32_t)sizeof(struct ss_upper_pending) +
                  pending->index * SS_ATOMIC_MAX;

    *hi = process->upper_hi + (lo < process->upper_lo);
    return lo;
}

/* The upper pending of `pending`, through the window of its process. */
static uint32_t upper_of_pending(void)
{
    return process->upper_local + pending->index * (uint32_t)sizeof(struct ss_upper_pending);
}

SMALL void atomic_await(const uint32_t *header)
{
    struct answer *answer = &own()->answers[pending->index];
    uint32_t upper = upper_of_pending();
    uint32_t hi;

    for (uint32_t i = 0; i < SS_RX_HEADER_SIZE / 4; i++)
        io_write32(upper + i * 4, header[i]);
    answer->local_lo = pending->addr_lo;
    answer->local_hi = pending->addr_hi;
    pending->addr_lo = beside(&hi);
    pending->addr_hi = (uint16_t)hi;
}

/* Makes what memory gets of `operand`. Numbers are little endian, as hosts are. Returns 0 if it keeps what
 * it has. */
static inline int combine(uint32_t op, uint32_t *operand, const uint32_t *found,
                          const uint32_t *condition, uint32_t length)
{
    if (op == SS_PORTALS_OP_GETADD) {
        operand[0] += found[0];
        operand[1] += found[1] + (operand[0] < found[0] && !PLANTED(PLANT_LOSES_CARRY));
    }
    return op != SS_PORTALS_OP_CGETPUT || PLANTED(PLANT_SWAPS_ALWAYS) ||
           (found[0] == condition[0] && (length == 4 || found[1] == condition[1]));
}

SMALL void atomic_perform(uint32_t op, const uint32_t *inlined, const uint32_t *condition,
                          int failed)
{
    struct answer *answer = &own()->answers[pending->index];
    uint32_t lo = inlined ? pending->addr_lo : answer->local_lo;
    uint32_t hi = inlined ? pending->addr_hi : answer->local_hi;
    uint32_t length = failed ? 0 : answer->length;
    uint32_t found[SS_INLINE_MAX / 4] = {0, 0, 0};
    uint32_t beside_hi, beside_lo = beside(&beside_hi);

    for (uint32_t at = 0; at < length; at += SS_INLINE_MAX) {
        uint32_t operand[SS_INLINE_MAX / 4];
        uint32_t piece = length - at < SS_INLINE_MAX ? length - at : SS_INLINE_MAX;
        uint32_t at_lo = lo + at, at_hi = hi + (at_lo < lo);
        uint32_t b_lo = beside_lo + at, b_hi = beside_hi + (b_lo < beside_lo);

        window_load(found, at_lo, at_hi, piece);
        if (inlined) {
            operand[0] = inlined[0];
            operand[1] = inlined[1];
            operand[2] = inlined[2];
        } else {
            window_load(operand, b_lo, b_hi, piece);
        }
        if (combine(op, operand, found, condition, length))
            window_store(operand, at_lo, at_hi, piece);
        if (PLANTED(PLANT_ANSWERS_NEW))
            found[0] = operand[0];
        if (length > SS_ATOMIC_INLINE_MAX)
            window_store(found, b_lo, b_hi, piece);
    }
    if (length > SS_ATOMIC_INLINE_MAX) {
        pending->addr_lo = beside_lo;
        pending->addr_hi = (uint16_t)beside_hi;
        found[0] = found[1] = 0; /* It goes to the descriptor's beginning. */
    } else {
        answer->word0 |= (SS_HEADER_FLAG_INLINE | (failed ? SS_HEADER_FLAG_FAILED : 0)) << 8;
    }
    answer->local_lo = found[0];
    answer->local_hi = found[1];
}

SMALL void atomic_deposited(int failed)
{
    uint32_t upper = upper_of_pending();
    uint32_t condition[2] = {io_read32(upper + 24), io_read32(upper + 28)};

    atomic_perform(io_read32(upper) & 0xFF, 0, condition, failed);
}
