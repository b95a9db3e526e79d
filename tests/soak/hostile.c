/* Random MPI calls with whatever arguments: handles that were freed or never made, null and wild pointers,
 * counts below zero and beyond everything, overlapping buffers, ranks that are nobody's. What it does is a
 * function of its arguments, SEED [CALLS], of the number of ranks and of time: another thread and a signal
 * handler take part.
 *
 * All ranks make the same plan and differ from it here and there. Nothing that MPI does is checked: the end
 * shall be an error, a sentence, a deadlock or success, and the test looks at that. */
#define _GNU_SOURCE
#include "hostile.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static const struct function functions[] = {
#define FUNCTION(name, parameters) {#name, (any)(uintptr_t)name, parameters},
#include "functions.h"
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static struct plan common, own;
static jmp_buf again;
static pthread_t first_thread;
static int is_verbose;
static __thread int depth;

static void call_any(struct plan *plan, struct plan *twist);

/* What a function of the program does that MPI calls: nothing, more calls, or it does not return. */
static void be_called(void) {
    switch (below(&own, 12)) {
    case 0:
        if (depth < 3) {
            depth++;
            call_any(&own, &own);
            depth--;
        }
        break;
    case 1:
        if (pthread_equal(pthread_self(), first_thread)) longjmp(again, 1);
        break;
    }
}
static void operate(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)in, (void)inout, (void)count, (void)type;
    be_called();
}
static void operate_c(void *in, void *inout, MPI_Count *count, MPI_Datatype *type) {
    (void)in, (void)inout, (void)count, (void)type;
    be_called();
}
static int copy_attribute(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra;
    be_called();
    *(void **)out = in;
    *flag = below(&own, 2);
    return below(&own, 8) ? MPI_SUCCESS : MPI_ERR_OTHER;
}
static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    be_called();
    return below(&own, 8) ? MPI_SUCCESS : MPI_ERR_OTHER;
}
static int copy_of_type(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag) {
    (void)type;
    return copy_attribute(MPI_COMM_NULL, key, extra, in, out, flag);
}
static int delete_of_type(MPI_Datatype type, int key, void *value, void *extra) {
    (void)type;
    return delete_attribute(MPI_COMM_NULL, key, value, extra);
}
static void handle_error(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    be_called();
}

uint64_t function_of(struct plan *plan, const char *type) {
    static const struct {
        const char *type;
        uint64_t function;
    } known[] = {
        {"MPI_User_function_c", (uint64_t)(uintptr_t)operate_c},
        {"MPI_User_function", (uint64_t)(uintptr_t)operate},
        {"MPI_Comm_copy_attr_function", (uint64_t)(uintptr_t)copy_attribute},
        {"MPI_Comm_delete_attr_function", (uint64_t)(uintptr_t)delete_attribute},
        {"MPI_Copy_function", (uint64_t)(uintptr_t)copy_attribute},
        {"MPI_Delete_function", (uint64_t)(uintptr_t)delete_attribute},
        {"MPI_Type_copy_attr_function", (uint64_t)(uintptr_t)copy_of_type},
        {"MPI_Type_delete_attr_function", (uint64_t)(uintptr_t)delete_of_type},
        {"MPI_Comm_errhandler_function", (uint64_t)(uintptr_t)handle_error},
    };
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(type, known[i].type))
            return below(plan, 6) ? known[i].function : (uint64_t)below(plan, 2);
    return 0;
}

/* One call. Where the ranks' common plan and a rank's own twist part, one rank says something else. */
static void call_any(struct plan *plan, struct plan *twist) {
    const struct function *f = &functions[below(plan, FUNCTIONS)];
    uint64_t a[ARGUMENTS_MAX] = {0};
    char parameters[1024], *rest = parameters;
    int count = 0;

    if (!strcmp(f->name, "MPI_Finalize") || !strcmp(f->name, "MPI_Abort")) return;
    snprintf(parameters, sizeof parameters, "%s", f->parameters);
    for (char *one; (one = strsep(&rest, ",")) && strcmp(one, "void") && count < ARGUMENTS_MAX;) {
        struct plan *from = below(twist, 25) ? plan : twist;
        a[count++] = argument(from, one);
    }
    if (is_verbose) {
        fprintf(stderr, "%d: %s", own_rank, f->name);
        for (int i = 0; i < count; i++) fprintf(stderr, " %#llx", (unsigned long long)a[i]);
        fputc('\n', stderr);
    }
    f->call(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]);
}

static void *call_beside(void *calls) {
    struct plan plan = {own.state ^ 77}, twist = plan;

    for (int left = below(&plan, *(int *)calls + 1); left > 0; left--) call_any(&plan, &twist);
    return NULL;
}

static void on_alarm(int signal) {
    (void)signal;
    if (own.state % 3 == 0) MPI_Wtime();
}

static void ring_often(void) {
    const struct itimerval often = {{0, 700}, {0, 700}};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = own.state % 2 ? SA_RESTART : 0};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

int main(int argc, char **argv) {
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    static int calls;
    static volatile int left;
    pthread_t thread;
    int provided;
    static int threads;

    calls = argc > 2 ? atoi(argv[2]) : 60;
    is_verbose = getenv("HOSTILE_VERBOSE") != NULL;
    first_thread = pthread_self();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    common.state = seed * 1000003;
    own.state = common.state + 17 + (uint64_t)own_rank;
    make_room();
    if (below(&common, 8)) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    }
    if (below(&common, 4) == 0) threads = !pthread_create(&thread, NULL, call_beside, &calls);
    if (below(&common, 4) == 0) ring_often();
    left = calls;
    setjmp(again);
    depth = 0;
    while (left > 0) {
        left = left - 1;
        call_any(&common, &own);
    }
    if (threads) pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
