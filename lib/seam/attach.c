/* Which process is the rank: of the one that the simulator has started and all that descend from it the
 * first that is linked with MPI or calls it. So launchers (env, timeout, scripts, debuggers) may stand
 * before it.
 *
 * The channel is offered by a descriptor and a variable of the environment that names it. Both are passed
 * on until there is a rank; what a rank starts gets neither. */
#define _GNU_SOURCE
#include "generated/fingerprint.h"
#include "random.h"
#include "rank.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VARIABLE "SUNSTAR_RANK_FD"
/* Processes above this one that are looked at for a descriptor that was not passed on. */
#define ANCESTORS_MAX 32

/* What this process is. */
static enum {
    STRANGER,  /* outside of a run, or started by a rank */
    BYSTANDER, /* of a run, and not the rank so far */
    FIRST,     /* the same, and the one that the simulator has started: its clocks are simulated */
    RANK
} part;
static struct rank_channel *channel; /* mapped, if this is no stranger */
static bool attached;                /* attach was tried */
static bool forked;                  /* this is a child that a rank has forked */
static int file = -1;                /* descriptor of the channel's memory file */
static struct stat file_facts;       /* what it was: the program may have closed it */

/* --- the rank --- */

static bool is_gone(uint32_t process)
{
    return syscall(SYS_kill, process, 0) != 0 && errno == ESRCH;
}

/* True if this process is the rank now, because there was none, or one that has ended without a call. */
static bool become_owner(struct rank_channel *c)
{
    const uint32_t own = (uint32_t)getpid();
    uint32_t owner = __atomic_load_n(&c->owner, __ATOMIC_ACQUIRE);
    while (owner != own) {
        const uint32_t calls = RANK_STATE_INITIALIZED | RANK_STATE_PORTALS | RANK_STATE_VERBS;
        const bool called = c->state & calls;
        if (owner != 0 && (called || !is_gone(owner)))
            return false;
        if (__atomic_compare_exchange_n(&c->owner, &owner, own, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            break;
    }
    c->base = POINTER(c);
    return true;
}

/* What the rank starts is not of the run. */
static void keep_to_itself(void)
{
    struct stat facts;
    unsetenv(VARIABLE);
    const bool ours = file >= 0 && fstat(file, &facts) == 0 &&
                      facts.st_ino == file_facts.st_ino && facts.st_dev == file_facts.st_dev;
    if (ours)
        close(file);
    file = -1;
}

/* A rank that others have started dies with who has, as those do that the simulator starts itself. Not if it
 * was started by a process with threads, of which one may end. */
static void die_with_parent(void)
{
    char path[64];
    struct stat facts;
    snprintf(path, sizeof path, "/proc/%d/task", (int)getppid());
    /* A folder has two links of its own, and here one for each thread. */
    if (stat(path, &facts) == 0 && facts.st_nlink == 3)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static bool become_rank(void)
{
    if (part == STRANGER || !become_owner(channel))
        return false;
    if ((uint32_t)getpid() != channel->first)
        die_with_parent();
    part = RANK;
    keep_to_itself();
    rank_begin(channel);
    rank_counter_begin();
    return true;
}

struct rank_channel *rank_require(const char *name)
{
    rank_attach();
    if (part == RANK || become_rank())
        return channel;
    if (forked)
        rank_fail("%s was called in a child that a rank forked; only the rank itself may", name);
    if (part != STRANGER)
        rank_fail("%s was called by a second process that rank %u has started; only the first "
                  "may use MPI",
                  name, channel->rank);
    rank_fail("only what sunstar run itself starts may use MPI: sunstar run -n 2 PROGRAM (%s)",
              name);
}

bool rank_is_rank(void)
{
    return part == RANK;
}

const struct rank_channel *rank_channel_of_run(void)
{
    rank_attach();
    return channel;
}

bool rank_node(uint32_t *number)
{
    rank_attach();
    if (channel) {
        *number = channel->node;
        return true;
    }
    const char *told = getenv("SUNSTAR_NODE");
    if (told)
        *number = (uint32_t)atoi(told);
    return told != NULL;
}

static void after_fork_in_child(void)
{
    forked = part == RANK;
    part = part == STRANGER || forked ? STRANGER : BYSTANDER;
}

/* --- the channel --- */

static void *map(int descriptor)
{
    const int all = PROT_READ | PROT_WRITE;
    return mmap(NULL, RANK_CHANNEL_SIZE, all, MAP_SHARED, descriptor, 0);
}

/* The parent of a process (proc(5)); 0 if that is unknown. */
static pid_t parent_of(pid_t process)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    const int status = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = read(status, text, sizeof text - 1);
    close(status);
    text[length > 0 ? length : 0] = 0;
    const char *name_end = strrchr(text, ')'); /* state and parent follow */
    return name_end && strlen(name_end) > 4 ? (pid_t)atoi(name_end + 4) : 0;
}

/* The descriptor of that number of a process above this one, which has not passed it on. */
static int inherit(int number)
{
    pid_t process = getppid();
    for (int i = 0; i < ANCESTORS_MAX && process > 1; i++, process = parent_of(process)) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)process, number);
        const int found = open(path, O_RDWR | O_CLOEXEC);
        struct stat facts;
        /* The channel's memory has no name in any folder. */
        if (found >= 0 && fstat(found, &facts) == 0 && facts.st_nlink == 0)
            return found;
        if (found >= 0)
            close(found);
    }
    return -1;
}

