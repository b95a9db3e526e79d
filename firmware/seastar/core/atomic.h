/* Atomic operations on the memory of accelerated processes (brightwell2007). The firmware does one thing
 * after the other, so they are atomic to one another. Only in images built with ACCELERATED=on. */
#ifndef SEASTAR_ATOMIC_H
#define SEASTAR_ATOMIC_H

#include "limits.h"

/* Whether an operation of a header is one, and whether its operand has a legal size. */
static inline int atomic_is(uint32_t op)
{
    return op - SS_PORTALS_OP_GETPUT <= SS_PORTALS_OP_GETADD - SS_PORTALS_OP_GETPUT;
}
int atomic_takes(uint32_t op, uint32_t length);

/* Performs the operation that `pending` asks for, but for one that has `failed`, and makes the answer. The
 * operand came in the header (`operand`) or, if that is null, stands where atomic_await let it go.
 * `condition` is two words. */
void atomic_perform(uint32_t op, const uint32_t *operand, const uint32_t *condition, int failed);

/* Lets the operand of `pending` go to host memory beside its upper pending, which gets `header`. */
void atomic_await(const uint32_t *header);

/* It is there, or has `failed`: performs the operation. */
void atomic_deposited(int failed);

#endif
