/* Directed Point's library: its calls are the system's. */
#include "../../include/dp.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../linux/dp/interface.h"
#include "log.h"

static int is_number(int number)
{
    return number >= 0 && number <= 0xffff;
}

/* Closes what is of no use, and keeps the error. */
static int give_up(int file)
{
    int why = errno;

    close(file);
    errno = why;
    return -1;
}

int dp_node(void)
{
    int file = open(DP_DEVICE, O_RDWR | O_CLOEXEC);

    if (file < 0)
        return -1;
    int node = ioctl(file, DP_NODE);
    if (node < 0)
        return give_up(file);
    close(file);
    return node;
}

int dp_open(int local, int node, int point)
{
    struct dp_channel_id id = {.local = local, .node = node, .point = point};

    if (!is_number(local) || !is_number(node) || !is_number(point)) {
        errno = EINVAL;
        return -1;
    }
    int file = open(DP_DEVICE, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return -1;
    if (ioctl(file, DP_CHANNEL, &id))
        return give_up(file);
    log_opened(file, &id);
    return file;
}

ssize_t dp_write(int channel, const void *data, size_t bytes)
{
    ssize_t written = write(channel, data, bytes);

    log_written(channel, data, bytes, written);
    return written;
}

ssize_t dp_read(int channel, void *data, size_t bytes)
{
    ssize_t got = read(channel, data, bytes);

    log_read(channel, data, bytes, got);
    return got;
}

int dp_close(int channel)
{
    log_closed(channel);
    return close(channel);
}
