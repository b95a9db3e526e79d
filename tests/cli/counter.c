/* The time-stamp counter tells simulated time at the frequency of /proc/cpuinfo, and leaves SIGSEGV to the
 * program. Prints one line a rank: "wrong" and what, or "right". Arguments: "exec" executes true instead. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int rank;
static int wrongs;

static void check(int right, const char *what)
{
    if (!right)
        printf("rank %d: wrong: %s\n", rank, what);
    wrongs += !right;
}

static inline uint64_t counter(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

static inline uint64_t ordered(void)
{
    uint32_t low, high, processor;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(processor));
    return (uint64_t)high << 32 | low;
}

static double megahertz(void)
{
    char line[4096];
    double found = 0;
    FILE *facts = fopen("/proc/cpuinfo", "r");
    while (facts && fgets(line, sizeof line, facts))
        sscanf(line, "cpu MHz : %lf", &found);
    if (facts)
        fclose(facts);
    return found;
}

/* The clock before and after: what the counter says lies between them. */
static double between(uint64_t (*read_it)(void), double hertz)
{
    const double before = MPI_Wtime(), told = (double)read_it() / hertz, after = MPI_Wtime();
    check(before < told && told < after, "the counter is not between two looks at the clock");
    return told;
}

static void measure(double hertz)
{
    char token = 0;
    const double tick = 1 / hertz, cost = 50e-9;
    for (int i = 0; i < 20; i++) {
        const double begin = MPI_Wtime();
        const uint64_t began = i % 2 ? counter() : ordered();
        if (rank < 2) {
            if (rank == 0)
                MPI_Send(&token, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1)
                MPI_Send(&token, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        }
        const uint64_t ended = counter();
        const double end = MPI_Wtime();
        /* The clock has been read behind the counter, once each. */
        const double counted = (double)(ended - began) / hertz, told = end - begin - 2 * cost;
        check(fabs(counted - told) <= 1.01 * tick, "counter and clock tell different times");
    }
    between(counter, hertz);
    between(ordered, hertz);
}

/* The system's own code in the process tells real time by the counter: it does not fault. */
static void systems_code(void)
{
    void *library = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    int (*look)(clockid_t, struct timespec *) = NULL;
    struct timespec told, real;
    if (library)
        look = (int (*)(clockid_t, struct timespec *))dlsym(library, "__vdso_clock_gettime");
    if (!look)
        return;
    look(CLOCK_MONOTONIC, &told);
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &real);
    check(labs((long)(real.tv_sec - told.tv_sec)) < 3600, "the system's own clock");
}

static sigjmp_buf back;
static volatile sig_atomic_t faults;
static volatile char *forbidden;

static void jump(int number)
{
    faults += number == SIGSEGV;
    counter(); /* in the handler, too */
    siglongjmp(back, 1);
}

static void repair(int number, siginfo_t *info, void *context)
{
    faults += number == SIGSEGV && info->si_addr == (void *)forbidden && context;
    mprotect((void *)forbidden, 4096, PROT_READ | PROT_WRITE);
}

static void *on_a_thread(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    return counter() < counter() ? unused : NULL;
}

static void handle(void)
{
    forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const sighandler_t before_all = signal(SIGSEGV, jump);
#ifndef __SANITIZE_THREAD__ /* it has one of its own */
    check(before_all == SIG_DFL, "a handler that nobody has set");
#endif
    for (int i = 0; i < 40; i++)
        if (sigsetjmp(back, 1) == 0)
            *forbidden = 1;
    check(faults == 40, "faults do not reach the program's handler");
    static char stack[65536];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = repair, .sa_flags = SA_SIGINFO | SA_ONSTACK}, old;
    sigaltstack(&other, NULL);
    sigaction(SIGSEGV, &action, &old);
    check(old.sa_handler == jump, "another handler than the program's");
    *forbidden = 7;
    check(faults == 41 && *forbidden == 7, "a handler with an argument");
    const uint64_t before = counter();
    check(counter() > before, "the counter stands on another stack");
    pthread_t thread;
    void *result = NULL;
    pthread_create(&thread, NULL, on_a_thread, &rank);
    pthread_join(thread, &result);
    check(result == &rank, "the counter of a thread that blocks all signals");
    signal(SIGSEGV, SIG_DFL);
}

static void start(void)
{
    extern char **environ;
    char *words[] = {"true", NULL};
    pid_t child;
    int status = -1;
    check(posix_spawnp(&child, "true", NULL, NULL, words, environ) == 0, "posix_spawn");
    waitpid(child, &status, 0);
    check(status == 0, "what posix_spawn starts");
    check(system("true") == 0, "what system starts");
    FILE *stream = popen("true", "r");
    check(stream && pclose(stream) == 0, "what popen starts");
    for (int way = 0; way < 3; way++) {
        child = way == 2 ? vfork() : fork();
        if (child == 0) {
            if (way == 0) {
                counter();
                execl("/bin/true", "true", (char *)NULL);
            }
            execlp("true", "true", "a", "b", (char *)NULL);
            _exit(9);
        }
        waitpid(child, &status, 0);
        check(status == 0, "what a child executes");
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const double hertz = megahertz() * 1e6;
    check(hertz > 0, "/proc/cpuinfo tells no frequency");
    measure(hertz);
    systems_code();
    handle();
    start();
    if (argc > 1 && strcmp(argv[1], "fault") == 0)
        *(volatile int *)8 = 0;
    printf("rank %d: %s at %.0f MHz\n", rank, wrongs ? "wrong" : "right", hertz / 1e6);
    MPI_Finalize();
    return wrongs != 0;
}