/* A library by which a program gets at the network. */
static bool names_us(const char *library)
{
    /* The last two are other implementations' own: MPICH's and those that follow it, and Open MPI's. */
    static const char *const names[] = {
        "libmpi_abi.so.1", "libmpi_fortran.so.1", "libportals.so",
        "libibverbs.so.1", "libmpi.so.12",        "libmpi.so.40",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(library, names[i]) == 0)
            return true;
    return false;
}

/* Is this object one that needs MPI? What is preloaded does not make a program one of MPI's. */
static int needs_us(struct dl_phdr_info *object, size_t size, void *preloaded)
{
    (void)size;
    const char *path = object->dlpi_name, *slash = strrchr(path, '/');
    if (*path && preloaded && strstr(preloaded, slash ? slash + 1 : path))
        return 0;
    const ElfW(Dyn) *entries = NULL;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entries = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    const char *names = NULL;
    for (const ElfW(Dyn) *entry = entries; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_STRTAB && entry->d_un.d_ptr > object->dlpi_addr)
            names = (const char *)entry->d_un.d_ptr;
    for (const ElfW(Dyn) *entry = entries; names && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED && names_us(names + entry->d_un.d_val))
            return 1;
    return 0;
}

static void attach(void)
{
    attached = true;
    const char *number = getenv(VARIABLE);
    if (!number)
        return;
    file = atoi(number);
    void *memory = map(file);
    if (memory == MAP_FAILED) {
        file = inherit(file);
        memory = map(file);
    }
    if (memory == MAP_FAILED || fstat(file, &file_facts) != 0)
        return;
    channel = memory;
    if (channel->fingerprint != RANK_FINGERPRINT) {
        part = RANK;
        rank_fail("libsunstar_seam.so belongs to another version of the simulator; build both "
                  "again");
    }
    pthread_atfork(NULL, NULL, after_fork_in_child);
    uint32_t first = 0;
    const uint32_t own = (uint32_t)getpid();
    const bool is_first =
        __atomic_compare_exchange_n(&channel->first, &first, own, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE) ||
        first == own;
    part = is_first ? FIRST : BYSTANDER;
    rank_move_begin(file, 0);
    if (dl_iterate_phdr(needs_us, getenv("LD_PRELOAD")) && !channel->template)
        become_rank();
}

/* Runs before all other constructors, as the library is linked with -z initfirst: also before that of the C
 * library, which tells itself of the environment. So the counter is simulated, and random numbers are the
 * run's, before any library looks at them; the loader has read the real counter before. */
__attribute__((constructor(101))) static void attach_early(int count, char **words,
                                                           char **variables)
{
    (void)count, (void)words;
    if (!environ)
        environ = variables;
    rank_attach();
    if (part == STRANGER)
        return;
    rank_memory_begin();
    if (!channel->template) {
        if (part == FIRST)
            rank_counter_begin();
        rank_random_begin();
        return;
    }
    unsetenv(VARIABLE);
    rank_template(channel, file);
    file = -1;
    part = RANK;
    channel->first = (uint32_t)getpid();
    become_owner(channel);
    rank_counter_begin();
    rank_random_begin();
}

struct rank_channel *rank_attach(void)
{
    if (!attached)
        attach();
    return part >= FIRST ? channel : NULL;
}

/* --- its end --- */

/* Fortran's output has buffers of its own; there is no such procedure in programs without Fortran. */
__attribute__((weak)) void _gfortran_flush_i4(const int *unit);

void rank_flush(void)
{
    if (_gfortran_flush_i4)
        _gfortran_flush_i4(NULL); /* all units */
    fflush(NULL);
}

void rank_fail(const char *format, ...)
{
    struct rank_channel *channel = rank_is_rank() ? rank_attach() : NULL;
    char text[sizeof channel->fault];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rank_flush();
    if (channel) {
        memcpy(channel->fault, text, sizeof text);
        rank_state_add(RANK_STATE_FAULTED);
    } else {
        fprintf(stderr, "sunstar: %s\n", text);
    }
    _exit(1);
}
