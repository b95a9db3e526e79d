/* Runs all tests; prints a line each and fails if one does. PLANT=n: with that planted bug, until
 * a test fails. ONLY=text: those whose names have it. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static jmp_buf failed;
static int quiet;

uint64_t soak_seed = 1;
uint32_t soak_rounds = 200;

void test_fail(const char *file, int line, const char *what)
{
    if (!quiet)
        fprintf(stderr, "%s:%d: %s\n", file, line, what);
    longjmp(failed, 1);
}

static int run(const struct test *test)
{
    if (setjmp(failed) == 0) {
        test->run();
        if (!quiet)
            printf("pass: %s: %s\n", OPT_STRING, test->name);
        return 0;
    }
    if (quiet)
        printf("pass: %s: planted bug %u is found by: %s\n", OPT_STRING, planted_bug, test->name);
    else
        printf("FAIL: %s: %s\n", OPT_STRING, test->name);
    return 1;
}

int main(void)
{
    /* Small worlds take long, and are the same however a list is walked. */
    const struct test *tables[] = {tests_dialogue, tests_soak, OPT_WALK_AHEAD ? tests_small : 0};
    const char *only = getenv("ONLY");
    int failures = 0;

    if (getenv("SEED"))
        soak_seed = strtoull(getenv("SEED"), 0, 0);
    if (getenv("ROUNDS"))
        soak_rounds = (uint32_t)strtoul(getenv("ROUNDS"), 0, 0);
    if (getenv("PLANT"))
        planted_bug = (uint32_t)strtoul(getenv("PLANT"), 0, 0);
    quiet = planted_bug && !getenv("LOUD");
    for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const struct test *t = tables[i]; t && t->name; t++) {
            if (!only || strstr(t->name, only))
                failures += run(t);
            if (quiet && failures)
                return 0;
        }
    }
    if (quiet)
        printf("FAIL: %s: planted bug %u is not found\n", OPT_STRING, planted_bug);
    return failures != 0 || quiet;
}
