/* The calls for messages, with and without tags: each says what it is about, send.c and
 * receive.c do it. */
#include "fabric.h"

#include <stdlib.h>

/* Lists of memory to receive in have at most one element (iov_limit). */
static bool one(const struct iovec *list, size_t count, void **buffer, size_t *length)
{
    if (count > 1) {
        refuse(0, "a message is one stretch of memory (iov_limit)");
        return false;
    }
    *buffer = count ? list->iov_base : NULL;
    *length = count ? list->iov_len : 0;
    return true;
}

/* Copies a list together. */
static void gather(struct message *message, const struct iovec *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        message->length += list[i].iov_len;
    if (message->length == 0)
        return;
    char *at = message->kept = need(1, message->length);
    for (size_t i = 0; i < count; at += list[i++].iov_len)
        copy(at, list[i].iov_base, list[i].iov_len);
    message->buffer = message->kept;
}

/* Whatever iov_limit says, Intel's MPI sends what belongs to windows as two or three elements. */
static ssize_t send_list(struct fid_ep *fid, struct message *message, const struct iovec *list,
                         size_t count)
{
    if (message->flags & FI_FENCE)
        return refuse(-FI_ENOSYS, "FI_FENCE: operations do not wait for each other");
    if (count == 1) {
        message->buffer = list->iov_base;
        message->length = list->iov_len;
    } else {
        gather(message, list, count);
    }
    const ssize_t result = send_message(EP(fid), message);
    if (result)
        free(message->kept);
    return result;
}

static ssize_t receive_list_of(struct fid_ep *fid, struct wanted *wanted, const struct iovec *list,
                               size_t count)
{
    if (!one(list, count, &wanted->buffer, &wanted->length))
        return -FI_EINVAL;
    if (wanted->flags & (FI_PEEK | FI_CLAIM))
        return receive_peek(EP(fid), wanted);
    return receive_post(EP(fid), wanted);
}

/* --- without tags --- */

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
    CALL(RECVMSG);
    struct wanted wanted = {.from = msg->addr,
                            .flags = flags & ~(FI_PEEK | FI_CLAIM | FI_DISCARD),
                            .context = msg->context};
    if (wanted.flags != flags)
        return refuse(-FI_ENOSYS, "fi_recvmsg: only tagged messages can be peeked at and claimed");
    return receive_list_of(fid, &wanted, msg->msg_iov, msg->iov_count);
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *list, void **desc, size_t count,
                         fi_addr_t from, void *context)
{
    CALL(RECVV);
    const struct fi_msg msg = {list, desc, count, from, context, 0};
    return msg_recvmsg(fid, &msg, EP(fid)->rx_flags);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buffer, size_t length, void *desc, fi_addr_t from,
                        void *context)
{
    CALL(RECV);
    const struct iovec list = {buffer, length};
    return msg_recvv(fid, &list, &desc, 1, from, context);
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
    CALL(SENDMSG);
    struct message message = {
        .to = msg->addr, .data = msg->data, .flags = flags, .context = msg->context};
    return send_list(fid, &message, msg->msg_iov, msg->iov_count);
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *list, void **desc, size_t count,
                         fi_addr_t to, void *context)
{
    CALL(SENDV);
    const struct fi_msg msg = {list, desc, count, to, context, 0};
    return msg_sendmsg(fid, &msg, EP(fid)->tx_flags);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buffer, size_t length, void *desc,
                        fi_addr_t to, void *context)
{
    CALL(SEND);
    const struct iovec list = {(void *)buffer, length};
    return msg_sendv(fid, &list, &desc, 1, to, context);
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buffer, size_t length, void *desc,
                            uint64_t data, fi_addr_t to, void *context)
{
    CALL(SENDDATA);
    const struct iovec list = {(void *)buffer, length};
    const struct fi_msg msg = {&list, &desc, 1, to, context, data};
    return msg_sendmsg(fid, &msg, EP(fid)->tx_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buffer, size_t length, fi_addr_t to)
{
    CALL(INJECT);
    const struct message message = {
        .buffer = buffer, .length = length, .to = to, .quiet = true, .flags = FI_INJECT};
    return send_message(EP(fid), &message);
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buffer, size_t length, uint64_t data,
                              fi_addr_t to)
{
    CALL(INJECTDATA);
    const struct message message = {.buffer = buffer,
                                    .length = length,
                                    .to = to,
                                    .quiet = true,
                                    .data = data,
                                    .flags = FI_INJECT | FI_REMOTE_CQ_DATA};
    return send_message(EP(fid), &message);
}

struct fi_ops_msg msg_ops = {
    .size = sizeof msg_ops,
    .recv = msg_recv,
    .recvv = msg_recvv,
    .recvmsg = msg_recvmsg,
    .send = msg_send,
    .sendv = msg_sendv,
    .sendmsg = msg_sendmsg,
    .inject = msg_inject,
    .senddata = msg_senddata,
    .injectdata = msg_injectdata,
};

/* --- with tags --- */

static ssize_t tag_recvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
    CALL(TRECVMSG);
    struct wanted wanted = {.from = msg->addr,
                            .tagged = true,
                            .tag = msg->tag,
                            .ignore = msg->ignore,
                            .flags = flags,
                            .context = msg->context};
    if (flags & FI_MULTI_RECV)
        return refuse(-FI_ENOSYS, "FI_MULTI_RECV: buffers for several messages are for messages "
                                  "without tags");
    return receive_list_of(fid, &wanted, msg->msg_iov, msg->iov_count);
}

