/* The card's memory region in the program, mapped on request as a kernel module's mmap() would
 * (marazakis2006 s2.2): each load and store there is the bus's, and takes its time. The functions of forth.h,
 * which maps the request queue, too, are here.
 *
 * The page that stands for a page of the region is closed. An access faults: a load is asked for of the
 * simulator, which runs the bus, and the word is put into the page; then the instruction is carried out by a
 * single step. What a store has left in the page is written to the card behind the step. */
#define _GNU_SOURCE
#include "rank.h"

#include "forth.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096u
#define WORD 8u
#define TRAP_FLAG 0x100
#define FAULT_WRITE 2
#define STORE_MAX 64u
#define FORTH_EXPORT __attribute__((visibility("default")))
/* Access flags of REGISTER, as verbs have them. */
#define LOCAL_WRITE 1
#define REMOTE_WRITE 2

static uintptr_t window;
static bool queue_mapped;
static uintptr_t open_page; /* the one that a step uses, or 0 */
static uintptr_t stored;    /* where it writes, or 0 */
static unsigned stored_bytes;

static void protect(uintptr_t page, int protection)
{
    syscall(SYS_mprotect, page, PAGE, protection);
}

static uint64_t load(uintptr_t word)
{
    const uint64_t arguments[] = {word - window};
    uint64_t words[6];
    if (rank_call_verbs(RANK_VERBS_CALL_LOAD, "a load from the card's memory region", 1,
                        arguments, words) < 0)
        rank_fail("a load from offset 0x%x of the card's memory region: it cannot be read",
                  (unsigned)(word - window));
    return words[0];
}

/* What may be stored at once: in the queue what one instruction stores in a page, registers as a whole. */
static void check_store(uintptr_t at, unsigned bytes)
{
    const unsigned offset = (unsigned)(at - window);
    if (offset < FORTH_QUEUE_SIZE && !queue_mapped)
        rank_fail("a store to offset 0x%x of the card's memory region: the request queue is the "
                  "library's; forth_open() maps it",
                  offset);
    if (offset < FORTH_QUEUE_SIZE && (bytes == 0 || at % PAGE + bytes > PAGE))
        rank_fail("a store to offset 0x%x of the request queue: plain stores within the page "
                  "only",
                  offset);
    if (offset >= FORTH_TABLE_LIMITS)
        rank_fail("a store to offset 0x%x of the card's memory region: programs write the queue "
                  "and the registers from 0x1000 to 0x1fff only",
                  offset);
    if (offset >= FORTH_QUEUE_SIZE && bytes != 0 && (bytes != WORD || offset % WORD))
        rank_fail("a store of %u bytes to offset 0x%x of the card's memory region: a register "
                  "has 8 bytes, and is stored as a whole",
                  bytes, offset);
}

bool rank_window_fault(uintptr_t at, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (!window || at < window || at >= window + FORTH_REGION_SIZE || open_page || !rank_may_call())
        return false;
    const int error = errno;
    const uintptr_t word = at / WORD * WORD, page = at / PAGE * PAGE;
    const bool writes = registers[REG_ERR] & FAULT_WRITE;
    const unsigned bytes = writes ? rank_store_bytes((const uint8_t *)registers[REG_RIP]) : 0;
    if (writes)
        check_store(at, bytes);
    const bool loads = bytes == 0;
    const uint64_t value = loads ? load(word) : 0;
    open_page = page;
    stored = !writes ? 0 : loads ? word : at;
    stored_bytes = loads ? WORD : bytes;
    protect(page, PROT_READ | PROT_WRITE);
    if (loads)
        *(uint64_t *)word = value;
    registers[REG_EFL] |= TRAP_FLAG;
    errno = error;
    return true;
}

void rank_window_stepped(void)
{
    if (!open_page)
        return;
    const int error = errno;
    const uintptr_t page = open_page, at = stored;
    uint64_t arguments[2 + STORE_MAX / WORD] = {at - window, stored_bytes}, words[6];
    if (at)
        memcpy(&arguments[2], (const void *)at, stored_bytes);
    open_page = stored = 0;
    protect(page, PROT_NONE);
    if (at && rank_call_verbs(RANK_VERBS_CALL_STORE, "a store to the card's memory region",
                              2 + (stored_bytes + WORD - 1) / WORD, arguments, words) < 0)
        rank_fail("a store to offset 0x%x of the card's memory region: it cannot be written",
                  (unsigned)(at - window));
    errno = error;
}

FORTH_EXPORT volatile uint64_t *sunstar_nic_map(void)
{
    if (window)
        return (volatile uint64_t *)window;
    if (!rank_attach())
        return NULL;
    uint64_t words[6];
    if (rank_call_verbs(RANK_VERBS_CALL_DEVICE, "sunstar_nic_map", 0, NULL, words) < 0)
        return NULL; /* this machine has no such card */
    rank_state_add(RANK_STATE_VERBS);
    void *memory = mmap(NULL, FORTH_REGION_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    rank_guard_begin();
    window = (uintptr_t)memory;
    return memory;
}

/* --- forth.h --- */

FORTH_EXPORT int forth_open(struct forth *forth)
{
    volatile uint64_t *region = sunstar_nic_map();
    if (!region)
        return -ENODEV;
    uint64_t words[6];
    int code = rank_call_verbs(RANK_VERBS_CALL_DEVICE, "forth_open", 0, NULL, words);
    if (code < 0)
        return code;
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return -ENOMEM;
    *forth = (struct forth){.region = region, .notified = page, .node = (uint32_t)words[0],
                            .nodes = (uint32_t)words[1], .pages = (uint32_t)words[3]};
    const uint64_t arguments[] = {POINTER(page)};
    code = rank_call_verbs(RANK_VERBS_CALL_QUEUE, "forth_open", 1, arguments, words);
    if (code < 0) {
        munmap(page, PAGE);
        return code;
    }
    queue_mapped = true;
    rank_guard(page, PAGE);
    return 0;
}

FORTH_EXPORT int64_t forth_register(void *memory, size_t bytes, int remote)
{
    const uint64_t arguments[] = {POINTER(memory), bytes, remote ? LOCAL_WRITE | REMOTE_WRITE : 0};
    uint64_t words[6];
    const int code =
        rank_call_verbs(RANK_VERBS_CALL_REGISTER, "forth_register", 3, arguments, words);
    if (code < 0)
        return code;
    if (remote)
        rank_guard(memory, bytes);
    return (int64_t)words[0];
}

FORTH_EXPORT int forth_unregister(uint32_t key, void *memory, size_t bytes)
{
    const uint64_t arguments[] = {key};
    uint64_t words[6];
    const int code =
        rank_call_verbs(RANK_VERBS_CALL_DEREGISTER, "forth_unregister", 1, arguments, words);
    if (code >= 0)
        rank_unguard(memory, bytes);
    return code;
}

FORTH_EXPORT int64_t forth_where(uint32_t node, uint32_t key, uint64_t byte, uint64_t *physical)
{
    const uint64_t arguments[] = {node, key, byte};
    uint64_t words[6];
    const int code = rank_call_verbs(RANK_VERBS_CALL_WHERE, "forth_where", 3, arguments, words);
    if (code < 0)
        return code;
    *physical = words[0];
    return (int64_t)words[1];
}

FORTH_EXPORT void forth_fence(struct forth *forth)
{
    uint64_t words[6];
    rank_call_verbs(RANK_VERBS_CALL_FENCE, "forth_fence", 0, NULL, words);
    forth->slot = 0;
}
