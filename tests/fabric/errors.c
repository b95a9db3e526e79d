/* Errors, each told to whoever has made it: wrong keys and places, truncation, full queues,
 * wrong addresses, cancelled receives, what does not exist. */
#include "harness.h"

#define KEY 0x77

static char memory[4096], bytes[100000];
static int mark;

static void refused(const char *what)
{
    const struct fi_cq_err_entry error = next_error();
    CHECK(error.err == FI_EKEYREJECTED && error.op_context == &mark, "%s: error %d", what,
          error.err);
    const char *why = fi_cq_strerror(own.cq, error.prov_errno, error.err_data, NULL, 0);
    CHECK(strstr(why, "key"), "%s: %s", what, why);
}

static void memory_errors(void)
{
    const fi_addr_t peer = own.peers[1];
    uint64_t word = 1, old;
    DO(fi_write(own.ep, bytes, 8, NULL, peer, 0, KEY + 1, &mark));
    refused("a write with a wrong key");
    DO(fi_writedata(own.ep, bytes, 8, NULL, 1, peer, 0, KEY + 1, &mark));
    refused("a write with a data word and a wrong key");
    DO(fi_read(own.ep, bytes, 8, NULL, peer, 0, KEY + 1, &mark));
    refused("a read with a wrong key");
    DO(fi_write(own.ep, bytes, 8, NULL, peer, sizeof memory - 4, KEY, &mark));
    refused("a write over the end");
    DO(fi_write(own.ep, bytes, 8, NULL, peer, UINT64_C(1) << 40, KEY, &mark));
    refused("a write behind the end");
    DO(fi_read(own.ep, bytes, 8, NULL, peer, 0, KEY + 2, &mark));
    refused("a read of what may only be written");
    DO(fi_fetch_atomic(own.ep, &word, 1, NULL, &old, NULL, peer, 0, KEY + 1, FI_UINT64, FI_SUM,
                       &mark));
    refused("an atomic operation with a wrong key");
    DO(fi_compare_atomic(own.ep, &word, 1, NULL, &old, NULL, &old, NULL, peer, 0, KEY + 2,
                         FI_UINT64, FI_CSWAP, &mark));
    refused("an atomic operation on what may only be written");
    DO(fi_atomic(own.ep, &word, 1, NULL, peer, 0, KEY + 3, FI_UINT64, FI_SUM, &mark));
    refused("an atomic operation on what may only be read");
    DO(fi_atomic(own.ep, &word, 1, NULL, peer, 0, KEY, FI_UINT64, FI_SUM, &mark));
    CHECK(next().op_context == &mark);
    CHECK(fi_write(own.ep, bytes, 8, NULL, peer, 0, UINT64_C(1) << 60, &mark) == -FI_EINVAL);
    CHECK(fi_send(own.ep, bytes, 8, NULL, 12345, &mark) == -FI_EINVAL);
    CHECK(fi_inject(own.ep, bytes, 5000, peer) == -FI_EMSGSIZE);
    CHECK(fi_tsend(own.ep, bytes, 8, NULL, peer, UINT64_C(1) << 63, &mark) == -FI_EINVAL);
}

static void truncated(size_t length, size_t room, bool posted)
{
    if (rank == 1 && posted)
        OK(fi_trecv(own.ep, bytes, room, NULL, FI_ADDR_UNSPEC, 3, 0, &mark));
    barrier();
    if (rank == 0) {
        fill(bytes, length, 8);
        DO(fi_tsend(own.ep, bytes, length, NULL, own.peers[1], 3, &mark));
    }
    barrier();
    if (rank == 1) {
        usleep(1000);
        if (!posted)
            OK(fi_trecv(own.ep, bytes, room, NULL, FI_ADDR_UNSPEC, 3, 0, &mark));
        const struct fi_cq_err_entry error = next_error();
        CHECK(error.err == FI_ETRUNC && error.op_context == &mark && error.tag == 3, "error %d",
              error.err);
        CHECK(error.olen == length - room && error.len == room, "%zu and %zu bytes", error.len,
              error.olen);
        CHECK(is_filled(bytes, room, 8));
    } else {
        CHECK(next().op_context == &mark);
    }
    barrier();
}

