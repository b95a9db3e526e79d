/* Procedures that no rule gives: beginning, clocks, memory, texts, and names that left the standard. */
#include "fortran.h"
#include "sunstar.h"

#include <limits.h>

PROCEDURE(mpi_init, (int *ierror))
{
    done(ierror, MPI_Init(NULL, NULL));
}

PROCEDURE(mpi_init_thread, (int *required, int *provided, int *ierror))
{
    done(ierror, MPI_Init_thread(NULL, NULL, *required, provided));
}

FUNCTION(double, mpi_wtime, (void))
{
    return MPI_Wtime();
}

FUNCTION(double, mpi_wtick, (void))
{
    return MPI_Wtick();
}

FUNCTION(MPI_Aint, mpi_aint_add, (MPI_Aint * base, MPI_Aint *disp))
{
    return MPI_Aint_add(*base, *disp);
}

FUNCTION(MPI_Aint, mpi_aint_diff, (MPI_Aint * addr1, MPI_Aint *addr2))
{
    return MPI_Aint_diff(*addr1, *addr2);
}

/* --- include/sunstar.h --- */

EXPORT void sunstar_compute_(const double *seconds)
{
    sunstar_compute(*seconds);
}

/* --- memory: the base is a pointer or an integer as large --- */

PROCEDURE(mpi_alloc_mem, (MPI_Aint * size, int *info, void *baseptr, int *ierror))
{
    done(ierror, MPI_Alloc_mem(*size, MPI_Info_fromint(*info), baseptr));
}

static void stored_win(int code, MPI_Win c_win, int *win, int *ierror)
{
    if (code == MPI_SUCCESS)
        *win = MPI_Win_toint(c_win);
    done(ierror, code);
}

PROCEDURE(mpi_win_allocate, (MPI_Aint * size, int *disp_unit, int *info, int *comm, void *baseptr,
                             int *win, int *ierror))
{
    MPI_Win c_win = MPI_WIN_NULL;
    const int code = MPI_Win_allocate(*size, *disp_unit, MPI_Info_fromint(*info),
                                      MPI_Comm_fromint(*comm), baseptr, &c_win);
    stored_win(code, c_win, win, ierror);
}

PROCEDURE(mpi_win_allocate_shared, (MPI_Aint * size, int *disp_unit, int *info, int *comm,
                                    void *baseptr, int *win, int *ierror))
{
    MPI_Win c_win = MPI_WIN_NULL;
    const int code = MPI_Win_allocate_shared(*size, *disp_unit, MPI_Info_fromint(*info),
                                             MPI_Comm_fromint(*comm), baseptr, &c_win);
    stored_win(code, c_win, win, ierror);
}

PROCEDURE(mpi_win_shared_query,
          (int *win, int *rank, MPI_Aint *size, int *disp_unit, void *baseptr, int *ierror))
{
    done(ierror, MPI_Win_shared_query(MPI_Win_fromint(*win), *rank, size, disp_unit, baseptr));
}

/* mpif.h and the module mpi cannot give the address back; mpi_f08 can. */

EXPORT void mpi_buffer_detach_f08_(void **buffer, int *size, int *ierror)
{
    done(ierror, MPI_Buffer_detach(buffer, size));
}

PROCEDURE(mpi_buffer_detach, (void *buffer, int *size, int *ierror))
{
    void *forgotten;
    (void)buffer;
    mpi_buffer_detach_f08_(&forgotten, size, ierror);
}

EXPORT void mpi_comm_detach_buffer_f08_(int *comm, void **buffer, int *size, int *ierror)
{
    done(ierror, MPI_Comm_detach_buffer(MPI_Comm_fromint(*comm), buffer, size));
}

PROCEDURE(mpi_comm_detach_buffer, (int *comm, void *buffer, int *size, int *ierror))
{
    void *forgotten;
    (void)buffer;
    mpi_comm_detach_buffer_f08_(comm, &forgotten, size, ierror);
}

EXPORT void mpi_session_detach_buffer_f08_(int *session, void **buffer, int *size, int *ierror)
{
    done(ierror, MPI_Session_detach_buffer(MPI_Session_fromint(*session), buffer, size));
}

PROCEDURE(mpi_session_detach_buffer, (int *session, void *buffer, int *size, int *ierror))
{
    void *forgotten;
    (void)buffer;
    mpi_session_detach_buffer_f08_(session, &forgotten, size, ierror);
}

/* --- values of info objects: lengths do not count a zero at the end --- */

PROCEDURE(mpi_info_get, (int *info, const char *key, int *valuelen, char *value, int *flag,
                         int *ierror, size_t key_length, size_t value_length))
{
    char *c_key = word_in(key, key_length);
    char *c_value = calloc((size_t)*valuelen + 1, 1);
    const MPI_Info c_info = MPI_Info_fromint(*info);
    const int code =
        c_value ? MPI_Info_get(c_info, c_key, *valuelen, c_value, flag) : MPI_ERR_NO_MEM;
    if (code == MPI_SUCCESS && *flag)
        text_out(c_value, value, value_length);
    free(c_key);
    free(c_value);
    done(ierror, code);
}

