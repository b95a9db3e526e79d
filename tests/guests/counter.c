// The time-stamp counter of a guest's processes counts the guest's nanoseconds, and a reading takes
// `rank.clock_read`.
#define _GNU_SOURCE
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static void check(int good, const char *what)
{
    if (!good) {
        printf("wrong: %s\n", what);
        exit(1);
    }
}

static uint64_t raw(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

// RDTSC and RET are the last bytes before a page that is not mapped.
static uint64_t at_the_end_of_a_page(void)
{
    static const unsigned char code[] = {0x0f, 0x31, 0xc3};
    long page = sysconf(_SC_PAGESIZE);
    int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    unsigned char *at = mmap(NULL, 2 * page, all, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t low, high;

    check(at != MAP_FAILED && munmap(at + page, page) == 0, "mmap");
    at += page - sizeof(code);
    memcpy(at, code, sizeof(code));
    __asm__ volatile("call *%2" : "=a"(low), "=d"(high) : "r"(at) : "memory");
    return (uint64_t)high << 32 | low;
}

static sigjmp_buf back;

static void faulted(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

// Another instruction that may not be executed is still a fault of the program's.
static void faults_are_faults(void)
{
    struct sigaction action = {.sa_handler = faulted};

    sigaction(SIGSEGV, &action, NULL);
    if (sigsetjmp(back, 1) == 0) {
        __asm__ volatile("hlt");
        check(0, "hlt goes on");
    }
}

int main(void)
{
    struct timespec pause = {.tv_nsec = 1000000};
    unsigned int processor = 1;
    uint64_t before = raw(), first = __rdtsc(), second = __rdtscp(&processor), after = raw();
    uint64_t asleep;

    check(before < first && first < second && second < after, "the clock is another");
    check(processor == 0, "another processor");
    faults_are_faults();
    check(at_the_end_of_a_page() > after, "at the end of a page");
    asleep = __rdtsc();
    nanosleep(&pause, NULL);
    asleep = __rdtsc() - asleep;
    check(asleep >= 1000000 && asleep < 1100000, "a pause of a millisecond");
    for (int i = 0; i < 1000; i++)
        second = __rdtsc();
    first = __rdtsc();
    printf("%" PRIu64 " ns a reading, the last at %" PRIu64 "\n", first - second, first);
    return 0;
}
