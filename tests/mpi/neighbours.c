/* Graphs, and collective operations of neighbours in graphs and grids. */
#include "say.h"

enum { MOST = 16 };

static void say_neighbours(MPI_Comm comm)
{
    int in, out, weighted, from[MOST], to[MOST], in_weights[MOST], out_weights[MOST];
    MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    memset(in_weights, 0, sizeof in_weights);
    memset(out_weights, 0, sizeof out_weights);
    MPI_Dist_graph_neighbors(comm, in, from, weighted ? in_weights : MPI_UNWEIGHTED, out, to,
                             weighted ? out_weights : MPI_UNWEIGHTED);
    say("in %d out %d weighted %d", in, out, weighted);
    say_ints("from", from, in);
    say_ints("with", in_weights, in);
    say_ints("to", to, out);
    say_ints("with", out_weights, out);
}

/* Every form of exchange on a communicator with a topology: in gets what the neighbours send. */
static void exchange(const char *what, MPI_Comm comm, int in, int out)
{
    int mine[2 * MOST], theirs[3 * MOST], counts[MOST], places[MOST], in_counts[MOST];
    int in_places[MOST], me;
    MPI_Comm_rank(comm, &me);
    for (int i = 0; i < 2 * MOST; i++)
        mine[i] = 1000 * me + i;
    memset(theirs, -1, sizeof theirs);
    MPI_Neighbor_allgather(mine, 2, MPI_INT, theirs, 2, MPI_INT, comm);
    say_ints(what, theirs, 2 * in);
    for (int i = 0; i < in; i++)
        in_counts[i] = 2, in_places[i] = 3 * (in - 1 - i);
    memset(theirs, -1, sizeof theirs);
    MPI_Neighbor_allgatherv(mine + 1, 2, MPI_INT, theirs, in_counts, in_places, MPI_INT, comm);
    say_ints("allgatherv", theirs, 3 * in);
    memset(theirs, -1, sizeof theirs);
    MPI_Neighbor_alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, comm);
    say_ints("alltoall", theirs, in);
    for (int i = 0; i < out; i++)
        counts[i] = 2, places[i] = i;
    memset(theirs, -1, sizeof theirs);
    MPI_Request request;
    MPI_Ineighbor_alltoallv(mine, counts, places, MPI_INT, theirs, in_counts, in_places, MPI_INT,
                            comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say_ints("alltoallv", theirs, 3 * in);

    MPI_Aint out_bytes[MOST], in_bytes[MOST];
    MPI_Datatype out_types[MOST], in_types[MOST], pair;
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int i = 0; i < out; i++)
        counts[i] = 1, out_bytes[i] = 4 * i, out_types[i] = pair;
    for (int i = 0; i < in; i++)
        in_counts[i] = 2, in_bytes[i] = 12 * i, in_types[i] = MPI_INT;
    MPI_Neighbor_alltoallw_init(mine, counts, out_bytes, out_types, theirs, in_counts, in_bytes,
                                in_types, comm, MPI_INFO_NULL, &request);
    for (int turn = 0; turn < 2; turn++) {
        memset(theirs, -1, sizeof theirs);
        mine[0] = 7 - turn;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        say_ints("alltoallw", theirs, 3 * in);
    }
    MPI_Request_free(&request);
    MPI_Type_free(&pair);
}

