/* Requests of two messages, what persistent requests keep, communicators of a group alone, statuses
 * without completion, attributes that refuse to go. */
#include "say.h"

static void both_ways(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    int out[3] = {rank, 2 * rank, 3 * rank}, in[3] = {-1, -1, -1};
    MPI_Request requests[3];
    MPI_Isendrecv(out, 3, MPI_INT, next, 5, in, 3, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD,
                  &requests[0]);
    /* Its status is that of the receive; MPICH 5.0 tells another's. */
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    say_ints("isendrecv", in, 3);
    MPI_Isendrecv_replace(out, 2, MPI_INT, previous, 6, next, 6, MPI_COMM_WORLD, &requests[1]);
    MPI_Isendrecv(in, 1, MPI_INT, MPI_PROC_NULL, 6, in + 1, 1, MPI_INT, MPI_PROC_NULL, 6,
                  MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    say_ints("replaced", out, 3);
}

static int sizes_seen[2];

static void sum_of_pairs(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int bytes = -1;
    MPI_Type_size(*type, &bytes);
    sizes_seen[bytes != 2 * sizeof(int)]++;
    for (int i = 0; i < 2 * *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* A function of the program gets the type of its operation, which is free already. */
static void kept_for_operations(void)
{
    MPI_Datatype pair, other;
    MPI_Op op;
    MPI_Request request;
    int in[4] = {rank, 1, 2 * rank, 2}, out[4] = {0};
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(sum_of_pairs, 1, &op);
    MPI_Iallreduce(in, out, 2, pair, op, MPI_COMM_WORLD, &request);
    MPI_Type_free(&pair);
    MPI_Op_free(&op);
    MPI_Type_contiguous(100, MPI_DOUBLE, &other);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&other);
    say_ints("sums of pairs", out, 4);
    say("something else: %d", sizes_seen[1]);
}

/* Types, operations and communicators may be freed while a request needs them. */
static void kept(void)
{
    MPI_Datatype spread;
    MPI_Comm comm;
    MPI_Request requests[2], sum;
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, out[4], in[4];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_vector(2, 1, 2, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    MPI_Send_init(out, 1, spread, next, 1, comm, &requests[0]);
    MPI_Recv_init(in, 2, MPI_INT, previous, 1, comm, &requests[1]);
    MPI_Allreduce_init(out, in + 2, 2, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &sum);
    MPI_Comm_free(&comm);
    MPI_Type_free(&spread);
    for (int turn = 1; turn <= 3; turn++) {
        for (int i = 0; i < 4; i++)
            out[i] = turn * (10 * rank + i);
        MPI_Startall(2, requests);
        MPI_Start(&sum);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Wait(&sum, MPI_STATUS_IGNORE);
        say_ints("kept", in, 4);
    }
    for (int i = 0; i < 2; i++)
        MPI_Request_free(&requests[i]);
    MPI_Request_free(&sum);
    /* Persistent collectives may be started in another order than they were made in. */
    int one = 1, values[2] = {rank, -1};
    MPI_Request made[2];
    MPI_Bcast_init(&one, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &made[0]);
    MPI_Bcast_init(values, 2, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &made[1]);
    one += rank;
    MPI_Start(&made[rank % 2]);
    MPI_Start(&made[1 - rank % 2]);
    MPI_Waitall(2, made, MPI_STATUSES_IGNORE);
    say("in any order: %d %d %d", one, values[0], values[1]);
    MPI_Request_free(&made[0]);
    MPI_Request_free(&made[1]);
    /* The arrays of a persistent collective may serve something else once it is made. */
    int counts[16], places[16], mine[32], theirs[32];
    for (int i = 0; i < size; i++)
        counts[i] = 2, places[i] = 2 * i;
    for (int i = 0; i < 2 * size; i++)
        mine[i] = 100 * rank + i, theirs[i] = -1;
    MPI_Alltoallv_init(mine, counts, places, MPI_INT, theirs, counts, places, MPI_INT,
                       MPI_COMM_WORLD, MPI_INFO_NULL, &sum);
    for (int i = 0; i < size; i++)
        counts[i] = -1, places[i] = 1 << 30;
    MPI_Start(&sum);
    MPI_Wait(&sum, MPI_STATUS_IGNORE);
    MPI_Request_free(&sum);
    say_ints("arrays that changed", theirs, 2 * size);
    /* A communicator that is freed while messages are under way. */
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Irecv(in, 1, MPI_INT, previous, 2, comm, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, next, 2, comm, &requests[1]);
    MPI_Comm_free(&comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    say("after the communicator: %d", in[0]);
}

static void statuses(void)
{
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status all[3] = {{.MPI_ERROR = MPI_ERR_OTHER}};
    int flag, index, number, indices[3], in[2];
    MPI_Request_get_status_any(3, requests, &index, &flag, all);
    say("any of none: %d %d, no error %d", flag, index == MPI_UNDEFINED,
        all[0].MPI_ERROR == MPI_SUCCESS);
    MPI_Irecv(&in[0], 1, MPI_INT, rank, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &requests[2]);
    MPI_Request_get_status_all(3, requests, &flag, all);
    say("all: %d", flag);
    MPI_Request_get_status_some(3, requests, &number, indices, all);
    say("some: %d", number);
    MPI_Send(&rank, 1, MPI_INT, rank, 9, MPI_COMM_WORLD);
    do
        MPI_Request_get_status_any(3, requests, &index, &flag, all);
    while (!flag);
    say("any: %d tag %d", index, all[0].MPI_TAG);
    MPI_Request_get_status_some(3, requests, &number, indices, all);
    say("some: %d index %d tag %d", number, indices[0], all[0].MPI_TAG);
    MPI_Send(&rank, 1, MPI_INT, rank, 8, MPI_COMM_WORLD);
    do
        MPI_Request_get_status_all(3, requests, &flag, all);
    while (!flag);
    say("all: tags %d %d, still there %d", all[0].MPI_TAG, all[2].MPI_TAG,
        requests[0] != MPI_REQUEST_NULL);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

/* Communicators that only the members of a group make. */
static void groups(void)
{
    MPI_Group all, odd;
    MPI_Comm comm, copy;
    MPI_Request request;
    int ranks[16], n = 0, sum, one = 1;
    for (int i = 1; i < size; i += 2)
        ranks[n++] = i;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, n, ranks, &odd);
    if (rank % 2) {
        MPI_Comm_create_group(MPI_COMM_WORLD, odd, 3, &comm);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        say("odd ones: %d", sum);
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Comm_idup_with_info(comm, info, &copy, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
        say("copy: %d", sum);
        MPI_Info_free(&info);
        MPI_Comm_free(&copy);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_create_group(MPI_COMM_WORLD, all, 4, &comm);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    say("all: %d", sum);
    MPI_Comm_free(&comm);
    MPI_Comm_get_parent(&comm);
    say("parent: %d", comm != MPI_COMM_NULL);
}

static int refusals;

static int refuse(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return refusals-- > 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int refuse_type(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    return refuse(MPI_COMM_NULL, key, value, extra);
}

static int say_deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    say("deleted: %s", (char *)value);
    return MPI_SUCCESS;
}

static int refuse_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

static void attributes(void)
{
    int key, other, found, error;
    void *value;
    MPI_Comm comm, copy;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_attr(comm, key, "attached");
    refusals = 1;
    error = MPI_Comm_delete_attr(comm, key);
    MPI_Comm_get_attr(comm, key, &value, &found);
    say("refused %d, still there %d", error != MPI_SUCCESS, found);
    other = key;
    MPI_Comm_free_keyval(&other);
    MPI_Comm_get_attr(comm, key, &value, &found);
    say("a key that was freed: %d %s", found, found ? (char *)value : "");
    refusals = 1;
    error = MPI_Comm_free(&comm);
    say("not freed %d", error != MPI_SUCCESS && comm != MPI_COMM_NULL);
    error = MPI_Comm_free(&comm);
    say("freed %d", error == MPI_SUCCESS && comm == MPI_COMM_NULL);
    MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, key, "attached");
    error = MPI_Comm_dup(comm, &copy);
    say("not copied %d %d", error != MPI_SUCCESS, copy == MPI_COMM_NULL);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&comm);
    MPI_Datatype type;
    MPI_Type_dup(MPI_INT, &type);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, refuse_type, &key, NULL);
    MPI_Type_set_attr(type, key, "old");
    refusals = 1;
    error = MPI_Type_set_attr(type, key, "new");
    MPI_Type_get_attr(type, key, &value, &found);
    say("not replaced %d: %s", error != MPI_SUCCESS, found ? (char *)value : "");
    MPI_Type_free(&type);
    /* What was attached last is deleted first, whatever the keys. */
    int keys[3];
    char *names[3] = {"first", "second", "third"}, name[MPI_MAX_OBJECT_NAME];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 2; i >= 0; i--)
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, say_deleted, &keys[i], NULL);
    for (int i = 0; i < 3; i++)
        MPI_Comm_set_attr(comm, keys[(i + 1) % 3], names[i]);
    MPI_Comm_free(&comm);
    MPI_Comm_get_name(MPI_COMM_NULL, name, &found);
    say("%s", name);
    MPI_Type_get_name(MPI_DATATYPE_NULL, name, &found);
    say("%s", name);
}

static void errors(void)
{
    int class, code, other, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "out of tea");
    MPI_Error_class(code, &other);
    MPI_Error_string(code, text, &length);
    say("class %d '%s'", other == class, text);
    say("a code with a text stays: %d", MPI_Remove_error_code(code) != MPI_SUCCESS);
    MPI_Remove_error_string(code);
    MPI_Error_string(code, text, &length);
    say("'%s' %d", text, length);
    int wrong = MPI_Remove_error_class(class);
    say("a class with codes stays: %d", wrong != MPI_SUCCESS);
    say("removed: %d", MPI_Remove_error_code(code) == MPI_SUCCESS);
    say("removed: %d", MPI_Remove_error_class(class) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    both_ways();
    kept();
    kept_for_operations();
    statuses();
    groups();
    attributes();
    errors();
    return end();
}
