/* The four functions that a compiler may call without being asked. By words where both ends allow it. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

void *memcpy(void *to, const void *from, size_t bytes)
{
    uint8_t *t = to;
    const uint8_t *f = from;

    if ((((uintptr_t)t | (uintptr_t)f) & 3) == 0) {
        for (; bytes >= 4; bytes -= 4, t += 4, f += 4)
            *(uint32_t *)t = *(const uint32_t *)f;
    }
    while (bytes-- > 0)
        *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    uint8_t *t = to;
    const uint8_t *f = from;

    if ((uintptr_t)t - (uintptr_t)f >= bytes)
        return memcpy(to, from, bytes);
    while (bytes-- > 0)
        t[bytes] = f[bytes];
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    uint8_t *t = to;

    while (bytes-- > 0)
        *t++ = (uint8_t)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const uint8_t *p = a, *q = b;

    for (; bytes > 0; bytes--, p++, q++) {
        if (*p != *q)
            return *p - *q;
    }
    return 0;
}