static void ring(void)
{
    int from[2] = {(rank + size - 1) % size, rank}, to[2] = {(rank + 1) % size, rank};
    int weights[2] = {rank, 10 + rank}, others[2] = {(rank + size - 1) % size, 10 + rank};
    MPI_Comm comm, copy;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, others, 2, to, weights, MPI_INFO_NULL,
                                   0, &comm);
    say_neighbours(comm);
    int kind;
    MPI_Topo_test(comm, &kind);
    say("distributed %d", kind == MPI_DIST_GRAPH);
    exchange("adjacent", comm, 2, 2);
    MPI_Comm_dup(comm, &copy);
    say_neighbours(copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
    /* Rank 0 names all edges of a star to itself; the others none. */
    int degree = size, root[1] = {0}, ends[MOST], values[MOST];
    for (int i = 0; i < size; i++)
        ends[i] = i, values[i] = 3 * i;
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0, root, &degree, ends, values, MPI_INFO_NULL, 0,
                          &comm);
    say_neighbours(comm);
    exchange("star", comm, 1, rank == 0 ? size : 0);
    MPI_Comm_free(&comm);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
                                   MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm);
    say_neighbours(comm);
    MPI_Comm_free(&comm);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    say_neighbours(comm);
    MPI_Comm_free(&comm);
}

/* A chain of all ranks but the last: each has its neighbours. */
static void chain(void)
{
    int nodes = size > 1 ? size - 1 : 1, index[MOST], edges[2 * MOST], end = 0, place;
    for (int i = 0; i < nodes; i++) {
        if (i > 0)
            edges[end++] = i - 1;
        if (i < nodes - 1)
            edges[end++] = i + 1;
        index[i] = end;
    }
    MPI_Graph_map(MPI_COMM_WORLD, nodes, index, edges, &place);
    say("place %d", place == MPI_UNDEFINED ? -1 : place);
    MPI_Comm comm;
    MPI_Graph_create(MPI_COMM_WORLD, nodes, index, edges, 0, &comm);
    if (comm == MPI_COMM_NULL) {
        say("not in the chain");
        return;
    }
    int kind, got_nodes, got_edges, neighbours, list[MOST];
    MPI_Topo_test(comm, &kind);
    MPI_Graphdims_get(comm, &got_nodes, &got_edges);
    say("graph %d nodes %d edges %d", kind == MPI_GRAPH, got_nodes, got_edges);
    int got_index[MOST], got[2 * MOST];
    MPI_Graph_get(comm, got_nodes, got_edges, got_index, got);
    say_ints("index", got_index, got_nodes);
    say_ints("edges", got, got_edges);
    for (int i = 0; i < got_nodes; i++) {
        MPI_Graph_neighbors_count(comm, i, &neighbours);
        MPI_Graph_neighbors(comm, i, MOST, list);
        say_ints("neighbours", list, neighbours);
    }
    MPI_Comm_rank(comm, &kind);
    MPI_Graph_neighbors_count(comm, kind, &neighbours);
    exchange("chain", comm, neighbours, neighbours);
    MPI_Comm_free(&comm);
}

static void grid(int periodic)
{
    int dims[2] = {0, 0}, periods[2] = {periodic, 0};
    MPI_Comm comm;
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm);
    exchange(periodic ? "ring by line" : "grid", comm, 4, 4);
    MPI_Comm_free(&comm);
}

/* All to all with a type of its own for each pair, in place as well. */
static void alltoallw(void)
{
    int mine[MOST][4], theirs[MOST][4], counts[MOST], in_counts[MOST], places[MOST];
    MPI_Datatype types[MOST], in_types[MOST], spread;
    MPI_Type_vector(2, 1, 2, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < 4; k++)
            mine[i][k] = 100 * rank + 10 * i + k;
        counts[i] = (rank + i) % 2 ? 1 : 2;
        types[i] = (rank + i) % 2 ? spread : MPI_INT;
        in_counts[i] = 2, in_types[i] = MPI_INT, places[i] = 16 * i;
    }
    memset(theirs, -1, sizeof theirs);
    MPI_Alltoallw(mine, counts, places, types, theirs, in_counts, places, in_types, MPI_COMM_WORLD);
    say_ints("alltoallw", theirs[0], 4 * size);
    MPI_Request request;
    MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, mine, counts, places, types, MPI_COMM_WORLD,
                   &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say_ints("in place", mine[0], 4 * size);
    MPI_Type_free(&spread);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    ring();
    chain();
    grid(0);
    grid(1);
    alltoallw();
    return end();
}
