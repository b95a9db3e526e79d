/* Runs all tests; prints a line each and fails if one does. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim.h"
#include "tests.h"

static jmp_buf failed;

uint64_t soak_seed = 1;
uint32_t soak_rounds = 200000;

void sim_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    longjmp(failed, 1);
}

static int run(const struct test *test)
{
    if (setjmp(failed) == 0) {
        test->run();
        printf("pass: %s: %s\n", OPT_STRING, test->name);
        return 0;
    }
    printf("FAIL: %s: %s\n", OPT_STRING, test->name);
    return 1;
}

int main(void)
{
    const struct test *tables[] = {tests_boot, tests_tx, tests_rx, tests_fault, tests_soak,
                                   tests_accel, tests_atomic};
#if OPT_RELAY
    /* What runs out ends no node of such an image; the rest of it is that of the others. */
    const struct test *relaying[] = {tests_relay};
#define TABLES relaying
#else
#define TABLES tables
#endif
    int failures = 0;

    if (getenv("SEED"))
        soak_seed = strtoull(getenv("SEED"), 0, 0);
    if (getenv("ROUNDS"))
        soak_rounds = (uint32_t)strtoul(getenv("ROUNDS"), 0, 0);
    (void)tables;
    for (unsigned i = 0; i < sizeof(TABLES) / sizeof(TABLES[0]); i++) {
        for (const struct test *t = TABLES[i]; t->name; t++)
            failures += run(t);
    }
    return failures != 0;
}
