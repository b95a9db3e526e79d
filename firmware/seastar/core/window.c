#include "window.h"

#include "plant.h"
#include "port.h"

#define WINDOWS (SS_WINDOW_COUNT - SS_OWN_WINDOW_FIRST)
#define WINDOW_MASK (SS_WINDOW_SIZE - 1)
#define NO_FRAME 0xFFFFFFFFu

static uint32_t frames[WINDOWS]; /* What each window shows. */
static uint32_t recent;          /* The one that was used last. */
static uint32_t oldest;          /* The one that is taken back when another frame is needed. */

_Static_assert((WINDOWS & (WINDOWS - 1)) == 0, "the oldest is found by masking");

void window_init(void)
{
    for (uint32_t i = 0; i < WINDOWS; i++)
        frames[i] = NO_FRAME;
    recent = 0;
    oldest = 0;
}

/* Finds the window that shows `frame`, or lets one show it. */
static __attribute__((cold, noinline)) void window_show(uint32_t frame)
{
    uint32_t i = 0;

    while (i < WINDOWS && frames[i] != frame)
        i++;
    if (i == WINDOWS) {
        i = oldest;
        oldest = (oldest + 1) & (WINDOWS - 1);
        frames[i] = frame;
        io_order(); /* What was stored through it before goes where it showed. */
        io_write32(SS_HTB_MAP + (SS_OWN_WINDOW_FIRST + i) * 4, SS_HTB_VALID | frame);
        io_order();
    }
    recent = i;
}

/* The local address of a host physical one. */
static __attribute__((noinline)) uint32_t window_at(uint32_t lo, uint32_t hi)
{
    uint32_t frame = hi << 4 | lo >> 28;

    if (frame != frames[recent])
        window_show(frame);
    return (SS_OWN_WINDOW_FIRST + recent) * SS_WINDOW_SIZE + (lo & WINDOW_MASK);
}

/* Whether words at `lo` stand in one window, each in its place. */
static inline int in_words(uint32_t lo)
{
    return lo % 4 == 0 && (lo & WINDOW_MASK) <= SS_WINDOW_SIZE - SS_INLINE_MAX;
}

void window_store(const uint32_t *data, uint32_t lo, uint32_t hi, uint32_t length)
{
    uint32_t at = 0;

    if (PLANTED(PLANT_MISPLACES))
        lo += 4;
    if (in_words(lo)) {
        uint32_t local = window_at(lo, hi);

        for (; at + 4 <= length; at += 4)
            io_write32(local + at, data[at / 4]);
    }
    for (; at < length; at++) {
        uint32_t byte = lo + at;

        io_write8(window_at(byte, hi + (byte < lo)), (uint8_t)(data[at / 4] >> at % 4 * 8));
    }
}

void window_load(uint32_t *data, uint32_t lo, uint32_t hi, uint32_t length)
{
    uint32_t words[SS_INLINE_MAX / 4] = {0, 0, 0};
    uint32_t at = 0;

    if (in_words(lo) && length % 4 == 0) {
        uint32_t local = window_at(lo, hi);

        /* Loads are under way side by side. */
        if (length == 8) {
            uint32_t a = io_read32(local), b = io_read32(local + 4);

            data[0] = a;
            data[1] = b;
            return;
        }
        for (; at < length; at += 4)
            words[at / 4] = io_read32(local + at);
    }
    for (; at < length; at++) {
        uint32_t byte = lo + at;

        words[at / 4] |= (uint32_t)io_read8(window_at(byte, hi + (byte < lo))) << at % 4 * 8;
    }
    for (uint32_t i = 0; i < SS_INLINE_MAX / 4; i++)
        data[i] = words[i];
}
