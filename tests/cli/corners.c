/* Corners of MPI, one for each argument; prints what it found. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* Sizes that their type cannot hold are MPI_UNDEFINED; beyond 4 GiB they are sizes like others. */
static void sizes(void)
{
    const struct {
        MPI_Count items;
        MPI_Datatype type;
    } of[] = {{1 << 20, MPI_INT},
              {(1 << 29) - 1, MPI_INT},
              {1 << 29, MPI_INT},
              {1 << 30, MPI_DOUBLE}};
    for (int i = 0; i < 4; i++) {
        int size = -1;
        MPI_Count large = -1;
        MPI_Pack_size((int)of[i].items, of[i].type, MPI_COMM_WORLD, &size);
        MPI_Pack_size_c(of[i].items, of[i].type, MPI_COMM_WORLD, &large);
        printf("%d %lld\n", size == MPI_UNDEFINED ? 0 : size, (long long)large);
    }
    MPI_Count large = -1;
    MPI_Pack_size_c((MPI_Count)1 << 33, MPI_INT, MPI_COMM_WORLD, &large);
    printf("%lld\n", (long long)large);
    MPI_Pack_size_c((MPI_Count)1 << 62, MPI_INT, MPI_COMM_WORLD, &large);
    printf("%d\n", large == MPI_UNDEFINED);
}

/* Error codes go in any order: a text before its code, codes before their class. */
static void codes(void)
{
    int class[3], code[3][2], errors = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; i++) {
        MPI_Add_error_class(&class[i]);
        for (int j = 0; j < 2; j++) {
            MPI_Add_error_code(class[i], &code[i][j]);
            snprintf(text, sizeof text, "class %d code %d", i, j);
            MPI_Add_error_string(code[i][j], text);
        }
    }
    printf("kept: %d\n", MPI_Remove_error_code(code[1][0]) != MPI_SUCCESS);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 2; j++) {
            errors += MPI_Remove_error_string(code[i][j]) != MPI_SUCCESS;
            printf("kept: %d\n", MPI_Remove_error_class(class[i]) != MPI_SUCCESS);
            errors += MPI_Remove_error_code(code[i][j]) != MPI_SUCCESS;
        }
        errors += MPI_Remove_error_class(class[i]) != MPI_SUCCESS;
        printf("gone: %d\n", MPI_Remove_error_class(class[i]) != MPI_SUCCESS);
    }
    printf("errors: %d\n", errors);
}

/* What an error does before the program says anything about errors. */
static void errors(void)
{
    MPI_Comm other;
    int word = 0, code = MPI_Send(&word, 1, MPI_INT, 77, 0, MPI_COMM_WORLD);
    printf("%s\n", code == MPI_ERR_RANK ? "returned" : "not returned");
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    code = MPI_Send(&word, 1, MPI_INT, 77, 0, other);
    printf("%s\n", code == MPI_ERR_RANK ? "returned" : "not returned");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "sizes") == 0)
        sizes();
    else if (strcmp(what, "codes") == 0)
        codes();
    else
        errors();
    MPI_Finalize();
    return 0;
}
