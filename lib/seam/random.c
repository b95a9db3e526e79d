/* Random numbers of the system: a function of the run's seed and of the rank. Hash tables, names and seeds
 * that programs make of them are then the same in equal runs.
 *
 * These come from here: getrandom and its like, what is read of /dev/random and /dev/urandom by open and read
 * or by a stream, C++'s std::random_device, and the bytes that the system gives a program when it starts
 * (AT_RANDOM). The rank has them, and the process that the simulator has started as long as it may become the
 * rank; what these start has the system's own. Not so: what the C library takes for itself (names of
 * temporary files), the processor's RDRAND and RDSEED inside a program's own code, a copy (dup) of a
 * descriptor. */
#define _GNU_SOURCE
#include "random.h"
#include "rank.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default"), cold))
#define ORIGINAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

/* The most that getentropy gives. */
#define ENTROPY_MAX 256
#define AT_RANDOM_BYTES 16
/* Streams of numbers of one rank. */
enum { OF_SYSTEM = 1, OF_START = 2 };

uint64_t rank_random_files[RANK_RANDOM_FILES / 64];

static uint64_t taken; /* words */

/* splitmix64 */
static uint64_t mixed(uint64_t word)
{
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
    word = (word ^ word >> 27) * 0x94D049BB133111EBu;
    return word ^ word >> 31;
}

static void fill(const struct rank_channel *channel, unsigned stream, uint64_t at, void *data,
                 size_t bytes)
{
    const uint64_t rank = mixed(channel->seed + 0x9E3779B97F4A7C15u) + channel->rank;
    const uint64_t key = mixed(rank * 0x9E3779B97F4A7C15u + stream);
    for (size_t done = 0; done < bytes; done += sizeof at) {
        const uint64_t word = mixed(key + ++at * 0x9E3779B97F4A7C15u);
        const size_t rest = bytes - done;
        memcpy((char *)data + done, &word, rest < sizeof word ? rest : sizeof word);
    }
}

/* False outside of a run, and in what a rank has started. */
static bool give(void *data, size_t bytes)
{
    const struct rank_channel *channel = rank_attach();
    if (!channel)
        return false;
    const uint64_t words = (bytes + sizeof words - 1) / sizeof words;
    fill(channel, OF_SYSTEM, __atomic_fetch_add(&taken, words, __ATOMIC_RELAXED), data, bytes);
    return true;
}

void rank_random_begin(void)
{
    const struct rank_channel *channel = rank_attach();
    void *given = (void *)(uintptr_t)getauxval(AT_RANDOM);
    if (channel && given)
        fill(channel, OF_START, 0, given, AT_RANDOM_BYTES);
}

/* --- functions --- */

EXPORT ssize_t getrandom(void *data, size_t bytes, unsigned flags)
{
    return give(data, bytes) ? (ssize_t)bytes : ORIGINAL(getrandom)(data, bytes, flags);
}

EXPORT int getentropy(void *data, size_t bytes)
{
    if (bytes > ENTROPY_MAX) {
        errno = EIO;
        return -1;
    }
    return give(data, bytes) ? 0 : ORIGINAL(getentropy)(data, bytes);
}

/* Not in all C libraries. */
void arc4random_buf(void *data, size_t bytes);
uint32_t arc4random(void);
uint32_t arc4random_uniform(uint32_t bound);

EXPORT void arc4random_buf(void *data, size_t bytes)
{
    for (size_t done = 0; !give(data, bytes) && done < bytes;) {
        const ssize_t more = syscall(SYS_getrandom, (char *)data + done, bytes - done, 0);
        done += more > 0 ? (size_t)more : 0;
    }
}

EXPORT uint32_t arc4random(void)
{
    uint32_t word;
    arc4random_buf(&word, sizeof word);
    return word;
}

EXPORT uint32_t arc4random_uniform(uint32_t bound)
{
    if (bound < 2)
        return 0;
    const uint32_t least = -bound % bound; /* below it some results would come more often */
    uint32_t word;
    do
        word = arc4random();
    while (word < least);
    return word % bound;
}

/* std::random_device::_M_getval() of GNU's library, which would ask the processor. */
unsigned _ZNSt13random_device9_M_getvalEv(void *device);

EXPORT unsigned _ZNSt13random_device9_M_getvalEv(void *device)
{
    unsigned word;
    return give(&word, sizeof word) ? word : ORIGINAL(_ZNSt13random_device9_M_getvalEv)(device);
}

/* syscall(SYS_getrandom, ...) */
long rank_random_call(long number, void *data, size_t bytes, unsigned flags);

long rank_random_call(long number, void *data, size_t bytes, unsigned flags)
{
    (void)number;
    return (long)getrandom(data, bytes, flags);
}

/* No C, as callers may come back with another stack. */
__asm__(".pushsection .text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        "    cmpq $318, %rdi\n" /* SYS_getrandom */
        "    je rank_random_call\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    movq %rcx, %rdx\n"
        "    movq %r8, %r10\n"
        "    movq %r9, %r8\n"
        "    movq 8(%rsp), %r9\n"
        "    syscall\n"
        "    cmpq $-4095, %rax\n"
        "    jae rank_random_error\n"
        "    ret\n"
        ".size syscall, .-syscall\n"
        ".popsection\n");

/* The system's answer to a call, if it is an error: as C tells errors. */
__attribute__((used)) static long error_of(long answer)
{
    errno = (int)-answer;
    return -1;
}

__asm__(".pushsection .text\n"
        "rank_random_error:\n"
        "    movq %rax, %rdi\n"
        "    jmp error_of\n"
        ".popsection\n");

_Static_assert(SYS_getrandom == 318, "as above");

/* --- files --- */

static bool names_random(const char *path)
{
    return path && (strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0);
}

void rank_random_opened(const char *path, int file)
{
    if (file >= 0 && file < RANK_RANDOM_FILES && names_random(path) && rank_attach())
        rank_random_files[file / 64] |= (uint64_t)1 << file % 64;
}

void rank_random_closed(int file)
{
    rank_random_files[file / 64] &= ~((uint64_t)1 << file % 64);
}

ssize_t rank_random_read(int file, void *data, size_t bytes)
{
    return give(data, bytes) ? (ssize_t)bytes : (ssize_t)syscall(SYS_read, file, data, bytes);
}

static ssize_t stream_read(void *file, char *data, size_t bytes)
{
    return rank_random_read((int)(intptr_t)file, data, bytes);
}

static int stream_close(void *file)
{
    return (int)syscall(SYS_close, (int)(intptr_t)file);
}

FILE *rank_random_stream(const char *path, const char *mode)
{
    if (!names_random(path) || !rank_attach())
        return NULL;
    const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    const cookie_io_functions_t calls = {stream_read, NULL, NULL, stream_close};
    return file < 0 ? NULL : fopencookie((void *)(intptr_t)file, mode, calls);
}
