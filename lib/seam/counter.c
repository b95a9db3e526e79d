/* The processor's time-stamp counter. A rank may not read it: the system sends SIGSEGV for rdtsc and rdtscp
 * (PR_SET_TSC), and the handler tells what the counter of the simulated processor would: its cycles since the
 * start of the machine. All else that SIGSEGV says goes to the program's own handler, which is kept here.
 *
 * The right to read the counter is a thread's and passes on to what it starts, whose loader reads it: so it
 * is given back before anything is started (docs/decisions/0060). */
#define _GNU_SOURCE
#include "clock.h"
#include "rank.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default"), cold))
/* The C library's function of this name. */
#define ORIGINAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))
/* The exception with which the processor refuses the instruction: general protection. */
#define PROTECTION 13
/* The system's own code in each process reads the counter to tell real time. */
#define SYSTEM_CODE_BYTES 0x4000u
#define SYSTEMS 4
/* Faults in handlers of faults, one in the other, after which the program ends. */
#define NESTED_MAX 16

/* The C library's sigaction by its other name: no tool takes it over. */
extern int __sigaction(int number, const struct sigaction *action, struct sigaction *old);

static bool trapping;             /* this process may not read the counter */
static struct sigaction programs; /* what the program has said about SIGSEGV */
/* Where this thread's stack was when the program's handler was entered last, and how often deeper since. */
static __thread uintptr_t handled_at;
static __thread unsigned nested;

/* Code of the C library and the loader. */
static struct code {
    uintptr_t begin, end;
} systems[SYSTEMS];
static unsigned systems_used;

static int permit(bool permitted)
{
    return prctl(PR_SET_TSC, permitted ? PR_TSC_ENABLE : PR_TSC_SIGSEGV, 0, 0, 0);
}

/* --- the handler --- */

/* Bytes of the instruction, if it is one that reads the counter. */
static size_t reading(const siginfo_t *info, const greg_t *registers)
{
    if (info->si_code != SI_KERNEL || registers[REG_TRAPNO] != PROTECTION)
        return 0;
    const uint8_t *code = (const uint8_t *)registers[REG_RIP];
    if (code[0] == 0x0F && code[1] == 0x31)
        return 2; /* rdtsc */
    return code[0] == 0x0F && code[1] == 0x01 && code[2] == 0xF9 ? 3 : 0; /* rdtscp */
}

/* True of code of the system and of the C library, whose locks wait for random spans. What it reads is no
 * look of the program's at a clock, and takes no simulated time. */
static bool is_systems(uintptr_t code)
{
    const uintptr_t begin = getauxval(AT_SYSINFO_EHDR);
    if (begin && code - begin < SYSTEM_CODE_BYTES)
        return true;
    for (unsigned i = 0; i < systems_used; i++)
        if (systems[i].begin <= code && code < systems[i].end)
            return true;
    return false;
}

static uint64_t workstations(void)
{
    uint32_t low, high;
    permit(true);
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    permit(false);
    return (uint64_t)high << 32 | low;
}

static uint64_t simulated(struct rank_channel *channel)
{
    const __uint128_t cycles = (__uint128_t)rank_clock(channel) * channel->frequency;
    return (uint64_t)(cycles / PS_PER_S);
}

/* The signal takes its course: it is raised again when the handler has returned. */
static void let_die(const siginfo_t *info)
{
    const struct sigaction plain = {.sa_handler = SIG_DFL};
    __sigaction(SIGSEGV, &plain, NULL);
    if (info->si_code <= 0) /* somebody has sent it: no instruction does so again */
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGSEGV);
}

/* True if the program's handler has met one fault after the other, each deeper in the stack. */
static bool is_lost(uintptr_t here)
{
    nested = here < handled_at ? nested + 1 : 0;
    handled_at = here;
    return nested > NESTED_MAX;
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction action = programs;
    if (action.sa_handler == SIG_IGN && info->si_code <= 0)
        return;
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN ||
        is_lost((uintptr_t)__builtin_frame_address(0))) {
        let_die(info);
        return;
    }
    if (action.sa_flags & (int)SA_RESETHAND)
        programs = (struct sigaction){.sa_handler = SIG_DFL};
    pthread_sigmask(SIG_BLOCK, &action.sa_mask, NULL); /* until this handler returns */
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
    handled_at = 0;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const size_t length = reading(info, registers);
    if (length == 0 && rank_guard_fault(info, context))
        return;
    if (length == 0) {
        pass_on(number, info, context);
        return;
    }
    const int error = errno;
    struct rank_channel *channel = rank_attach();
    if (!channel) {
        permit(true); /* a forked child: it reads the workstation's */
    } else {
        const bool systems = is_systems((uintptr_t)registers[REG_RIP]);
        const uint64_t cycles = systems ? workstations() : simulated(channel);
        registers[REG_RAX] = (greg_t)(uint32_t)cycles;
        registers[REG_RDX] = (greg_t)(uint32_t)(cycles >> 32);
        if (length == 3)
            registers[REG_RCX] = 0; /* the number of the processor */
        registers[REG_RIP] += (greg_t)length;
    }
    errno = error;
}

