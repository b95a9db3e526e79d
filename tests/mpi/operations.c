/* Operations of the program, and what else it has the library call. */
#include "say.h"

/* Multiplies 2x2 matrices: does not commute. */
static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int bytes;
    MPI_Type_size(*type, &bytes);
    if (bytes != 16)
        MPI_Abort(MPI_COMM_WORLD, 9);
    unsigned *a = in, *b = inout;
    for (int i = 0; i < *count; i++, a += 4, b += 4) {
        unsigned c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                         a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        memcpy(b, c, sizeof c);
    }
}

/* Adds every second int: the type has holes. */
static void add_gapped(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *count; i++) {
        int *a = (int *)((char *)in + i * extent), *b = (int *)((char *)inout + i * extent);
        b[0] += a[0];
        b[2] += a[2];
    }
}

static void large(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)
{
    (void)type;
    for (MPI_Count i = 0; i < *count; i++)
        ((int *)inout)[i] ^= ((int *)in)[i];
}

static int copied, deleted, handled;

static int copy_attribute(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key;
    copied += *(int *)extra;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    deleted += (int)(long)value;
    return MPI_SUCCESS;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    int class, me;
    MPI_Comm_rank(*comm, &me);
    MPI_Error_class(*code, &class);
    handled = 100 * (me == rank) + (class == MPI_ERR_RANK);
}

static void reductions(void)
{
    MPI_Op matrix, gapped, bits;
    MPI_Datatype square, holes, wide;
    MPI_Op_create(multiply, 0, &matrix);
    MPI_Type_contiguous(4, MPI_UNSIGNED, &square);
    MPI_Type_commit(&square);
    unsigned own[12], result[12], after[12];
    for (int i = 0; i < 12; i++)
        own[i] = (rank + 2) * (i + 3) + i * i;
    int commutes;
    MPI_Op_commutative(matrix, &commutes);
    say("commutes %d", commutes);
    for (int root = 0; root < size; root++) {
        memset(result, 0, sizeof result);
        MPI_Reduce(own, result, 3, square, matrix, root, MPI_COMM_WORLD);
        say("reduce to %d: %08x", root, hash(result, sizeof result));
    }
    MPI_Allreduce(own, result, 3, square, matrix, MPI_COMM_WORLD);
    say("allreduce: %08x", hash(result, sizeof result));
    MPI_Scan(own, result, 3, square, matrix, MPI_COMM_WORLD);
    say("scan: %08x", hash(result, sizeof result));
    memset(result, 0, sizeof result);
    MPI_Exscan(own, result, 3, square, matrix, MPI_COMM_WORLD);
    say("exscan: %08x", rank ? hash(result, sizeof result) : 0);
    unsigned *many = malloc(size * sizeof own), *share = malloc(sizeof own);
    for (int i = 0; i < 4 * size; i++)
        many[i] = i + 7 * rank + 1;
    MPI_Reduce_scatter_block(many, share, 1, square, matrix, MPI_COMM_WORLD);
    say("reduce_scatter_block: %08x", hash(share, 16));
    memcpy(after, own, sizeof own);
    MPI_Reduce_local(result, after, 3, square, matrix);
    say("local: %08x", rank ? hash(after, sizeof after) : 0);

    MPI_Op_create(add_gapped, 1, &gapped);
    MPI_Type_vector(2, 1, 2, MPI_INT, &holes);
    MPI_Type_create_resized(holes, 0, 16, &wide);
    MPI_Type_commit(&wide);
    int in[8], out[8];
    for (int i = 0; i < 8; i++) {
        in[i] = rank * 10 + i;
        out[i] = -7;
    }
    MPI_Allreduce(in, out, 2, wide, gapped, MPI_COMM_WORLD);
    say_ints("gapped", out, 8);
    MPI_Op_create_c(large, 1, &bits);
    MPI_Allreduce(in, out, 8, MPI_INT, bits, MPI_COMM_WORLD);
    say_ints("large", out, 8);
    MPI_Op_free(&bits);
    MPI_Op_free(&gapped);
    MPI_Op_free(&matrix);
    say("freed %d", matrix == MPI_OP_NULL);
    free(many);
    free(share);
}

