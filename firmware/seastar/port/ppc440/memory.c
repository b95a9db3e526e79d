/* The compiler may call these for copies and clears of structures, also in freestanding code. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memset(void *to, int value, size_t size);

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    uint8_t *d = to;
    const uint8_t *s = from;

    while (size--)
        *d++ = *s++;
    return to;
}

void *memset(void *to, int value, size_t size)
{
    uint8_t *d = to;

    while (size--)
        *d++ = (uint8_t)value;
    return to;
}
