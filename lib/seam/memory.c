/* The program's memory, as far as simulator and kernel need not deal with it at each call: what a call reads
 * travels with it, and what the simulator stores while the program waits is stored here when it goes on.
 *
 * That holds only for memory that is surely there, so that a bad buffer is told by the simulator, as an error
 * of the call, and does not end the program in this library: the program's own data, the heap up to the
 * break, and the main thread's stack from here on. */
#define _GNU_SOURCE
#include "rank.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096u
/* The system keeps at least twice as much free below a stack: what lies nearer to its end belongs to it. */
#define STACK_MAX (64u << 20)
/* The field of a process's status that tells where its heap begins. */
#define START_BRK 47

enum { DATA, HEAP, STACK, RANGES };
struct range {
    uint64_t begin, end;
};
_Static_assert(sizeof(struct range[RANGES]) == sizeof((struct rank_channel){0}.plain), "layout");

extern void *__libc_stack_end; /* where the main thread's stack began */
/* Where the heap ends, as sbrk(0) says. That must not be called while the process hands over: a library that
 * watches memory (UCX) patches it in running programs, and looks at a clock meanwhile. */
extern void *__curbrk;

static struct range data;
static uint64_t heap_begin;
static bool trusted; /* all of it may be read and written */

/* The writable segment of the program itself, which is the first object; what is read-only once it is
 * relocated does not count. */
static int find_data(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    uint64_t relocated = 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        const uint64_t begin = object->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
        if (segment->p_type == PT_GNU_RELRO)
            relocated = (end + PAGE - 1) / PAGE * PAGE;
        else if (segment->p_type == PT_LOAD && segment->p_flags == (PF_R | PF_W))
            data = (struct range){begin, end};
    }
    if (data.begin < relocated)
        data.begin = relocated < data.end ? relocated : data.end;
    return 1;
}

/* Where the heap begins: a field of the process's status (proc(5)). Nothing is allocated for it: simulated
 * time depends on where the program's buffers stand. */
static uint64_t beginning_of_heap(void)
{
    char text[1024];
    const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = 0;
    const char *at = strrchr(text, ')'); /* the program's name, field 2, may hold anything */
    for (int field = 2; at && field < START_BRK; field++)
        at = strchr(at + 1, ' ');
    const uint64_t begin = at ? strtoull(at, NULL, 10) : 0, end = POINTER(sbrk(0));
    return begin > 0 && begin < end ? begin : end;
}

void rank_memory_begin(void)
{
    dl_iterate_phdr(find_data, NULL);
    heap_begin = beginning_of_heap();
    trusted = true;
}

static struct range stack(void)
{
    const uint64_t here = POINTER(__builtin_frame_address(0)), end = POINTER(__libc_stack_end);
    return here < end && end - here < STACK_MAX ? (struct range){here, end} : (struct range){0, 0};
}

void rank_memory_leave(struct rank_channel *channel)
{
    struct range ranges[RANGES] = {0};
    if (trusted) {
        ranges[DATA] = data;
        ranges[HEAP] = (struct range){heap_begin, POINTER(__curbrk)};
        ranges[STACK] = stack();
    }
    memcpy(channel->plain, ranges, sizeof ranges);
}

void rank_memory_return(struct rank_channel *channel)
{
    const uint8_t *at = channel->log, *end = at + channel->log_bytes;
    while (at < end) {
        uint64_t piece[2]; /* address and length */
        memcpy(piece, at, sizeof piece);
        rank_guard_open(piece[0], piece[1]);
        memcpy((void *)(uintptr_t)piece[0], at + sizeof piece, piece[1]);
        at += sizeof piece + (piece[1] + 7) / 8 * 8;
    }
    channel->carried_bytes = 0;
}

static bool holds(struct range range, uint64_t at, size_t bytes)
{
    return range.begin <= at && at <= range.end && bytes <= range.end - at;
}

void rank_memory_carry(struct rank_channel *channel, const void *at, size_t bytes)
{
    const uint64_t from = POINTER(at);
    if (bytes == 0 || bytes > sizeof channel->carried || !trusted)
        return;
    if (!holds(data, from, bytes) && !holds(stack(), from, bytes) &&
        !holds((struct range){heap_begin, POINTER(__curbrk)}, from, bytes))
        return;
    memcpy(channel->carried, at, bytes);
    channel->carried_at = from;
    channel->carried_bytes = (uint32_t)bytes;
}

static bool overlap(struct range range, uint64_t at, size_t bytes)
{
    return at < range.end && range.begin < at + bytes;
}

/* A program that takes rights from such memory, or the memory itself, is no longer trusted with any. */
static void change(const void *start, size_t bytes, int protection)
{
    const uint64_t at = POINTER(start), end = POINTER(__libc_stack_end);
    const struct range heap = {heap_begin, POINTER(__curbrk)}, whole_stack = {end - STACK_MAX, end};
    const int all = PROT_READ | PROT_WRITE;
    if ((protection & all) != all &&
        (overlap(data, at, bytes) || overlap(heap, at, bytes) || overlap(whole_stack, at, bytes)))
        trusted = false;
}

__attribute__((visibility("default"))) int mprotect(void *start, size_t bytes, int protection)
{
    change(start, bytes, protection);
    return (int)syscall(SYS_mprotect, start, bytes, protection);
}

/* Only a mapping at a fixed address can lie over such memory. */
__attribute__((visibility("default"))) void *mmap(void *start, size_t bytes, int protection,
                                                  int flags, int file, off_t offset)
{
    if (flags & MAP_FIXED)
        change(start, bytes, protection);
    return (void *)syscall(SYS_mmap, start, bytes, protection, flags, file, offset);
}

__attribute__((visibility("default"), alias("mmap"))) void *mmap64(void *, size_t, int, int, int,
                                                                  off64_t);

__attribute__((visibility("default"))) int munmap(void *start, size_t bytes)
{
    change(start, bytes, PROT_NONE);
    return (int)syscall(SYS_munmap, start, bytes);
}
