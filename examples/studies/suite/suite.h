/* What the programs of `sunstar bench suite` share. Each prints a table: a line of names, and lines of as
 * many numbers, the first of which is the curve's abscissa. */
#ifndef SUITE_H
#define SUITE_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

/* Ends the run with a sentence. */
static inline void fail(const char *format, ...)
{
    va_list more;
    va_start(more, format);
    vfprintf(stderr, format, more);
    va_end(more);
    fputc('\n', stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* Starts MPI, in a world of at least so many ranks, in multiples of `step`. */
static inline void begin(int *argc, char ***argv, int least, int step)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < least || ranks % step != 0)
        fail("this program needs %d ranks or more, in multiples of %d", least, step);
}

/* Argument `index` as a number, or `otherwise`. */
static inline long argument(int argc, char **argv, int index, long otherwise)
{
    return argc > index ? atol(argv[index]) : otherwise;
}

/* A buffer of so many bytes, filled. */
static inline char *buffer_of(size_t bytes)
{
    char *buffer = malloc(bytes ? bytes : 1);
    if (buffer == NULL)
        fail("%zu bytes cannot be had", bytes);
    memset(buffer, rank + 1, bytes ? bytes : 1);
    return buffer;
}

/* 0, 1, 2, 4 ... `largest` bytes. */
static inline int next_size(int bytes)
{
    return bytes ? 2 * bytes : 1;
}

/* Repetitions for messages of a size. */
static inline int repetitions(int bytes)
{
    return bytes <= 1024 ? 100 : bytes <= 65536 ? 20 : 5;
}

/* The largest of all ranks' values, on every rank. */
static inline double largest_of(double value)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return value;
}

/* The first `size` ranks; MPI_COMM_NULL on all others. */
static inline MPI_Comm first_ranks(int size)
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, rank < size ? 0 : MPI_UNDEFINED, 0, &comm);
    return comm;
}

#define MEBIBYTE 1048576.0 /* PMB counts so */

#endif
