/* MPI for Fortran: what the files of the library share.
 *
 * The library knows only the ABI in C, so the same Fortran program runs on any MPI that has it.
 * Procedures have the names that gfortran gives them: small letters and an underscore; arguments
 * are addresses; behind them stand the lengths of texts. LOGICAL is an int: zero is false, and what
 * the ABI stores is 0 or 1. */
#ifndef SUNSTAR_FORTRAN_H
#define SUNSTAR_FORTRAN_H

#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* pmpi_x_ is the procedure, mpi_x_ a weak second name that profiling tools may replace. */
#define FUNCTION(result, name, parameters)                                                         \
    EXPORT result p##name##_ parameters;                                                           \
    EXPORT __attribute__((weak, alias("p" #name "_"))) result name##_ parameters;                  \
    EXPORT result p##name##_ parameters
#define PROCEDURE(name, parameters) FUNCTION(void, name, parameters)

/* A procedure of the program; whoever calls it knows its arguments. */
typedef void procedure(void);

/* Variables in common blocks whose address has a meaning; the program's own copies take their places. */
EXPORT extern int mpi_fortran_bottom_[], mpi_fortran_in_place_[], mpi_fortran_buffer_automatic_[];
EXPORT extern int mpi_fortran_status_ignore_[], mpi_fortran_statuses_ignore_[];
EXPORT extern int mpi_fortran_unweighted_[], mpi_fortran_weights_empty_[];

/* The same address, or what it means. */
void *data_of(void *data);
int *weights_of(int *weights);
MPI_Status *status_of(int *status);
MPI_Status *statuses_of(int *statuses);

/* Text without the blanks at its end, in memory that the caller frees. */
char *text_in(const char *text, size_t length);
/* The same without the blanks at its beginning. */
char *word_in(const char *text, size_t length);
/* Text with blanks up to `length`. */
void text_out(const char *text, char *to, size_t length);

/* Handles as the ABI has them, in memory that the caller frees. */
MPI_Request *requests_in(int count, const int *handles);
MPI_Datatype *types_in(int count, const int *handles);
/* The same in memory that stays: an operation that has begun may still look at them. */
MPI_Datatype *types_kept(int count, const int *handles);
void requests_out(int count, const MPI_Request *requests, int *handles);
void types_out(int count, const MPI_Datatype *types, int *handles);

/* Elements of arrays that a communicator determines. */
int size_of(int comm);
int indegree_of(int comm);
int outdegree_of(int comm);

/* Makes indices from 0 indices from 1. */
void count_from_1(int count, int *indices);

/* Stores the error code; mpi_f08 may leave its place out. */
static inline void done(int *ierror, int code)
{
    if (ierror)
        *ierror = code;
}

#endif