/* --- the system's code --- */

/* Makes a function of the system's code a call of the system, which is as right and slower: threads that have
 * blocked SIGSEGV by themselves ask it for the time, too. The code is not writable, but a debugger's way. */
static void redirect(void *library, int memory, const char *name, uint32_t call)
{
    const void *code = dlsym(library, name);
    const uint8_t low = (uint8_t)call, high = (uint8_t)(call >> 8);
    const uint8_t instead[] = {0xB8, low, high, 0, 0, /* mov $call, %eax */
                               0x0F, 0x05,            /* syscall */
                               0xC3};                 /* ret */
    if (code)
        syscall(SYS_pwrite64, memory, instead, sizeof instead, code);
}

/* Where that is not allowed the handler sees what this code reads. */
static void redirect_system(void)
{
    void *library = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    const int memory = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (library && memory >= 0) {
        redirect(library, memory, "__vdso_clock_gettime", SYS_clock_gettime);
        redirect(library, memory, "__vdso_gettimeofday", SYS_gettimeofday);
        redirect(library, memory, "__vdso_clock_getres", SYS_clock_getres);
        redirect(library, memory, "__vdso_time", SYS_time);
    }
    if (memory >= 0)
        syscall(SYS_close, memory);
    if (library)
        dlclose(library);
}

static int note_code(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    const char *slash = strrchr(object->dlpi_name, '/');
    const char *name = slash ? slash + 1 : object->dlpi_name;
    if (strncmp(name, "libc.so", 7) != 0 && strncmp(name, "ld-linux", 8) != 0)
        return 0;
    for (int i = 0; i < object->dlpi_phnum && systems_used < SYSTEMS; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        const uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
            systems[systems_used++] = (struct code){begin, begin + segment->p_memsz};
    }
    return 0;
}

/* --- its beginning --- */

/* Valgrind carries out the instruction in a way of its own, which must not fault: it answers this request
 * (rotations by 128 bits in all, which change nothing elsewhere) with its depth. */
static bool under_valgrind(void)
{
    const uint64_t request[6] = {0x1001};
    uint64_t depth = 0;
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; "
                     "xchgq %%rbx, %%rbx"
                     : "+d"(depth)
                     : "a"(request)
                     : "cc", "memory");
    return depth != 0;
}

void rank_counter_begin(void)
{
    struct sigaction now;
    if (under_valgrind() || __sigaction(SIGSEGV, NULL, &now) != 0)
        return;
    if (now.sa_sigaction == on_fault && trapping)
        return;
    /* A filter of system calls may refuse it: then the counter is the workstation's. */
    if (permit(false) != 0)
        return;
    if (!trapping) {
        redirect_system();
        dl_iterate_phdr(note_code, NULL);
    }
    programs = now;
    /* Entered on the stack for signals, if the thread has one, as the program's own may have to be, and again
     * while that runs: it may read the counter, too. */
    struct sigaction ours = {.sa_sigaction = on_fault,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART};
    __sigaction(SIGSEGV, &ours, NULL);
    trapping = true;
}

/* --- what the program says about signals --- */

/* SIGSEGV stays unblocked: an instruction that faults while it is blocked ends the program. */
static const sigset_t *without_ours(const sigset_t *set, sigset_t *copy)
{
    if (!set || !trapping || sigismember(set, SIGSEGV) != 1)
        return set;
    *copy = *set;
    sigdelset(copy, SIGSEGV);
    return copy;
}

