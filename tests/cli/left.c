/* A program that leaves functions which MPI has called, or calls MPI in them: MODE N.
 *   nested N     a reduction that reduces, N deep
 *   handler N    an error handler whose call fails again, N deep
 *   jump N       leaves a reduction by longjmp, N times
 *   error N      leaves an error handler by longjmp, N times
 *   copy N       leaves the function that copies an attribute, N times
 *   talks        communicates in a reduction */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int depth, deepest, times;
static MPI_Op op;
static jmp_buf out;

static void nested(void *in, void *inout, int *count, MPI_Datatype *type) {
    int x[2000] = {1}, y[2000] = {1};

    (void)in, (void)type;
    if (++depth < deepest) MPI_Reduce_local(x, y, depth % 2 ? 1 : 2000, MPI_INT, op);
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += 1;
}

static void handle(MPI_Comm *comm, int *code, ...) {
    (void)code;
    if (++depth < deepest) MPI_Send(&depth, 1, MPI_INT, 99, 0, *comm);
}

static void jump(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)in, (void)inout, (void)count, (void)type;
    longjmp(out, 1);
}

static void jump_in_handler(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    longjmp(out, 1);
}

static int jump_in_copy(MPI_Comm comm, int key, void *extra, void *in, void *copy, int *flag) {
    (void)comm, (void)key, (void)extra, (void)in, (void)copy, (void)flag;
    longjmp(out, 1);
}

static void talk(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)in, (void)inout, (void)count, (void)type;
    MPI_Barrier(MPI_COMM_SELF);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    int rank, x[2] = {1, 1}, y[2] = {1, 1}, key;
    volatile int left = argc > 2 ? atoi(argv[2]) : 1;
    MPI_Comm copy;
    MPI_Errhandler handler;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    deepest = left;
    if (!strcmp(mode, "nested")) {
        MPI_Op_create(nested, 1, &op);
        MPI_Reduce_local(x, y, 2, MPI_INT, op);
        printf("%d deep, %d\n", depth, y[1]);
    } else if (!strcmp(mode, "handler")) {
        MPI_Comm_create_errhandler(handle, &handler);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        MPI_Send(x, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
        printf("%d deep\n", depth);
    } else if (!strcmp(mode, "jump")) {
        MPI_Op_create(jump, 1, &op);
        for (; left > 0; left--)
            if (!setjmp(out))
                MPI_Reduce_local(x, y, 1, MPI_INT, op);
            else
                times++;
        MPI_Allreduce(&times, y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        printf("left %d times, %d\n", times, y[0] / times);
    } else if (!strcmp(mode, "error")) {
        MPI_Comm_create_errhandler(jump_in_handler, &handler);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        for (; left > 0; left--)
            if (!setjmp(out))
                MPI_Send(x, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
            else
                times++;
        printf("left %d times\n", times);
    } else if (!strcmp(mode, "copy")) {
        MPI_Comm_create_keyval(jump_in_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, x);
        for (; left > 0; left--)
            if (!setjmp(out))
                MPI_Comm_dup(MPI_COMM_SELF, &copy);
            else
                times++;
        printf("left %d times\n", times);
    } else if (!strcmp(mode, "talks")) {
        MPI_Op_create(talk, 1, &op);
        MPI_Allreduce(x, y, 1, MPI_INT, op, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
