/* Attributes: in Fortran they are integers as large as an address, in C pointers. */
#include "fortran.h"

#include <stdbool.h>

/* The functions of a key; kept as long as the program runs, because attributes outlive keys. */
struct key {
    procedure *copy, *delete;
    MPI_Aint extra_state;
    bool narrow; /* made by MPI_KEYVAL_CREATE: words are INTEGER */
};

typedef void copy_wide(int *object, int *keyval, MPI_Aint *extra_state, MPI_Aint *in, MPI_Aint *out,
                       int *flag, int *ierror);
typedef void copy_narrow(int *object, int *keyval, int *extra_state, int *in, int *out, int *flag,
                         int *ierror);
typedef void delete_wide(int *object, int *keyval, MPI_Aint *in, MPI_Aint *extra_state,
                         int *ierror);
typedef void delete_narrow(int *object, int *keyval, int *in, int *extra_state, int *ierror);

static int copy(int object, int keyval, struct key *key, void *in, void *out, int *flag)
{
    MPI_Aint value = (MPI_Aint)in, copied = 0;
    int code = MPI_SUCCESS;
    if (key->narrow) {
        int extra = (int)key->extra_state, narrow = (int)value, result = 0;
        ((copy_narrow *)key->copy)(&object, &keyval, &extra, &narrow, &result, flag, &code);
        copied = result;
    } else {
        ((copy_wide *)key->copy)(&object, &keyval, &key->extra_state, &value, &copied, flag, &code);
    }
    *(void **)out = (void *)copied;
    return code;
}

static int delete(int object, int keyval, void *in, struct key *key)
{
    MPI_Aint value = (MPI_Aint)in;
    int code = MPI_SUCCESS;
    if (key->narrow) {
        int extra = (int)key->extra_state, narrow = (int)value;
        ((delete_narrow *)key->delete)(&object, &keyval, &narrow, &extra, &code);
    } else {
        ((delete_wide *)key->delete)(&object, &keyval, &value, &key->extra_state, &code);
    }
    return code;
}

static struct key *make(procedure *copy, procedure *delete, MPI_Aint extra_state, bool narrow)
{
    struct key *key = malloc(sizeof *key);
    if (key)
        *key = (struct key){copy, delete, extra_state, narrow};
    return key;
}