static void full(void)
{
    static int sent;
    if (rank == 0) {
        ssize_t result;
        while ((result = fi_send(own.ep, bytes, 8, NULL, own.peers[1], &mark)) == 0)
            sent++;
        CHECK(result == -FI_EAGAIN && sent >= 512, "%d messages, then %zd", sent, result);
        for (int i = 0; i < sent; i++)
            CHECK(next().op_context == &mark);
        int last;
        OK(fi_send(own.ep, bytes, 9, NULL, own.peers[1], &last));
        wait_for(&last);
    } else {
        size_t length = 0;
        while (length != 9) {
            OK(fi_recv(own.ep, bytes, 100, NULL, FI_ADDR_UNSPEC, &mark));
            length = wait_for(&mark).len;
        }
    }
    barrier();
}

static void cancelled(void)
{
    char here[8];
    int first, second;
    if (rank == 1) {
        OK(fi_trecv(own.ep, here, 8, NULL, FI_ADDR_UNSPEC, 4, 0, &first));
        OK(fi_trecv(own.ep, here, 8, NULL, FI_ADDR_UNSPEC, 4, 0, &second));
        OK(fi_cancel(&own.ep->fid, &first));
        const struct fi_cq_err_entry error = next_error();
        CHECK(error.err == FI_ECANCELED && error.op_context == &first && error.tag == 4);
        CHECK(fi_cancel(&own.ep->fid, &first) == -FI_ENOENT);
        barrier();
        CHECK(wait_for(&second).len == 5);
        CHECK(fi_cancel(&own.ep->fid, &second) == -FI_ENOENT);
    } else {
        barrier();
        DO(fi_tinject(own.ep, bytes, 5, own.peers[1], 4));
    }
    barrier();
}

static void absent(void)
{
    struct fid_poll *poll;
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct fi_cq_attr attr = {.wait_obj = FI_WAIT_FD};
    CHECK(fi_poll_open(domain, NULL, &poll) == -FI_ENOSYS);
    CHECK(fi_scalable_ep(domain, info, &ep, NULL) == -FI_ENOSYS);
    CHECK(fi_cq_open(domain, &attr, &cq, NULL) == -FI_ENOSYS);
    CHECK(fi_connect(own.ep, "", NULL, 0) == -FI_ENOSYS);
    CHECK(fi_barrier(own.ep, 0, NULL) == -FI_ENOSYS);
    struct fi_info *hints = fi_allocinfo(), *none = NULL;
    hints->fabric_attr->prov_name = strdup("sunstar");
    hints->caps = FI_MULTICAST;
    CHECK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &none) == -FI_ENODATA);
    hints->caps = FI_MSG;
    hints->ep_attr->type = FI_EP_MSG;
    CHECK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &none) == -FI_ENODATA);
    fi_freeinfo(hints);
}

int main(void)
{
    struct fid_mr *both, *writable, *readable;
    begin(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC, 0);
    OK(fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &both,
                 NULL));
    OK(fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_WRITE, 0, KEY + 2, 0, &writable, NULL));
    OK(fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_READ, 0, KEY + 3, 0, &readable, NULL));
    barrier();
    if (rank == 0)
        memory_errors();
    barrier();
    for (int posted = 0; posted < 2; posted++) {
        truncated(100, 60, posted);
        truncated(16384, 0, posted);
        truncated(90000, 20000, posted);
        truncated(90000, 0, posted);
    }
    full();
    cancelled();
    absent();
    OK(fi_close(&both->fid));
    OK(fi_close(&writable->fid));
    OK(fi_close(&readable->fid));
    end();
    return 0;
}
