/* Memory that a card writes to while the program looks at it, without any call.
 *
 * Simulated time stands still while a program runs, so a program that waits for a word to change would wait
 * for ever. Its pages are closed, therefore: each look faults, is noted, and is carried out by a single step
 * with its pages open. The second look of the same instruction at the same place, with no call in between,
 * cannot find anything new: the simulator lets time run until the card has changed the word that is there.
 * What is seen, and so what time it is, follows from the program alone (docs/decisions/0088).
 *
 * While the program waits in a call the simulator reads and writes these pages. Few pages are opened for each
 * call. Of more the simulator names those that it finds closed (way OPEN), and only they are closed again:
 * a program with 16 MB that looks at a clock changes none (docs/decisions/0109). */
#define _GNU_SOURCE
#include "rank.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096u
#define WORD 8u
/* The processor's trap flag, and the bit of a page fault's error that says it was a write. */
#define TRAP_FLAG 0x100
#define FAULT_WRITE 2
#define REGIONS 256
/* Pages that one instruction may touch. */
#define STEPPED 4
/* Looks without a call after which a page stays open until the next one: the program works on its data. */
#define LOOKS_MAX 256
/* So many pages are opened for each call but looks at a clock, in which the card seldom needs one: that takes
 * less time than to be asked for a page. */
#define FEW 64
/* Pages that are opened at once, of those that follow the one that was asked for. */
#define AHEAD_MAX 256
/* Runs of open pages; when there are more, all are opened. */
#define OPENED 64

extern int __sigaction(int number, const struct sigaction *action, struct sigaction *old);

struct region {
    uintptr_t begin, end; /* of pages */
};
static struct region regions[REGIONS];
static unsigned used;
static size_t pages; /* of all regions */
static bool closed;  /* all of them, but those in opened */
static struct region opened[OPENED];
static unsigned runs;
static unsigned ahead; /* pages that are opened at once when the next is asked for */

/* The look under way: its pages, which are open for one instruction. */
static uintptr_t stepped[STEPPED];
static unsigned stepping;
/* The last one of this thread, and how many there were since its last call. */
static __thread uintptr_t last_code, last_at;
static __thread unsigned looks;

static struct sigaction programs; /* what the program has said about SIGTRAP */

/* Not the library's own function of this name, which looks for what becomes of the program's memory. */
static bool protect(uintptr_t begin, uintptr_t end, int protection)
{
    bool all = syscall(SYS_mprotect, begin, end - begin, protection) == 0;
    /* The program has unmapped some of them; the others are looked at as before. */
    for (uintptr_t page = begin; !all && end - begin > PAGE && page < end; page += PAGE)
        syscall(SYS_mprotect, page, PAGE, protection);
    return all;
}

static void set(bool close)
{
    const int protection = close ? PROT_NONE : PROT_READ | PROT_WRITE;
    for (unsigned i = 0; i < used && close != closed; i++)
        protect(regions[i].begin, regions[i].end, protection);
    closed = close && used > 0;
    runs = 0;
}

/* These pages are open until the program goes on from its next call. */
static void note(uintptr_t begin, uintptr_t end)
{
    struct region *last = runs > 0 ? &opened[runs - 1] : NULL;
    if (last && begin >= last->begin && begin <= last->end)
        last->end = end > last->end ? end : last->end;
    else if (runs < OPENED)
        opened[runs++] = (struct region){begin, end};
    else
        set(false);
}

void rank_guard_leave(bool looks_at_clock)
{
    if (pages <= FEW && !looks_at_clock)
        set(false);
    for (; stepping > 0; stepping--) /* what the step has reached is a call: its pages stay open */
        if (closed)
            note(stepped[stepping - 1], stepped[stepping - 1] + PAGE);
    ahead = 1;
}

/* Region that has this page; NULL: none. */
static const struct region *region_of(uintptr_t at)
{
    for (unsigned i = 0; i < used; i++)
        if (regions[i].begin <= at && at < regions[i].end)
            return &regions[i];
    return NULL;
}

static bool is_open(uintptr_t page)
{
    for (unsigned i = 0; i < runs; i++)
        if (opened[i].begin <= page && page < opened[i].end)
            return true;
    return !closed;
}

