/* Calibrates a clock by the time-stamp counter, as communication libraries do when they are loaded: readings
 * until two million ticks have passed. As a library (LIBRARY) it does so in its constructor, and then says
 * how many. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static uint64_t counter(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

static long readings(void)
{
    const uint64_t begin = counter();
    struct timespec now;
    long number = 0;

    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
        number++;
    } while (counter() - begin < 2000000);
    return number;
}

#ifdef LIBRARY
static long early;
long of_library(void);

__attribute__((constructor(101))) static void calibrate(void)
{
    early = readings();
}

long of_library(void)
{
    return early;
}
#else
long of_library(void);

int main(void)
{
    struct timespec now;
    const long early = of_library(), late = readings();

    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%ld %ld %ld.%09ld\n", early, late, (long)now.tv_sec, now.tv_nsec);
    return 0;
}
#endif
