/* The same kernels on the machine that runs the tests; PROGRAM is the file that has them. */
#include PROGRAM
#include <stdio.h>

int main(void)
{
    kernels(2);
    for (int i = 0; i < 16; i++)
        printf("%u\n", results[i]);
    return 0;
}
