/* The card's memory region in the program, mapped on request as a kernel module's mmap() would
 * (marazakis2006 s2.2): each load and store there is the bus's, and takes its time.
 *
 * The page that stands for a page of the region is closed. An access faults: a load is asked for of the
 * simulator, which runs the bus, and the word is put into the page; then the instruction is carried out by a
 * single step. What a store has left in the page is written to the card behind the step. */
#define _GNU_SOURCE
#include "rank.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096u
#define BYTES 0x4000u
#define WORD 8u
#define TRAP_FLAG 0x100
#define FAULT_WRITE 2

static uintptr_t window;
static uintptr_t open_page; /* the one that a step uses, or 0 */
static uintptr_t stored;    /* the word that it writes, or 0 */

static void protect(uintptr_t page, int protection)
{
    syscall(SYS_mprotect, page, PAGE, protection);
}

static int call(unsigned number, uintptr_t at, uint64_t value, uint64_t *word)
{
    const uint64_t arguments[] = {at - window, value};
    uint64_t words[6];
    const int code = rank_call_verbs(number, "an access to the card's memory region", 2, arguments,
                                     words);
    if (word)
        *word = words[0];
    return code;
}

/* True if the instruction only stores, so that nothing need be loaded before: moves from a register or of a
 * constant. */
static bool only_stores(const uint8_t *code)
{
    while (*code == 0x66 || (*code & 0xF0) == 0x40)
        code++;
    return (*code >= 0x88 && *code <= 0x89) || (*code >= 0xC6 && *code <= 0xC7);
}

bool rank_window_fault(uintptr_t at, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (!window || at < window || at >= window + BYTES || open_page || !rank_may_call())
        return false;
    const int error = errno;
    const uintptr_t word = at / WORD * WORD, page = at / PAGE * PAGE;
    const bool writes = registers[REG_ERR] & FAULT_WRITE;
    uint64_t value = 0;
    if (!writes || !only_stores((const uint8_t *)registers[REG_RIP])) {
        const int code = call(RANK_VERBS_CALL_LOAD, word, 0, &value);
        if (code < 0)
            rank_fail("a load from offset 0x%x of the card's memory region: it cannot be read",
                      (unsigned)(word - window));
    }
    open_page = page;
    stored = writes ? word : 0;
    protect(page, PROT_READ | PROT_WRITE);
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
    const uint64_t value = stored ? *(uint64_t *)stored : 0;
    const uintptr_t page = open_page, word = stored;
    open_page = stored = 0;
    protect(page, PROT_NONE);
    if (word && call(RANK_VERBS_CALL_STORE, word, value, NULL) < 0)
        rank_fail("a store to offset 0x%x of the card's memory region: programs write the "
                  "registers from 0x1000 to 0x1fff only",
                  (unsigned)(word - window));
    errno = error;
}

__attribute__((visibility("default"))) volatile uint64_t *sunstar_nic_map(void)
{
    if (window)
        return (volatile uint64_t *)window;
    if (!rank_attach())
        return NULL;
    const uint64_t arguments[] = {0, 0};
    uint64_t words[6];
    if (rank_call_verbs(RANK_VERBS_CALL_DEVICE, "sunstar_nic_map", 0, arguments, words) < 0)
        return NULL; /* this machine has no such card */
    rank_state_add(RANK_STATE_VERBS);
    void *memory = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    rank_guard_begin();
    window = (uintptr_t)memory;
    return memory;
}