/* Whether a call is refused for its buffers; on all ranks, so that none waits for another. */
#define CLASS(function, ...) \
    do { \
        int class_; \
        MPI_Error_class(MPI_##function(__VA_ARGS__), &class_); \
        say(#function " of one buffer: %d", class_ == MPI_ERR_BUFFER); \
    } while (0)

/* One buffer to send and to receive, which is an error, and what is none. */
static void one_buffer(void)
{
    static int a[400], counts[16], places[16], none[16];
    static MPI_Datatype types[16];
    MPI_Comm all = MPI_COMM_WORLD, self = MPI_COMM_SELF;
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
    for (int i = 0; i < size; i++) {
        counts[i] = 2;
        places[i] = 100 + 2 * i;
        types[i] = MPI_INT;
    }
    CLASS(Allreduce, a, a, 2, MPI_INT, MPI_SUM, all);
    CLASS(Reduce, a, a, 2, MPI_INT, MPI_SUM, 0, self);
    CLASS(Scan, a, a, 2, MPI_INT, MPI_SUM, all);
    CLASS(Exscan, a, a, 2, MPI_INT, MPI_SUM, all);
    CLASS(Reduce_scatter_block, a, a, 2, MPI_INT, MPI_SUM, all);
    CLASS(Reduce_scatter, a, a, counts, MPI_INT, MPI_SUM, all);
    CLASS(Gather, a, 2, MPI_INT, a, 2, MPI_INT, 0, self);
    CLASS(Gatherv, a + 100, 2, MPI_INT, a, counts, places, MPI_INT, 0, self);
    CLASS(Scatter, a, 2, MPI_INT, a, 2, MPI_INT, 0, self);
    CLASS(Scatterv, a, counts, places, MPI_INT, a + 100, 2, MPI_INT, 0, self);
    CLASS(Allgather, a + 2 * rank, 2, MPI_INT, a, 2, MPI_INT, all);
    CLASS(Allgatherv, a + 100 + 2 * rank, 2, MPI_INT, a, counts, places, MPI_INT, all);
    CLASS(Alltoall, a, 2, MPI_INT, a, 2, MPI_INT, all);
    CLASS(Alltoallv, a, counts, places, MPI_INT, a, counts, places, MPI_INT, all);
    CLASS(Alltoallw, a, counts, places, types, a, counts, places, types, all);
    CLASS(Reduce_local, a, a, 2, MPI_INT, MPI_SUM);
    MPI_Request request = MPI_REQUEST_NULL;
    CLASS(Iallreduce, a, a, 2, MPI_INT, MPI_SUM, all, &request);
    CLASS(Ialltoall, a, 2, MPI_INT, a, 2, MPI_INT, all, &request);
    CLASS(Allreduce, a, a, 0, MPI_INT, MPI_SUM, all);
    CLASS(Allreduce, MPI_IN_PLACE, a, 2, MPI_INT, MPI_SUM, all);
    CLASS(Reduce, a, rank == 0 ? a + 2 : a, 2, MPI_INT, MPI_SUM, 0, all);
    CLASS(Reduce_scatter, a, a, none, MPI_INT, MPI_SUM, all);
    CLASS(Gather, a, 0, MPI_INT, a, 0, MPI_INT, 0, all);
    CLASS(Gatherv, a, 2, MPI_INT, a, counts, places, MPI_INT, 0, all);
    CLASS(Scatterv, a, none, places, MPI_INT, a, 0, MPI_INT, 0, all);
    CLASS(Allgather, a, 0, MPI_INT, a, 0, MPI_INT, all);
    CLASS(Allgatherv, a, 2, MPI_INT, a, counts, places, MPI_INT, all);
    CLASS(Alltoall, a, 0, MPI_INT, a, 0, MPI_INT, all);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    reductions();

    int key, flag, *number, extra = 10;
    void *value;
    MPI_Comm copy;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &number, &flag);
    say("tag_ub %d %d", flag, *number >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &number, &flag);
    say("wtime_is_global %d", flag);
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, &extra);
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
    say("nothing attached %d", flag);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, (void *)41);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_attr(copy, key, &value, &flag);
    say("in the copy %d %ld, copied %d", flag, (long)value, copied);
    MPI_Comm_set_attr(copy, key, (void *)5);
    say("replaced, deleted %d", deleted);
    MPI_Comm_free(&copy);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    say("deleted %d", deleted);
    MPI_Comm_free_keyval(&key);
    say("key %d", key == MPI_KEYVAL_INVALID);

    MPI_Errhandler handler, current;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &current);
    say("handler %d", current == handler);
    /* What the call returns when its handler has returned, the standard leaves open. */
    MPI_Send(&flag, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
    say("handled %d", handled);
    MPI_Errhandler_free(&handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &current);
    say("abort: %d", current == MPI_ERRORS_ABORT);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int class, code = MPI_Bcast(&flag, -1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    say("count %d", class == MPI_ERR_COUNT);
    code = MPI_Reduce(&flag, &key, 1, MPI_INT, MPI_SUM, size, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    say("root %d", class == MPI_ERR_ROOT);
    code = MPI_Recv(&flag, 1, MPI_INT, 0, -77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    say("tag %d", class == MPI_ERR_TAG);
    code = MPI_Send(&flag, 1, MPI_INT, MPI_PROC_NULL, -3, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    say("tag to nobody %d", class == MPI_ERR_TAG);
    MPI_Op sum = MPI_SUM;
    MPI_Error_class(MPI_Op_free(&sum), &class);
    say("predefined %d %d", class == MPI_ERR_OP, sum == MPI_SUM);
    one_buffer();
    int mine;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "out of cheese");
    MPI_Error_class(code, &mine);
    MPI_Error_string(code, text, &flag);
    say("own class %d, %s", mine == class, text);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return end();
}
