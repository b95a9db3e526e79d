#include "soft.h"

#define SIGN 0x80000000u
#define EXPONENT 0x7FF00000u
#define FRACTION 0x000FFFFFu
#define HIDDEN 0x00100000u
#define QUIET 0x00080000u

/* Bits behind the last one of the result: guard, round, sticky. */
#define EXTRA 3u
#define TOP (HIDDEN << EXTRA) /* The first bit of a normal significand, in its upper word. */

static inline int is_nan(uint32_t hi, uint32_t lo)
{
    uint32_t magnitude = hi & ~SIGN;

    return magnitude > EXPONENT || (magnitude == EXPONENT && lo);
}

/* Moves a significand down by n bits; what falls out stays as its last bit. */
static __attribute__((noinline)) void shift_down(uint32_t *hi, uint32_t *lo, uint32_t n)
{
    uint32_t lost;

    if (n == 0)
        return;
    if (n >= 64) {
        *lo = (*hi | *lo) != 0;
        *hi = 0;
        return;
    }
    if (n >= 32) {
        lost = *lo | (n > 32 ? *hi << (64 - n) : 0);
        *lo = *hi >> (n - 32);
        *hi = 0;
    } else {
        lost = *lo << (32 - n);
        *lo = *lo >> n | *hi << (32 - n);
        *hi >>= n;
    }
    *lo |= lost != 0;
}

static inline void shift_up(uint32_t *hi, uint32_t *lo, uint32_t n)
{
    if (n == 0)
        return;
    if (n >= 32) {
        *hi = *lo << (n - 32);
        *lo = 0;
    } else {
        *hi = *hi << n | *lo >> (32 - n);
        *lo <<= n;
    }
}

/* The significand with its extra bits, and the exponent; denormals have that of the least normal number. */
static __attribute__((noinline)) uint32_t take_apart(uint32_t *hi, uint32_t *lo)
{
    uint32_t exponent = *hi >> 20 & 0x7FF;

    *hi = (*hi & FRACTION) | (exponent ? HIDDEN : 0);
    shift_up(hi, lo, EXTRA);
    return exponent ? exponent : 1;
}

void soft_add(const uint32_t *a, uint32_t *into)
{
    uint32_t a_lo = a[0], a_hi = a[1], b_lo = into[0], b_hi = into[1];
    uint32_t exponent, sign, differ, other;

    if ((a_hi & EXPONENT) == EXPONENT || (b_hi & EXPONENT) == EXPONENT) {
        if (is_nan(a_hi, a_lo) || (!is_nan(b_hi, b_lo) && (a_hi & EXPONENT) == EXPONENT)) {
            /* The first NaN, or a is infinite. */
            int opposite = !is_nan(a_hi, a_lo) && a_hi == (b_hi ^ SIGN) && a_lo == b_lo;

            into[0] = a_lo;
            into[1] = opposite ? SIGN | EXPONENT | QUIET : a_hi;
        }
        if (is_nan(into[1], into[0]))
            into[1] |= QUIET;
        return;
    }
    /* The greater magnitude is a. */
    if ((a_hi & ~SIGN) < (b_hi & ~SIGN) || ((a_hi & ~SIGN) == (b_hi & ~SIGN) && a_lo < b_lo)) {
        uint32_t hi = a_hi, lo = a_lo;

        a_hi = b_hi;
        a_lo = b_lo;
        b_hi = hi;
        b_lo = lo;
    }
    sign = a_hi & SIGN;
    differ = (a_hi ^ b_hi) & SIGN;
    a_hi &= ~SIGN;
    b_hi &= ~SIGN;
    exponent = take_apart(&a_hi, &a_lo);
    other = take_apart(&b_hi, &b_lo);
    shift_down(&b_hi, &b_lo, exponent - other);
    if (!differ) {
        a_lo += b_lo;
        a_hi += b_hi + (a_lo < b_lo);
        if (a_hi >= TOP << 1) {
            shift_down(&a_hi, &a_lo, 1);
            ++exponent;
        }
    } else {
        uint32_t up;

        a_hi -= b_hi + (a_lo < b_lo);
        a_lo -= b_lo;
        if (!(a_hi | a_lo)) {
            into[0] = into[1] = 0;
            return;
        }
        up = a_hi ? (uint32_t)__builtin_clz(a_hi) : 32 + (uint32_t)__builtin_clz(a_lo);
        up -= 31 - 23;
        if (up >= exponent)
            up = exponent - 1;
        shift_up(&a_hi, &a_lo, up);
        exponent -= up;
    }
    /* To nearest, ties to even. */
    other = a_lo & ((1 << EXTRA) - 1);
    a_lo = a_lo >> EXTRA | a_hi << (32 - EXTRA);
    a_hi >>= EXTRA;
    if (other > 4 || (other == 4 && (a_lo & 1)))
        a_hi += ++a_lo == 0;
    if (a_hi >= HIDDEN << 1)
        ++exponent; /* All bits below are 0. */
    if (a_hi < HIDDEN)
        exponent = 0;
    if (exponent >= 0x7FF) {
        into[0] = 0;
        into[1] = sign | EXPONENT;
        return;
    }
    into[0] = a_lo;
    into[1] = sign | exponent << 20 | (a_hi & FRACTION);
}

int soft_less(const uint32_t *a, const uint32_t *b)
{
    uint32_t a_hi = a[1], b_hi = b[1], a_lo = a[0], b_lo = b[0];

    if (is_nan(a_hi, a_lo) || is_nan(b_hi, b_lo))
        return 0;
    if (!((a_hi | b_hi) & ~SIGN) && !(a_lo | b_lo))
        return 0; /* Zeros are equal. */
    if ((a_hi ^ b_hi) & SIGN)
        return (a_hi & SIGN) != 0;
    if (a_hi == b_hi && a_lo == b_lo)
        return 0;
    return (a_hi < b_hi || (a_hi == b_hi && a_lo < b_lo)) == !(a_hi & SIGN);
}
