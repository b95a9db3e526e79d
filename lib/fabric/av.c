/* Address vectors. An address is its index, in both types of them. */
#include "fabric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AV(fid) ((struct av *)(fid))

static size_t hash_of(const struct av *av, const struct address *address)
{
    const uint64_t key = (uint64_t)address->nid << 32 ^ (uint64_t)address->pid << 8 ^ address->slot;
    return (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (av->hashed - 1);
}

static bool same(const struct address *a, const struct address *b)
{
    return a->nid == b->nid && a->pid == b->pid && a->slot == b->slot;
}

/* Where the address stands in the hash, or the free place for it. */
static fi_addr_t *place_of(const struct av *av, const struct address *address)
{
    size_t at = hash_of(av, address);
    while (av->hash[at] && !same(&av->list[av->hash[at] - 1], address))
        at = (at + 1) & (av->hashed - 1);
    return &av->hash[at];
}

static void rehash(struct av *av, size_t hashed)
{
    free(av->hash);
    av->hashed = hashed;
    av->hash = need(hashed, sizeof *av->hash);
    for (size_t i = 0; i < av->used; i++)
        if (av->uses[i])
            *place_of(av, &av->list[i]) = i + 1;
}

bool av_peer(struct av *av, fi_addr_t at, struct address *address)
{
    if (!av || at >= av->used || !av->uses[at])
        return false;
    *address = av->list[at];
    return true;
}

fi_addr_t av_find(struct av *av, ptl_process_id_t process, unsigned slot)
{
    if (!av || !av->hashed)
        return FI_ADDR_NOTAVAIL;
    const struct address address = {process.nid, process.pid, slot};
    return *place_of(av, &address) - 1;
}

static fi_addr_t insert(struct av *av, const struct address *address)
{
    if (2 * (av->used + 1) > av->hashed)
        rehash(av, av->hashed ? 2 * av->hashed : 64);
    fi_addr_t *place = place_of(av, address);
    if (*place) { /* once more: it is the same address, until it is removed as often */
        av->uses[*place - 1]++;
        return *place - 1;
    }
    if (av->used == av->room) {
        av->room = av->room ? 2 * av->room : 64;
        av->list = realloc(av->list, av->room * sizeof *av->list);
        av->uses = realloc(av->uses, av->room * sizeof *av->uses);
        if (!av->list || !av->uses)
            give_up("an address vector of %zu addresses finds no memory", av->room);
    }
    av->list[av->used] = *address;
    av->uses[av->used] = 1;
    *place = av->used + 1;
    return av->used++;
}

static int av_insert(struct fid_av *fid, const void *addresses, size_t count, fi_addr_t *list,
                     uint64_t flags, void *context)
{
    CALL(AV_INSERT);
    struct av *av = AV(fid);
    int inserted = 0;
    lock();
    for (size_t i = 0; i < count; i++) {
        struct address address;
        memcpy(&address, (const char *)addresses + i * sizeof address, sizeof address);
        const bool sound = address.slot < SLOTS && address.nid != PTL_NID_ANY &&
                           address.pid != PTL_PID_ANY;
        const fi_addr_t at = sound ? insert(av, &address) : FI_ADDR_NOTAVAIL;
        if (list)
            list[i] = at;
        if (flags & FI_SYNC_ERR && context)
            ((int *)context)[i] = sound ? 0 : FI_EINVAL;
        inserted += sound;
    }
    unlock();
    return inserted;
}

static int av_insertsvc(struct fid_av *fid, const char *node, const char *service, fi_addr_t *list,
                        uint64_t flags, void *context)
{
    (void)fid, (void)node, (void)service, (void)list, (void)flags, (void)context;
    return refuse(-FI_ENOSYS, "fi_av_insertsvc: endpoints have no names; exchange what fi_getname "
                              "gives");
}

static int av_insertsym(struct fid_av *fid, const char *node, size_t nodes, const char *service,
                        size_t services, fi_addr_t *list, uint64_t flags, void *context)
{
    (void)fid, (void)node, (void)nodes, (void)service, (void)services, (void)list, (void)flags;
    (void)context;
    return refuse(-FI_ENOSYS, "fi_av_insertsym: endpoints have no names; exchange what fi_getname "
                              "gives");
}

static int av_remove(struct fid_av *fid, fi_addr_t *list, size_t count, uint64_t flags)
{
    CALL(AV_REMOVE);
    struct av *av = AV(fid);
    int result = 0;
    bool gone = false;
    (void)flags;
    lock();
    for (size_t i = 0; i < count; i++) {
        if (list[i] >= av->used || !av->uses[list[i]])
            result = -FI_EINVAL;
        else if (--av->uses[list[i]] == 0)
            gone = true;
    }
    if (gone) {
        /* Numbers of the last ones are given again; those between stay as they are. */
        while (av->used > 0 && !av->uses[av->used - 1])
            av->used--;
        rehash(av, av->hashed);
    }
    unlock();
    return result;
}

static int av_lookup(struct fid_av *fid, fi_addr_t at, void *buffer, size_t *bytes)
{
    struct address address;
    lock();
    const bool there = av_peer(AV(fid), at, &address);
    unlock();
    if (!there)
        return -FI_EINVAL;
    memcpy(buffer, &address, *bytes < sizeof address ? *bytes : sizeof address);
    *bytes = sizeof address;
    return 0;
}

static const char *av_straddr(struct fid_av *fid, const void *at, char *buffer, size_t *bytes)
{
    struct address address;
    (void)fid;
    memcpy(&address, at, sizeof address);
    const int length = snprintf(buffer, *bytes, "fi_sunstar://%u/%u/%u", address.nid, address.pid,
                                address.slot);
    *bytes = (size_t)length + 1;
    return buffer;
}

static int av_set(struct fid_av *fid, struct fi_av_set_attr *attr, struct fid_av_set **set,
                  void *context)
{
    (void)fid, (void)attr, (void)set, (void)context;
    return refuse(-FI_ENOSYS, "fi_av_set: there are no collective operations");
}

static struct fi_ops_av av_ops = {
    .size = sizeof av_ops,
    .insert = av_insert,
    .insertsvc = av_insertsvc,
    .insertsym = av_insertsym,
    .remove = av_remove,
    .lookup = av_lookup,
    .straddr = av_straddr,
    .av_set = av_set,
};

static int av_close(struct fid *fid)
{
    struct av *av = AV(fid);
    lock();
    av->domain->users--;
    /* Endpoints that still have it forget it. */
    for (unsigned slot = 0; slot < SLOTS; slot++)
        if (interface_slots[slot] && interface_slots[slot]->av == av)
            interface_slots[slot]->av = NULL;
    unlock();
    free(av->list);
    free(av->uses);
    free(av->hash);
    free(av);
    return 0;
}

static int av_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    (void)fid, (void)other, (void)flags;
    return refuse(-FI_ENOSYS, "fi_av_bind: addresses are inserted at once, without events");
}

static struct fi_ops av_fid_ops = {
    .size = sizeof av_fid_ops,
    .close = av_close,
    .bind = av_bind,
    .control = no_control,
    .ops_open = no_open,
    .tostr = no_string,
    .ops_set = no_set,
};

int av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **fid, void *context)
{
    if (attr && attr->name)
        return refuse(-FI_ENOSYS, "fi_av_open: an address vector with a name, for several "
                                  "processes, does not exist");
    if (attr && attr->rx_ctx_bits)
        return refuse(-FI_ENOSYS, "fi_av_open: there are no scalable endpoints");
    if (attr && attr->flags & FI_EVENT)
        return refuse(-FI_ENOSYS, "fi_av_open: addresses are inserted at once, without events");
    struct av *av = need(1, sizeof *av);
    av->fid.fid = (struct fid){FI_CLASS_AV, context, &av_fid_ops};
    av->fid.ops = &av_ops;
    av->domain = (struct domain *)domain;
    lock();
    av->domain->users++;
    unlock();
    if (attr)
        attr->type = attr->type ? attr->type : FI_AV_TABLE;
    *fid = &av->fid;
    return 0;
}
