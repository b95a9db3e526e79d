/* refuse NUMBER ERROR AFTER COMMAND...: runs a command to which the system refuses a call.
 *
 * A filter sends each such call of the command and of all that it starts to this process
 * (seccomp_unotify(2)), which lets the first AFTER of them pass and answers the rest with ERROR. It begins to
 * count at the mark that the command itself gives when its main function begins, as the loader needs most
 * calls too: the signal SIGXFSZ is ignored. Its exit status is the command's. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK (64 << 10)
#define UNUSABLE 125 /* the system has no such filters */

static int refused, answer, after;
static char **command;
static volatile int listener = -1;

static int listen_for_calls(void)
{
    const unsigned at = offsetof(struct seccomp_data, nr);
    const unsigned first = offsetof(struct seccomp_data, args[0]);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, first),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIGXFSZ, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

/* The command, which shares its table of descriptors with us until it is executed. */
static int run(void *unused)
{
    (void)unused;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int fd = listen_for_calls();
    if (fd < 0)
        _exit(UNUSABLE);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    listener = fd; /* ours, too: memory is shared */
    execv(command[0], command);
    _exit(127);
}

int main(int count, char **words)
{
    if (count < 5)
        return UNUSABLE;
    refused = atoi(words[1]), answer = atoi(words[2]), after = atoi(words[3]);
    command = words + 4;
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const int flags = CLONE_VM | CLONE_FILES | SIGCHLD;
    const pid_t child = clone(run, stack + STACK, flags, NULL);
    int status = 0, begun = 0, calls = 0;
    while (listener < 0)
        if (waitpid(child, &status, WNOHANG) == child)
            return UNUSABLE;
    struct seccomp_notif call;
    struct pollfd some = {listener, POLLIN, 0};
    while (poll(&some, 1, -1) > 0 && some.revents & POLLIN) {
        memset(&call, 0, sizeof call);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
            continue; /* who made it has gone */
        struct seccomp_notif_resp reply = {.id = call.id};
        const int counts = begun && call.data.nr == refused;
        begun |= call.data.nr == SYS_rt_sigaction;
        calls += counts;
        if (counts && calls > after)
            reply.error = -answer;
        else
            reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
    }
    waitpid(child, &status, 0);
    fprintf(stderr, "refuse: %d calls\n", calls);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
