/* What clang calls for what the processor cannot do: multiplication, division, shifts of 64 bits. Its runtime
 * library has no LANai. */
#include <stdint.h>

/* clang calls these by their names; nobody else does. */
uint32_t __mulsi3(uint32_t a, uint32_t b);
uint32_t __udivsi3(uint32_t a, uint32_t b);
uint32_t __umodsi3(uint32_t a, uint32_t b);
int32_t __divsi3(int32_t a, int32_t b);
int32_t __modsi3(int32_t a, int32_t b);
uint64_t __muldi3(uint64_t a, uint64_t b);
uint64_t __udivdi3(uint64_t a, uint64_t b);
uint64_t __umoddi3(uint64_t a, uint64_t b);
int64_t __divdi3(int64_t a, int64_t b);
int64_t __moddi3(int64_t a, int64_t b);
uint64_t __ashldi3(uint64_t a, int n);
uint64_t __lshrdi3(uint64_t a, int n);
int64_t __ashrdi3(int64_t a, int n);

uint32_t __mulsi3(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;

    for (; b != 0; b >>= 1) {
        if (b & 1)
            sum += a;
        a <<= 1;
    }
    return sum;
}

/* Quotient and remainder, a bit at a time. */
static uint32_t divide(uint32_t a, uint32_t b, uint32_t *remainder)
{
    uint32_t quotient = 0, rest = 0;

    for (int bit = 31; bit >= 0; bit--) {
        uint32_t out = rest >> 31;

        rest = rest << 1 | (a >> bit & 1);
        if (out || rest >= b) {
            rest -= b;
            quotient |= (uint32_t)1 << bit;
        }
    }
    *remainder = rest;
    return quotient;
}

uint32_t __udivsi3(uint32_t a, uint32_t b)
{
    uint32_t rest;

    return divide(a, b, &rest);
}

uint32_t __umodsi3(uint32_t a, uint32_t b)
{
    uint32_t rest;

    divide(a, b, &rest);
    return rest;
}

static uint32_t magnitude(int32_t a)
{
    return a < 0 ? -(uint32_t)a : (uint32_t)a;
}

int32_t __divsi3(int32_t a, int32_t b)
{
    uint32_t quotient = __udivsi3(magnitude(a), magnitude(b));

    return (int32_t)((a < 0) != (b < 0) ? -quotient : quotient);
}

/* The remainder has the sign of the dividend. */
int32_t __modsi3(int32_t a, int32_t b)
{
    uint32_t rest = __umodsi3(magnitude(a), magnitude(b));

    return (int32_t)(a < 0 ? -rest : rest);
}

static uint64_t join(uint32_t high, uint32_t low)
{
    union {
        uint64_t whole;
        uint32_t half[2]; /* big-endian */
    } u;

    u.half[0] = high;
    u.half[1] = low;
    return u.whole;
}

static uint32_t upper(uint64_t a)
{
    union {
        uint64_t whole;
        uint32_t half[2];
    } u;

    u.whole = a;
    return u.half[0];
}

uint64_t __ashldi3(uint64_t a, int n)
{
    uint32_t high = upper(a), low = (uint32_t)a;

    if (n == 0)
        return a;
    if (n >= 32)
        return join(low << (n - 32), 0);
    return join(high << n | low >> (32 - n), low << n);
}

uint64_t __lshrdi3(uint64_t a, int n)
{
    uint32_t high = upper(a), low = (uint32_t)a;

    if (n == 0)
        return a;
    if (n >= 32)
        return join(0, high >> (n - 32));
    return join(high >> n, low >> n | high << (32 - n));
}

int64_t __ashrdi3(int64_t a, int n)
{
    int32_t high = (int32_t)upper((uint64_t)a);
    uint32_t low = (uint32_t)a;

    if (n == 0)
        return a;
    if (n >= 32)
        return (int64_t)join((uint32_t)(high >> 31), (uint32_t)(high >> (n - 32)));
    return (int64_t)join((uint32_t)(high >> n), low >> n | (uint32_t)high << (32 - n));
}

uint64_t __muldi3(uint64_t a, uint64_t b)
{
    uint64_t sum = 0;

    for (; b != 0; b >>= 1) {
        if (b & 1)
            sum += a;
        a += a;
    }
    return sum;
}

static uint64_t divide_long(uint64_t a, uint64_t b, uint64_t *remainder)
{
    uint64_t quotient = 0, rest = 0;

    for (int bit = 63; bit >= 0; bit--) {
        uint32_t out = upper(rest) >> 31;

        rest = rest << 1 | (a >> bit & 1);
        if (out || rest >= b) {
            rest -= b;
            quotient |= (uint64_t)1 << bit;
        }
    }
    *remainder = rest;
    return quotient;
}

uint64_t __udivdi3(uint64_t a, uint64_t b)
{
    uint64_t rest;

    return divide_long(a, b, &rest);
}

uint64_t __umoddi3(uint64_t a, uint64_t b)
{
    uint64_t rest;

    divide_long(a, b, &rest);
    return rest;
}

static uint64_t magnitude_long(int64_t a)
{
    return a < 0 ? -(uint64_t)a : (uint64_t)a;
}

int64_t __divdi3(int64_t a, int64_t b)
{
    uint64_t quotient = __udivdi3(magnitude_long(a), magnitude_long(b));

    return (int64_t)((a < 0) != (b < 0) ? -quotient : quotient);
}

int64_t __moddi3(int64_t a, int64_t b)
{
    uint64_t rest = __umoddi3(magnitude_long(a), magnitude_long(b));

    return (int64_t)(a < 0 ? -rest : rest);
}
