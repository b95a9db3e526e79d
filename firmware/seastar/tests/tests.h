/* The tests: each starts from a booted or reset firmware. */
#ifndef SEASTAR_TESTS_TESTS_H
#define SEASTAR_TESTS_TESTS_H

#include <stdint.h>

struct test {
    const char *name;
    void (*run)(void);
};

/* Tables end with a null name. */
extern const struct test tests_boot[];
extern const struct test tests_tx[];
extern const struct test tests_rx[];
extern const struct test tests_fault[];
extern const struct test tests_soak[];
extern const struct test tests_accel[];
extern const struct test tests_atomic[];
extern const struct test tests_relay[];

/* For the random soak: a failure prints both. */
extern uint64_t soak_seed;
extern uint32_t soak_rounds;

#endif