/* Keys of one kind of object. */
#define KEYS(object, small, kind, stem)                                                            \
    static int copy_##small(kind from, int keyval, void *key, void *in, void *out, int *flag)      \
    {                                                                                              \
        return copy(stem##_toint(from), keyval, key, in, out, flag);                               \
    }                                                                                              \
    static int delete_##small(kind from, int keyval, void *in, void *key)                          \
    {                                                                                              \
        return delete(stem##_toint(from), keyval, in, key);                                        \
    }                                                                                              \
    PROCEDURE(mpi_##small##_create_keyval,                                                         \
              (procedure * copied, procedure * deleted, int *keyval, MPI_Aint *extra_state,        \
               int *ierror))                                                                       \
    {                                                                                              \
        struct key *key = make(copied, deleted, *extra_state, false);                              \
        done(ierror, key ? MPI_##object##_create_keyval(copy_##small, delete_##small, keyval, key) \
                         : MPI_ERR_NO_MEM);                                                        \
    }                                                                                              \
    PROCEDURE(mpi_##small##_set_attr, (int *where, int *keyval, MPI_Aint *value, int *ierror))     \
    {                                                                                              \
        done(ierror, MPI_##object##_set_attr(stem##_fromint(*where), *keyval, (void *)*value));    \
    }

KEYS(Comm, comm, MPI_Comm, MPI_Comm)
KEYS(Type, type, MPI_Datatype, MPI_Type)
KEYS(Win, win, MPI_Win, MPI_Win)

PROCEDURE(mpi_keyval_create,
          (procedure * copied, procedure *deleted, int *keyval, int *extra_state, int *ierror))
{
    struct key *key = make(copied, deleted, *extra_state, true);
    done(ierror,
         key ? MPI_Comm_create_keyval(copy_comm, delete_comm, keyval, key) : MPI_ERR_NO_MEM);
}

PROCEDURE(mpi_attr_put, (int *comm, int *keyval, int *value, int *ierror))
{
    done(ierror, MPI_Comm_set_attr(MPI_Comm_fromint(*comm), *keyval, (void *)(MPI_Aint)*value));
}

/* --- reading: C has the addresses of attributes that MPI itself attaches --- */

static MPI_Aint get_comm(int comm, int keyval, int *flag, int *code)
{
    void *value = NULL;
    *code = MPI_Comm_get_attr(MPI_Comm_fromint(comm), keyval, &value, flag);
    if (*code != MPI_SUCCESS || !*flag)
        return 0;
    return keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE ? *(int *)value : (MPI_Aint)value;
}

PROCEDURE(mpi_comm_get_attr, (int *comm, int *keyval, MPI_Aint *value, int *flag, int *ierror))
{
    int code;
    const MPI_Aint found = get_comm(*comm, *keyval, flag, &code);
    if (code == MPI_SUCCESS && *flag)
        *value = found;
    done(ierror, code);
}

PROCEDURE(mpi_attr_get, (int *comm, int *keyval, int *value, int *flag, int *ierror))
{
    int code;
    const MPI_Aint found = get_comm(*comm, *keyval, flag, &code);
    if (code == MPI_SUCCESS && *flag)
        *value = (int)found;
    done(ierror, code);
}

PROCEDURE(mpi_type_get_attr, (int *type, int *keyval, MPI_Aint *value, int *flag, int *ierror))
{
    void *found = NULL;
    const int code = MPI_Type_get_attr(MPI_Type_fromint(*type), *keyval, &found, flag);
    if (code == MPI_SUCCESS && *flag)
        *value = (MPI_Aint)found;
    done(ierror, code);
}

PROCEDURE(mpi_win_get_attr, (int *win, int *keyval, MPI_Aint *value, int *flag, int *ierror))
{
    void *found = NULL;
    const int code = MPI_Win_get_attr(MPI_Win_fromint(*win), *keyval, &found, flag);
    if (code == MPI_SUCCESS && *flag) {
        if (*keyval == MPI_WIN_SIZE)
            *value = *(MPI_Aint *)found;
        else if (*keyval > MPI_WIN_BASE && *keyval <= MPI_WIN_MODEL)
            *value = *(int *)found;
        else
            *value = (MPI_Aint)found;
    }
    done(ierror, code);
}

/* --- functions that a program can name instead of its own --- */

#define STANDARD(object, word)                                                                     \
    PROCEDURE(mpi_##object##null_copy_fn,                                                          \
              (int *from, int *keyval, word *extra_state, word *in, word *out, int *flag,          \
               int *ierror))                                                                       \
    {                                                                                              \
        (void)from, (void)keyval, (void)extra_state, (void)in, (void)out;                          \
        *flag = 0;                                                                                 \
        *ierror = MPI_SUCCESS;                                                                     \
    }                                                                                              \
    PROCEDURE(mpi_##object##dup_fn, (int *from, int *keyval, word *extra_state, word *in,          \
                                     word *out, int *flag, int *ierror))                           \
    {                                                                                              \
        (void)from, (void)keyval, (void)extra_state;                                               \
        *out = *in;                                                                                \
        *flag = 1;                                                                                 \
        *ierror = MPI_SUCCESS;                                                                     \
    }                                                                                              \
    PROCEDURE(mpi_##object##null_delete_fn,                                                        \
              (int *from, int *keyval, word *in, word *extra_state, int *ierror))                  \
    {                                                                                              \
        (void)from, (void)keyval, (void)in, (void)extra_state;                                     \
        *ierror = MPI_SUCCESS;                                                                     \
    }

STANDARD(, int)
STANDARD(comm_, MPI_Aint)
STANDARD(type_, MPI_Aint)
STANDARD(win_, MPI_Aint)
