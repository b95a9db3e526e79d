/* SEARCH=hash: beside each list a table that finds an entry without a walk. The lists stay: they are
 * the order of arrival, what units hold, and what a receive with wildcards looks through. */
#ifndef OFFLOAD_HASH_H
#define OFFLOAD_HASH_H

#include "limits.h"

/* A chain for each value of a hash of the match bits. */
#define HASH_BITS 7u
#define HASH_CHAINS (1u << HASH_BITS)
#define HASH_NONE 0xFFFFu

/* What a receive leaves open decides what of a message its hash is made of. MPI has these four; any
 * other mask has a chain to itself. */
enum hash_class {
    HASH_EXACT,
    HASH_ANY_SOURCE,
    HASH_ANY_TAG,
    HASH_ANY_BOTH,
    HASH_ODD,
    HASH_CLASSES,
};

/* Oldest and youngest entry, by number. */
struct hash_chain {
    uint16_t first;
    uint16_t last;
};

/* Of one list. */
struct hash {
    struct hash_chain chains[HASH_CHAINS];
    struct hash_chain odd;
    uint32_t classes[HASH_CLASSES]; /* Entries of each. */
    uint32_t order;                 /* Of the next one. */
};

struct entry;
struct queue;

void hash_init(struct hash *hash);
void hash_add(struct hash *hash, struct entry *entry) __attribute__((noinline));
void hash_remove(struct hash *hash, struct entry *entry) __attribute__((noinline));

/* The oldest posted receive that takes a message of these bits, or none. */
struct entry *hash_find_posted(struct hash *hash, uint32_t bits_lo, uint32_t bits_hi);

/* The oldest message with these very bits, or none. */
struct entry *hash_find_message(struct hash *hash, uint32_t bits_lo, uint32_t bits_hi);

#endif