PROCEDURE(mpi_info_get_string, (int *info, const char *key, int *buflen, char *value, int *flag,
                                int *ierror, size_t key_length, size_t value_length))
{
    char *c_key = word_in(key, key_length);
    char *c_value = calloc((size_t)*buflen + 1, 1);
    int c_buflen = *buflen > 0 ? *buflen + 1 : 0;
    const MPI_Info c_info = MPI_Info_fromint(*info);
    const int code =
        c_value ? MPI_Info_get_string(c_info, c_key, &c_buflen, c_value, flag) : MPI_ERR_NO_MEM;
    if (code == MPI_SUCCESS && *flag) {
        if (*buflen > 0)
            text_out(c_value, value, value_length);
        *buflen = c_buflen - 1;
    }
    free(c_key);
    free(c_value);
    done(ierror, code);
}

/* --- names that left the standard: displacements are INTEGER --- */

/* What does not fit is an error: to go on with a part of an address would be worse. */
static int narrow(int code, MPI_Aint from, int *to)
{
    if (code == MPI_SUCCESS && (from < INT_MIN || from > INT_MAX))
        return MPI_ERR_ARG;
    if (code == MPI_SUCCESS)
        *to = (int)from;
    return code;
}

PROCEDURE(mpi_address, (void *location, int *where, int *ierror))
{
    MPI_Aint wide = 0;
    const int code = MPI_Get_address(data_of(location), &wide);
    done(ierror, narrow(code, wide, where));
}

#define EXTENT(name, value)                                                                        \
    PROCEDURE(name, (int *datatype, int *result, int *ierror))                                     \
    {                                                                                              \
        MPI_Aint lower = 0, extent = 0;                                                            \
        const int code = MPI_Type_get_extent(MPI_Type_fromint(*datatype), &lower, &extent);        \
        done(ierror, narrow(code, value, result));                                                 \
    }

EXTENT(mpi_type_extent, extent)
EXTENT(mpi_type_lb, lower)
EXTENT(mpi_type_ub, lower + extent)

static MPI_Aint *wide(int count, const int *numbers)
{
    MPI_Aint *list = calloc(count > 0 ? (size_t)count : 1, sizeof *list);
    for (int i = 0; list && i < count; i++)
        list[i] = numbers[i];
    return list;
}

static void stored_type(int code, MPI_Datatype c_type, int *type, int *ierror)
{
    if (code == MPI_SUCCESS)
        *type = MPI_Type_toint(c_type);
    done(ierror, code);
}

PROCEDURE(mpi_type_hvector,
          (int *count, int *length, int *stride, int *oldtype, int *newtype, int *ierror))
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int code =
        MPI_Type_create_hvector(*count, *length, *stride, MPI_Type_fromint(*oldtype), &type);
    stored_type(code, type, newtype, ierror);
}

PROCEDURE(mpi_type_hindexed,
          (int *count, int *lengths, int *displacements, int *oldtype, int *newtype, int *ierror))
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Aint *places = wide(*count, displacements);
    const int code =
        MPI_Type_create_hindexed(*count, lengths, places, MPI_Type_fromint(*oldtype), &type);
    free(places);
    stored_type(code, type, newtype, ierror);
}

PROCEDURE(mpi_type_struct,
          (int *count, int *lengths, int *displacements, int *types, int *newtype, int *ierror))
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Datatype *c_types = types_in(*count, types);
    MPI_Aint *places = wide(*count, displacements);
    const int code = MPI_Type_create_struct(*count, lengths, places, c_types, &type);
    free(c_types);
    free(places);
    stored_type(code, type, newtype, ierror);
}

PROCEDURE(mpi_errhandler_create, (procedure * function, int *errhandler, int *ierror))
{
    MPI_Errhandler c_errhandler = MPI_ERRHANDLER_NULL;
    const int code =
        MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)function, &c_errhandler);
    *errhandler = MPI_Errhandler_toint(c_errhandler);
    done(ierror, code);
}

PROCEDURE(mpi_errhandler_get, (int *comm, int *errhandler, int *ierror))
{
    MPI_Errhandler c_errhandler = MPI_ERRHANDLER_NULL;
    const int code = MPI_Comm_get_errhandler(MPI_Comm_fromint(*comm), &c_errhandler);
    *errhandler = MPI_Errhandler_toint(c_errhandler);
    done(ierror, code);
}

PROCEDURE(mpi_errhandler_set, (int *comm, int *errhandler, int *ierror))
{
    const MPI_Errhandler c_errhandler = MPI_Errhandler_fromint(*errhandler);
    done(ierror, MPI_Comm_set_errhandler(MPI_Comm_fromint(*comm), c_errhandler));
}
