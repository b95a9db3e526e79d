/* What programs can ask for and do not get. No slot of a table is empty: programs call them
 * unseen. */
#include "fabric.h"

#define ABSENT(arguments, name, why)                                                               \
    static int cm_##name arguments                                                                 \
    {                                                                                              \
        return refuse(-FI_ENOSYS, "fi_" #name ": " why);                                           \
    }

/* The arguments of a slot that answers without a look at them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* --- of every object --- */

int no_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    return refuse(-FI_ENOSYS, "fi_bind: nothing can be bound to an object of this kind");
}

int no_control(struct fid *fid, int command, void *argument)
{
    return refuse(-FI_ENOSYS, "fi_control: command %d is not known", command);
}

int no_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
    return -FI_ENOSYS; /* asked for by programs that know other providers: no news */
}

int no_string(const struct fid *fid, char *buffer, size_t bytes)
{
    return refuse(-FI_ENOSYS, "fi_tostr: objects of this provider are not told as text");
}

int no_set(struct fid *fid, const char *name, uint64_t flags, void *ops, void *context)
{
    return -FI_ENOSYS;
}

/* --- connections --- */

static int cm_getname(fid_t fid, void *buffer, size_t *bytes)
{
    const struct endpoint *ep = (struct endpoint *)fid;
    const struct address own = {interface_id.nid, interface_id.pid, ep->slot};
    const size_t room = *bytes;
    *bytes = sizeof own;
    for (size_t i = 0; i < sizeof own && i < room; i++)
        ((char *)buffer)[i] = ((const char *)&own)[i];
    return room < sizeof own ? -FI_ETOOSMALL : 0;
}

#define NO_CONNECTION "endpoints are not connected (FI_EP_RDM)"
ABSENT((fid_t fid, void *buffer, size_t bytes), setname, "an endpoint's address is its node's")
ABSENT((struct fid_ep * ep, void *buffer, size_t *bytes), getpeer, NO_CONNECTION)
ABSENT((struct fid_ep * ep, const void *address, const void *data, size_t bytes), connect,
       NO_CONNECTION)
ABSENT((struct fid_pep * ep), listen, NO_CONNECTION)
ABSENT((struct fid_ep * ep, const void *data, size_t bytes), accept, NO_CONNECTION)
ABSENT((struct fid_pep * ep, fid_t handle, const void *data, size_t bytes), reject,
       NO_CONNECTION)
ABSENT((struct fid_ep * ep, const void *address, uint64_t flags, struct fid_mc **mc, void *context),
       join, "there are no multicasts and no collective operations")

/* Nothing to do: fi_close ends what is under way. */
static int cm_shutdown(struct fid_ep *ep, uint64_t flags)
{
    return 0;
}

struct fi_ops_cm ep_cm = {
    .size = sizeof ep_cm,
    .setname = cm_setname,
    .getname = cm_getname,
    .getpeer = cm_getpeer,
    .connect = cm_connect,
    .listen = cm_listen,
    .accept = cm_accept,
    .reject = cm_reject,
    .shutdown = cm_shutdown,
    .join = cm_join,
};

/* --- collective operations --- */

#define NO_COLLECTIVE(name, ...)                                                                   \
    static ssize_t name(struct fid_ep *ep, __VA_ARGS__)                                            \
    {                                                                                              \
        return refuse(-FI_ENOSYS, "fi_" #name ": there are no collective operations");             \
    }
#define BUFFER void *buffer, size_t count, void *desc
#define CONSTANT const void *buffer, size_t count, void *desc
#define RESULT void *result, void *result_desc
#define TYPE enum fi_datatype type
#define REST uint64_t flags, void *context

NO_COLLECTIVE(barrier, fi_addr_t group, void *context)
NO_COLLECTIVE(broadcast, BUFFER, fi_addr_t group, fi_addr_t root, TYPE, REST)
NO_COLLECTIVE(alltoall, CONSTANT, RESULT, fi_addr_t group, TYPE, REST)
NO_COLLECTIVE(allreduce, CONSTANT, RESULT, fi_addr_t group, TYPE, enum fi_op op, REST)
NO_COLLECTIVE(allgather, CONSTANT, RESULT, fi_addr_t group, TYPE, REST)
NO_COLLECTIVE(reduce_scatter, CONSTANT, RESULT, fi_addr_t group, TYPE, enum fi_op op, REST)
NO_COLLECTIVE(reduce, CONSTANT, RESULT, fi_addr_t group, fi_addr_t root, TYPE, enum fi_op op, REST)
NO_COLLECTIVE(scatter, CONSTANT, RESULT, fi_addr_t group, fi_addr_t root, TYPE, REST)
NO_COLLECTIVE(gather, CONSTANT, RESULT, fi_addr_t group, fi_addr_t root, TYPE, REST)
NO_COLLECTIVE(msg, const struct fi_msg_collective *msg, struct fi_ioc *results, void **desc,
              size_t count, uint64_t flags)
NO_COLLECTIVE(barrier2, fi_addr_t group, uint64_t flags, void *context)

struct fi_ops_collective absent_collective = {
    .size = sizeof absent_collective,
    .barrier = barrier,
    .broadcast = broadcast,
    .alltoall = alltoall,
    .allreduce = allreduce,
    .allgather = allgather,
    .reduce_scatter = reduce_scatter,
    .reduce = reduce,
    .scatter = scatter,
    .gather = gather,
    .msg = msg,
    .barrier2 = barrier2,
};
