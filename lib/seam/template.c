/* A template: a process that has loaded the program and stands before it. It forks ranks, which go on from
 * there: program and libraries are loaded once, and not once a rank (docs/decisions/0040). */
#define _GNU_SOURCE
#include "rank.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Bytes of environment variables that ranks may have of their own. */
#define VARIABLES_MAX 4096

/* What the C library has told the kernel of this thread. */
struct thread {
    pid_t *id; /* where it keeps the thread's number, for the kernel to store a child's there */
    void *robust;
    size_t robust_bytes;
};

/* False if a child's thread would not be as another's that has loaded the program itself. */
static bool look(struct thread *thread)
{
    const bool told = prctl(PR_GET_TID_ADDRESS, &thread->id) == 0 && thread->id;
    return told && *thread->id == (pid_t)syscall(SYS_gettid) &&
           syscall(SYS_get_robust_list, 0, &thread->robust, &thread->robust_bytes) == 0;
}

/* Forks a child of the simulator's, not of this process: who waits for it, and with whom it dies, is as if
 * the simulator had started it. Not by the C library's function, which cannot do that. 0 in the child. */
static int64_t fork_child(const struct thread *thread)
{
    struct clone_args how = {
        .flags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID,
        .child_tid = POINTER(thread->id),
    };
    const int64_t pid = syscall(SYS_clone3, &how, sizeof how);
    return pid < 0 ? -errno : pid;
}

/* The rank's own environment, in the place of the template's. Nothing is allocated for it: simulated time
 * depends on where the program's buffers stand. */
static void set_variables(const struct rank_channel *channel)
{
    static char variables[VARIABLES_MAX];
    const size_t bytes = channel->variables < sizeof variables ? channel->variables : 0;
    rank_move_look(variables, bytes);
    for (char *variable = variables; variable < variables + bytes;) {
        char *value = strchr(variable, '='), *next = variable + strlen(variable) + 1;
        *value = 0;
        char *old = getenv(variable); /* the template has one of that name */
        *value++ = '=';
        if (old && strlen(old) == strlen(value))
            strcpy(old, value); /* as if the rank had been started with it */
        else
            putenv(variable);
        variable = next;
    }
}

/* What the simulator does for processes that load the program themselves (spawn.rs), as far as it is not
 * inherited; then this is the rank of that channel. */
static void become_rank(struct rank_channel *channel, int file, uint32_t number, pid_t simulator,
                        const struct thread *thread)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != simulator)
        _exit(1); /* it died before we asked to die with it */
    syscall(SYS_set_robust_list, thread->robust, thread->robust_bytes);
    const off_t at = (off_t)number * RANK_CHANNEL_STRIDE;
    const int all = PROT_READ | PROT_WRITE;
    if (mmap(channel, RANK_CHANNEL_SIZE, all, MAP_SHARED | MAP_FIXED, file, at) == MAP_FAILED)
        _exit(1);
    rank_move_begin(file, number);
    close(file);
    set_variables(channel);
    errno = 0;
}

void rank_template(struct rank_channel *channel, int file)
{
    const pid_t simulator = getppid();
    struct thread thread;
    int64_t forked = look(&thread) ? 0 : -ENOTSUP;
    for (;;) {
        const uint32_t number = (uint32_t)rank_forked(channel, forked);
        forked = fork_child(&thread);
        if (forked == 0) {
            become_rank(channel, file, number, simulator, &thread);
            return;
        }
    }
}
