#include "hash.h"

#include "state.h"

#define TAG_MASK ((1u << OF_TAG_WIDTH) - 1)
#define SOURCE_MASK (((1u << OF_SOURCE_WIDTH) - 1) << OF_TAG_WIDTH)

static const uint32_t masks[HASH_ODD] = {0, SOURCE_MASK, TAG_MASK, SOURCE_MASK | TAG_MASK};

static void chain_init(struct hash_chain *chain)
{
    chain->first = chain->last = HASH_NONE;
}

void hash_init(struct hash *hash)
{
    for (uint32_t i = 0; i < HASH_CHAINS; i++)
        chain_init(&hash->chains[i]);
    chain_init(&hash->odd);
}

static enum hash_class class_of(const struct entry *entry)
{
    if (entry->kind == ENTRY_UNEXPECTED)
        return HASH_EXACT;
    if (entry->mask_hi & BITS_HI)
        return HASH_ODD;
    for (uint32_t class = 0; class < HASH_ODD; class++)
        if (entry->mask_lo == masks[class])
            return class;
    return HASH_ODD;
}

/* Tags, sources and contexts are small numbers that lie close together. */
static inline struct hash_chain *chain_of(struct hash *hash, uint32_t bits_lo, uint32_t bits_hi,
                                          enum hash_class class)
{
    uint32_t key = (bits_lo & ~masks[class]) ^ bits_hi << 20 ^ (uint32_t)class << 28;

    return &hash->chains[key * 0x9E3779B1u >> (32 - HASH_BITS)];
}

static struct hash_chain *own_chain(struct hash *hash, const struct entry *entry,
                                    enum hash_class class)
{
    if (class == HASH_ODD)
        return &hash->odd;
    return chain_of(hash, entry->bits_lo, entry->bits_hi, class);
}

void hash_add(struct hash *hash, struct entry *entry)
{
    enum hash_class class = class_of(entry);
    struct hash_chain *chain = own_chain(hash, entry, class);

    entry->after = HASH_NONE;
    entry->before = chain->last;
    if (chain->last == HASH_NONE)
        chain->first = entry->number;
    else
        entries[chain->last].after = entry->number;
    chain->last = entry->number;
    ++hash->classes[class];
    /* A message's length stands where a receive has this. */
    if (entry->kind == ENTRY_POSTED)
        entry->order = hash->order++;
}

void hash_remove(struct hash *hash, struct entry *entry)
{
    enum hash_class class = class_of(entry);
    struct hash_chain *chain = own_chain(hash, entry, class);

    if (entry->before == HASH_NONE)
        chain->first = entry->after;
    else
        entries[entry->before].after = entry->after;
    if (entry->after == HASH_NONE)
        chain->last = entry->before;
    else
        entries[entry->after].before = entry->before;
    --hash->classes[class];
}

/* Others may be in the chain. The first that matches is its oldest, as chains grow at the end. */
static inline struct entry *first_match(const struct hash_chain *chain, uint32_t bits_lo,
                                        uint32_t bits_hi)
{
    uint32_t number = chain->first;

    while (number != HASH_NONE) {
        struct entry *entry = &entries[number];

        if (!((entry->bits_lo ^ bits_lo) & ~entry->mask_lo) &&
            !((entry->bits_hi ^ bits_hi) & ~entry->mask_hi))
            return entry;
        number = entry->after;
    }
    return 0;
}

struct entry *hash_find_posted(struct hash *hash, uint32_t bits_lo, uint32_t bits_hi)
{
    struct entry *oldest = 0;

    for (uint32_t class = 0; class < HASH_CLASSES; class++) {
        const struct hash_chain *chain;
        struct entry *entry;

        if (!hash->classes[class])
            continue;
        chain = class == HASH_ODD ? &hash->odd : chain_of(hash, bits_lo, bits_hi, class);
        entry = first_match(chain, bits_lo, bits_hi);
        /* Whichever was posted first takes the message; counts may wrap. */
        if (entry && (!oldest || (int32_t)(entry->order - oldest->order) < 0))
            oldest = entry;
    }
    return oldest;
}

struct entry *hash_find_message(struct hash *hash, uint32_t bits_lo, uint32_t bits_hi)
{
    uint32_t number = chain_of(hash, bits_lo, bits_hi, HASH_EXACT)->first;

    while (number != HASH_NONE) {
        struct entry *entry = &entries[number];

        if (entry->bits_lo == bits_lo && entry->bits_hi == bits_hi)
            return entry;
        number = entry->after;
    }
    return 0;
}