static ssize_t tag_recvv(struct fid_ep *fid, const struct iovec *list, void **desc, size_t count,
                         fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
    CALL(TRECVV);
    const struct fi_msg_tagged msg = {list, desc, count, from, tag, ignore, context, 0};
    return tag_recvmsg(fid, &msg, EP(fid)->rx_flags);
}

static ssize_t tag_recv(struct fid_ep *fid, void *buffer, size_t length, void *desc, fi_addr_t from,
                        uint64_t tag, uint64_t ignore, void *context)
{
    CALL(TRECV);
    const struct iovec list = {buffer, length};
    return tag_recvv(fid, &list, &desc, 1, from, tag, ignore, context);
}

static ssize_t tag_sendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
    CALL(TSENDMSG);
    struct message message = {.to = msg->addr,
                              .tagged = true,
                              .tag = msg->tag,
                              .data = msg->data,
                              .flags = flags,
                              .context = msg->context};
    return send_list(fid, &message, msg->msg_iov, msg->iov_count);
}

static ssize_t tag_sendv(struct fid_ep *fid, const struct iovec *list, void **desc, size_t count,
                         fi_addr_t to, uint64_t tag, void *context)
{
    CALL(TSENDV);
    const struct fi_msg_tagged msg = {list, desc, count, to, tag, 0, context, 0};
    return tag_sendmsg(fid, &msg, EP(fid)->tx_flags);
}

static ssize_t tag_send(struct fid_ep *fid, const void *buffer, size_t length, void *desc,
                        fi_addr_t to, uint64_t tag, void *context)
{
    CALL(TSEND);
    const struct iovec list = {(void *)buffer, length};
    return tag_sendv(fid, &list, &desc, 1, to, tag, context);
}

static ssize_t tag_senddata(struct fid_ep *fid, const void *buffer, size_t length, void *desc,
                            uint64_t data, fi_addr_t to, uint64_t tag, void *context)
{
    CALL(TSENDDATA);
    const struct iovec list = {(void *)buffer, length};
    const struct fi_msg_tagged msg = {&list, &desc, 1, to, tag, 0, context, data};
    return tag_sendmsg(fid, &msg, EP(fid)->tx_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t tag_inject(struct fid_ep *fid, const void *buffer, size_t length, fi_addr_t to,
                          uint64_t tag)
{
    CALL(TINJECT);
    const struct message message = {.buffer = buffer,
                                    .length = length,
                                    .to = to,
                                    .tagged = true,
                                    .quiet = true,
                                    .tag = tag,
                                    .flags = FI_INJECT};
    return send_message(EP(fid), &message);
}

static ssize_t tag_injectdata(struct fid_ep *fid, const void *buffer, size_t length, uint64_t data,
                              fi_addr_t to, uint64_t tag)
{
    CALL(TINJECTDATA);
    const struct message message = {.buffer = buffer,
                                    .length = length,
                                    .to = to,
                                    .tagged = true,
                                    .quiet = true,
                                    .tag = tag,
                                    .data = data,
                                    .flags = FI_INJECT | FI_REMOTE_CQ_DATA};
    return send_message(EP(fid), &message);
}

struct fi_ops_tagged tagged_ops = {
    .size = sizeof tagged_ops,
    .recv = tag_recv,
    .recvv = tag_recvv,
    .recvmsg = tag_recvmsg,
    .send = tag_send,
    .sendv = tag_sendv,
    .sendmsg = tag_sendmsg,
    .inject = tag_inject,
    .senddata = tag_senddata,
    .injectdata = tag_injectdata,
};
