/* Arguments of Fortran as C has them. */
#include "fortran.h"

#include <stdio.h>
#include <string.h>

/* --- addresses with a meaning --- */

void *data_of(void *data)
{
    if (data == mpi_fortran_bottom_)
        return MPI_BOTTOM;
    if (data == mpi_fortran_in_place_)
        return MPI_IN_PLACE;
    if (data == mpi_fortran_buffer_automatic_)
        return MPI_BUFFER_AUTOMATIC;
    return data;
}

int *weights_of(int *weights)
{
    if (weights == mpi_fortran_unweighted_)
        return MPI_UNWEIGHTED;
    if (weights == mpi_fortran_weights_empty_)
        return MPI_WEIGHTS_EMPTY;
    return weights;
}

/* A status has the same words in both languages. */
_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(int), "MPI_STATUS_SIZE");

MPI_Status *status_of(int *status)
{
    return status == mpi_fortran_status_ignore_ ? MPI_STATUS_IGNORE : (MPI_Status *)status;
}

MPI_Status *statuses_of(int *statuses)
{
    return statuses == mpi_fortran_statuses_ignore_ ? MPI_STATUSES_IGNORE : (MPI_Status *)statuses;
}

/* --- memory --- */

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (!memory) {
        fprintf(stderr, "no memory is left for the arguments of an MPI procedure\n");
        abort();
    }
    return memory;
}

/* --- text --- */

char *word_in(const char *text, size_t length)
{
    while (length > 0 && *text == ' ')
        text++, length--;
    return text_in(text, length);
}

char *text_in(const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == ' ')
        length--;
    char *copy = allocate(length + 1);
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

void text_out(const char *text, char *to, size_t length)
{
    const char *end = memchr(text, 0, length);
    const size_t there = end ? (size_t)(end - text) : length;
    memcpy(to, text, there);
    memset(to + there, ' ', length - there);
}

/* --- arrays of handles --- */

#define ARRAYS(noun, kind, stem)                                                                   \
    kind *noun##_in(int count, const int *handles)                                                 \
    {                                                                                              \
        kind *list = allocate(count > 0 ? (size_t)count * sizeof *list : 0);                       \
        for (int i = 0; i < count; i++)                                                            \
            list[i] = stem##_fromint(handles[i]);                                                  \
        return list;                                                                               \
    }                                                                                              \
    void noun##_out(int count, const kind *list, int *handles)                                     \
    {                                                                                              \
        for (int i = 0; i < count; i++)                                                            \
            handles[i] = stem##_toint(list[i]);                                                    \
    }

ARRAYS(requests, MPI_Request, MPI_Request)
ARRAYS(types, MPI_Datatype, MPI_Type)

/* Arrays that were kept, each once: programs use few different ones. */
static struct kept {
    struct kept *next;
    int count;
    MPI_Datatype *types;
} *kept;

MPI_Datatype *types_kept(int count, const int *handles)
{
    const size_t bytes = count > 0 ? (size_t)count * sizeof *kept->types : 0;
    MPI_Datatype *types = types_in(count, handles);
    for (const struct kept *one = kept; one; one = one->next) {
        if (one->count == count && memcmp(one->types, types, bytes) == 0) {
            free(types);
            return one->types;
        }
    }
    struct kept *one = allocate(sizeof *one);
    *one = (struct kept){kept, count, types};
    kept = one;
    return types;
}

int size_of(int comm)
{
    int size = 0;
    MPI_Comm_size(MPI_Comm_fromint(comm), &size);
    return size;
}

static void neighbors(int comm, int *in, int *out)
{
    const MPI_Comm c_comm = MPI_Comm_fromint(comm);
    int topology = MPI_UNDEFINED, rank = 0, weighted = 0;
    *in = *out = 0;
    MPI_Topo_test(c_comm, &topology);
    MPI_Comm_rank(c_comm, &rank);
    if (topology == MPI_DIST_GRAPH)
        MPI_Dist_graph_neighbors_count(c_comm, in, out, &weighted);
    else if (topology == MPI_GRAPH)
        MPI_Graph_neighbors_count(c_comm, rank, in);
    else if (topology == MPI_CART && MPI_Cartdim_get(c_comm, in) == MPI_SUCCESS)
        *in *= 2;
    if (topology != MPI_DIST_GRAPH)
        *out = *in;
}

int indegree_of(int comm)
{
    int in, out;
    neighbors(comm, &in, &out);
    return in;
}

int outdegree_of(int comm)
{
    int in, out;
    neighbors(comm, &in, &out);
    return out;
}

void count_from_1(int count, int *indices)
{
    for (int i = 0; i < count; i++)
        if (indices[i] != MPI_UNDEFINED)
            indices[i]++;
}
