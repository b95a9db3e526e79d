/* Floating point in software: the embedded processor has none. A number is two words of IEEE 754 binary64,
 * the lower one first. Results are those of the hosts' processors (SSE2, rounding to nearest, ties to
 * even), bit by bit, NaNs included. */
#ifndef SEASTAR_SOFT_H
#define SEASTAR_SOFT_H

#include <stdint.h>

/* into = a + into. */
void soft_add(const uint32_t *a, uint32_t *into);

/* Whether a < b; not if one is a NaN. */
int soft_less(const uint32_t *a, const uint32_t *b);

#endif
