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

/* All that is rare: zeros, denormals, infinities, NaNs, and differences that lose more than a bit. It is
 * written for room, not for time. */
static __attribute__((noinline, cold)) void add_any(const uint32_t *a, uint32_t *into)
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

static inline uint64_t joined(uint32_t hi, uint32_t lo)
{
    return (uint64_t)hi << 32 | lo;
}

/* A significand, and a word behind it: the word's first bit is a half of the significand's last one, and its
 * own last one stands for all behind. */
struct exact {
    uint32_t hi, lo, behind;
};

/* Moves a significand down; false if less than a quarter of the last bit is left. Shifts by 32 are in two
 * pieces. */
static inline int move_down(struct exact *it, int32_t down)
{
    uint32_t hi = it->hi, lo = it->lo;

    if (down < 32) {
        it->behind = lo << 1 << (31 - down);
        it->lo = lo >> down | hi << 1 << (31 - down);
        it->hi = hi >> down;
        return 1;
    }
    if (down >= 55)
        return 0;
    down -= 32;
    it->behind = lo >> down | hi << 1 << (31 - down);
    it->behind |= (lo << 1 << (31 - down)) != 0;
    it->lo = hi >> down;
    it->hi = 0;
    return 1;
}

/* Sum, or difference, of a whole significand and one that was moved. `top` is sign and exponent. False if
 * more than a bit is lost, or the smaller one was taken for the greater; or it is denormal. */
static inline int combine_exact(struct exact *sum, const struct exact *by, uint32_t differ,
                                uint32_t *top)
{
    uint64_t all;

    if (!(differ & SIGN)) {
        all = joined(sum->hi, sum->lo) + joined(by->hi, by->lo);
        sum->hi = (uint32_t)(all >> 32);
        sum->lo = (uint32_t)all;
        sum->behind = by->behind;
        if (sum->hi & HIDDEN << 1) {
            sum->behind = sum->behind >> 1 | (sum->behind & 1) | sum->lo << 31;
            sum->lo = sum->lo >> 1 | sum->hi << 31;
            sum->hi >>= 1;
            *top += HIDDEN;
        }
        return 1;
    }
    all = joined(sum->hi, sum->lo) - joined(by->hi, by->lo) - (by->behind != 0);
    sum->hi = (uint32_t)(all >> 32);
    sum->lo = (uint32_t)all;
    sum->behind = -by->behind;
    if ((int32_t)sum->hi >= (int32_t)HIDDEN)
        return 1;
    if ((int32_t)sum->hi < (int32_t)(HIDDEN >> 1) || (*top & EXPONENT) == HIDDEN)
        return 0;
    sum->hi = sum->hi << 1 | sum->lo >> 31;
    sum->lo = sum->lo << 1 | sum->behind >> 31;
    sum->behind <<= 1;
    *top -= HIDDEN;
    return 1;
}

/* Two normal numbers, written straight: all above stands in here. */
void soft_add(const uint32_t *a, uint32_t *into)
{
    struct exact sum = {a[1], a[0], 0}, by = {into[1], into[0], 0};
    uint32_t exponent = sum.hi >> 20 & 0x7FF, other = by.hi >> 20 & 0x7FF;
    uint32_t top, differ = sum.hi ^ by.hi;
    int32_t down = (int32_t)(exponent - other);
    uint64_t all;

    if (exponent - 1 >= 0x7FE || other - 1 >= 0x7FE) {
        add_any(a, into);
        return;
    }
    if (down < 0) {
        struct exact swap = sum;

        sum = by;
        by = swap;
        down = -down;
    }
    top = sum.hi & ~FRACTION;
    sum.hi = (sum.hi & FRACTION) | HIDDEN;
    by.hi = (by.hi & FRACTION) | HIDDEN;
    if (move_down(&by, down) && !combine_exact(&sum, &by, differ, &top)) {
        add_any(a, into);
        return;
    }
    if ((top & EXPONENT) == EXPONENT) {
        into[0] = 0;
        into[1] = top;
        return;
    }
    /* To nearest, ties to even: a carry out of what is behind. It may go as far as the exponent, which is
     * right there, and to which the hidden bit adds 1. */
    all = (uint64_t)sum.behind + (0x7FFFFFFFu + (sum.lo & 1));
    all = joined(sum.hi + (top - HIDDEN), sum.lo) + (uint32_t)(all >> 32);
    into[0] = (uint32_t)all;
    into[1] = (uint32_t)(all >> 32);
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
