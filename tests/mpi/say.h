/* What a conformance program finds out: each rank collects lines, rank 0 prints them all in the
 * order of ranks, so that two MPI libraries print the same. */
#ifndef SAY_H
#define SAY_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char said[1 << 16];
static int said_length, rank, size;

__attribute__((format(printf, 1, 2), unused)) static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    said_length += vsnprintf(said + said_length, sizeof said - said_length - 1, format, arguments);
    va_end(arguments);
    said[said_length++] = '\n';
}

__attribute__((unused)) static unsigned hash(const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    unsigned h = 2166136261u;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ byte[i]) * 16777619u;
    return h;
}

__attribute__((unused)) static void say_ints(const char *what, const int *list, int count)
{
    char text[1024];
    int length = 0;
    for (int i = 0; i < count && length < 1000; i++)
        length += snprintf(text + length, sizeof text - length, " %d", list[i]);
    text[length] = 0;
    say("%s:%s", what, text);
}

static void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static int end(void)
{
    if (rank > 0) {
        MPI_Send(said, said_length, MPI_CHAR, 0, 4711, MPI_COMM_WORLD);
    } else {
        printf("rank 0\n%.*s", said_length, said);
        for (int from = 1; from < size; from++) {
            MPI_Status status;
            int length;
            MPI_Recv(said, sizeof said, MPI_CHAR, from, 4711, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_CHAR, &length);
            printf("rank %d\n%.*s", from, length, said);
        }
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}

#endif