bool rank_guard_open(uintptr_t at, size_t bytes)
{
    bool any = false;
    for (uintptr_t page = at / PAGE * PAGE; page < at + bytes; page += PAGE) {
        const struct region *region = region_of(page);
        if (!region || is_open(page) || !protect(page, page + PAGE, PROT_READ | PROT_WRITE))
            continue;
        uintptr_t end = page + (uintptr_t)ahead * PAGE;
        if (end > region->end)
            end = region->end;
        if (end > page + PAGE)
            protect(page + PAGE, end, PROT_READ | PROT_WRITE);
        note(page, end);
        any = true;
        ahead = ahead < AHEAD_MAX ? 2 * ahead : AHEAD_MAX;
    }
    return any;
}

void rank_guard_close(void)
{
    for (; closed && runs > 0; runs--)
        protect(opened[runs - 1].begin, opened[runs - 1].end, PROT_NONE);
    set(true);
    looks = 0;
    last_code = 0;
}

bool rank_guard_fault(const void *facts, void *context)
{
    const siginfo_t *info = facts;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uintptr_t at = (uintptr_t)info->si_addr, code = (uintptr_t)registers[REG_RIP];
    const uintptr_t page = at / PAGE * PAGE;
    if (info->si_code == SEGV_ACCERR && rank_window_fault(at, context))
        return true;
    if (info->si_code != SEGV_ACCERR || !closed || !region_of(at) || stepping == STEPPED)
        return false;
    const int error = errno;
    rank_gate_pass();
    const bool looks_again = code == last_code && at == last_at && stepping == 0 &&
                             !(registers[REG_ERR] & FAULT_WRITE);
    if (looks_again && rank_may_call()) {
        /* Others may have to go on before the word changes: then a little time passes, and no more. */
        const uint64_t arguments[] = {rank_gate_enter() ? 0 : at / WORD * WORD};
        uint64_t words[6];
        rank_call_verbs(RANK_VERBS_CALL_LOOK, "a look at registered memory", 1, arguments, words);
        rank_gate_leave();
    }
    last_code = code;
    last_at = at;
    protect(page, page + PAGE, PROT_READ | PROT_WRITE);
    if (++looks <= LOOKS_MAX) {
        stepped[stepping++] = page;
        registers[REG_EFL] |= TRAP_FLAG;
    } else {
        note(page, page + PAGE);
    }
    errno = error;
    return true;
}

/* The instruction has been carried out. */
static void on_step(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (!(registers[REG_EFL] & TRAP_FLAG)) {
        if (programs.sa_flags & SA_SIGINFO && programs.sa_sigaction)
            programs.sa_sigaction(number, info, context);
        else if (programs.sa_handler != SIG_IGN && programs.sa_handler != SIG_DFL)
            programs.sa_handler(number);
        return;
    }
    registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    rank_window_stepped();
    while (stepping > 0) {
        stepping--;
        if (closed)
            protect(stepped[stepping], stepped[stepping] + PAGE, PROT_NONE);
    }
}

/* A handler runs on this stack: its pages must stay. */
static bool is_stack(uintptr_t begin, uintptr_t end)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return begin < here + (8u << 20) && here - (1u << 20) < end;
}

void rank_guard_begin(void)
{
    static bool begun;
    if (begun)
        return;
    begun = true;
    const struct sigaction action = {.sa_sigaction = on_step,
                                     .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    __sigaction(SIGTRAP, &action, &programs);
}

void rank_guard(void *memory, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)memory / PAGE * PAGE;
    const uintptr_t end = ((uintptr_t)memory + bytes + PAGE - 1) / PAGE * PAGE;
    rank_guard_begin();
    if (used == REGIONS || is_stack(begin, end))
        return; /* looks there are not seen */
    set(false);
    regions[used++] = (struct region){begin, end};
    pages += (end - begin) / PAGE;
    set(true);
}

void rank_unguard(void *memory, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)memory / PAGE * PAGE;
    const uintptr_t end = ((uintptr_t)memory + bytes + PAGE - 1) / PAGE * PAGE;
    const bool again = closed;
    set(false);
    for (unsigned i = 0; i < used; i++)
        if (regions[i].begin == begin && regions[i].end == end) {
            regions[i] = regions[--used];
            pages -= (end - begin) / PAGE;
            break;
        }
    set(again);
}