EXPORT int sigaction(int number, const struct sigaction *restrict action,
                     struct sigaction *restrict old)
{
    struct sigaction copy;
    if (action) {
        copy = *action;
        without_ours(&action->sa_mask, &copy.sa_mask);
    }
    if (number != SIGSEGV || !trapping)
        return ORIGINAL(sigaction)(number, action ? &copy : NULL, old);
    const struct sigaction before = programs;
    if (action)
        programs = copy;
    if (old)
        *old = before;
    return 0;
}

static sighandler_t set_handler(sighandler_t handler, int flags)
{
    const struct sigaction before = programs;
    programs = (struct sigaction){.sa_handler = handler, .sa_flags = flags};
    return before.sa_handler;
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
    if (number == SIGSEGV && trapping && handler != SIG_ERR)
        return set_handler(handler, SA_RESTART);
    return ORIGINAL(signal)(number, handler);
}

EXPORT sighandler_t bsd_signal(int number, sighandler_t handler)
{
    return signal(number, handler);
}

EXPORT sighandler_t ssignal(int number, sighandler_t handler)
{
    return signal(number, handler);
}

EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    if (number == SIGSEGV && trapping && handler != SIG_ERR)
        return set_handler(handler, (int)(SA_RESETHAND | SA_NODEFER));
    return ORIGINAL(__sysv_signal)(number, handler);
}

EXPORT sighandler_t sysv_signal(int number, sighandler_t handler)
{
    return __sysv_signal(number, handler);
}

EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    sigset_t copy;
    return ORIGINAL(sigprocmask)(how, how == SIG_UNBLOCK ? set : without_ours(set, &copy), old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    sigset_t copy;
    return ORIGINAL(pthread_sigmask)(how, how == SIG_UNBLOCK ? set : without_ours(set, &copy), old);
}

/* --- what it starts --- */

/* Reads the counter as it likes while the call is carried out. */
#define FREELY(type, call)                                                                         \
    ({                                                                                             \
        if (trapping)                                                                              \
            permit(true);                                                                          \
        type result_ = call;                                                                       \
        const int error_ = errno;                                                                  \
        if (trapping)                                                                              \
            permit(false);                                                                         \
        errno = error_;                                                                            \
        result_;                                                                                   \
    })

EXPORT int posix_spawn(pid_t *restrict pid, const char *restrict path,
                       const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                       char *const envp[restrict])
{
    return FREELY(int, ORIGINAL(posix_spawn)(pid, path, actions, attributes, argv, envp));
}

EXPORT int posix_spawnp(pid_t *restrict pid, const char *restrict file,
                        const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                        char *const envp[restrict])
{
    return FREELY(int, ORIGINAL(posix_spawnp)(pid, file, actions, attributes, argv, envp));
}

EXPORT int system(const char *command)
{
    return FREELY(int, ORIGINAL(system)(command));
}

EXPORT FILE *popen(const char *command, const char *type)
{
    return FREELY(FILE *, ORIGINAL(popen)(command, type));
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    return FREELY(int, ORIGINAL(execve)(path, argv, envp));
}

EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    return FREELY(int, ORIGINAL(execvpe)(file, argv, envp));
}

EXPORT int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

EXPORT int fexecve(int file, char *const argv[], char *const envp[])
{
    return FREELY(int, ORIGINAL(fexecve)(file, argv, envp));
}

static size_t count_words(va_list words)
{
    size_t count = 0;
    while (va_arg(words, const char *))
        count++;
    return count;
}

/* Executes with the words that follow, up to a null pointer; variables may come behind that. */
#define WITH_WORDS(first, execute)                                                                 \
    va_list words;                                                                                 \
    va_start(words, first);                                                                        \
    const size_t count = count_words(words);                                                       \
    va_end(words);                                                                                 \
    char *argv[count + 2];                                                                         \
    argv[0] = (char *)(uintptr_t)first;                                                            \
    va_start(words, first);                                                                        \
    for (size_t i = 1; i < count + 2; i++)                                                         \
        argv[i] = va_arg(words, char *);                                                           \
    const int code = execute;                                                                      \
    va_end(words);                                                                                 \
    return code;

EXPORT int execl(const char *path, const char *word, ...)
{
    WITH_WORDS(word, execv(path, argv))
}

EXPORT int execlp(const char *file, const char *word, ...)
{
    WITH_WORDS(word, execvp(file, argv))
}

EXPORT int execle(const char *path, const char *word, ...)
{
    WITH_WORDS(word, execve(path, argv, va_arg(words, char *const *)))
}
