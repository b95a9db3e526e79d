// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The API layer: system calls on an open file, which an ioctl makes a channel. */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "myri.h"

static int channel_open(struct inode *inode, struct file *file)
{
	struct dp_channel *channel = kzalloc(sizeof(*channel), GFP_KERNEL);

	if (!channel)
		return -ENOMEM;
	INIT_LIST_HEAD(&channel->link);
	INIT_LIST_HEAD(&channel->arrived);
	init_waitqueue_head(&channel->readers);
	mutex_init(&channel->writing);
	file->private_data = channel;
	return nonseekable_open(inode, file);
}

static int channel_release(struct inode *inode, struct file *file)
{
	struct dp_channel *channel = file->private_data;

	dp_channel_close(channel);
	kfree(channel);
	return 0;
}

static long channel_ioctl(struct file *file, unsigned int request, unsigned long argument)
{
	struct dp_channel_id id;

	switch (request) {
	case DP_NODE:
		return dp_node();
	case DP_CHANNEL:
		if (copy_from_user(&id, (void __user *)argument, sizeof(id)))
			return -EFAULT;
		return dp_channel_open(file->private_data, &id);
	}
	return -ENOTTY;
}

static bool is_channel(struct dp_channel *channel)
{
	return !list_empty(&channel->link);
}

static ssize_t channel_write(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	struct dp_channel *channel = file->private_data;
	int error;

	if (!is_channel(channel))
		return -ENOTCONN;
	if (!length || length > DP_PACKET_MAX)
		return -EMSGSIZE;
	if (mutex_lock_interruptible(&channel->writing))
		return -ERESTARTSYS;
	error = copy_from_user(channel->outgoing, from, length) ? -EFAULT : 0;
	if (!error)
		error = dp_channel_send(channel, length);
	mutex_unlock(&channel->writing);
	return error ? error : length;
}

static ssize_t channel_read(struct file *file, char __user *to, size_t length, loff_t *at)
{
	struct dp_channel *channel = file->private_data;
	struct dp_packet *packet = NULL;
	size_t bytes;
	int error;

	if (!is_channel(channel))
		return -ENOTCONN;
	if (file->f_flags & O_NONBLOCK) {
		packet = dp_channel_next(channel);
		if (!packet)
			return -EAGAIN;
	} else if (wait_event_interruptible(channel->readers, (packet = dp_channel_next(channel)))) {
		return -ERESTARTSYS;
	}
	bytes = min(length, (size_t)(packet->length - MYRI_HEADER));
	error = copy_to_user(to, packet->data + MYRI_HEADER, bytes);
	dp_packet_done(packet);
	return error ? -EFAULT : bytes;
}

static __poll_t channel_poll(struct file *file, poll_table *table)
{
	struct dp_channel *channel = file->private_data;

	poll_wait(file, &channel->readers, table);
	return EPOLLOUT | EPOLLWRNORM | (READ_ONCE(channel->count) ? EPOLLIN | EPOLLRDNORM : 0);
}

const struct file_operations dp_channel_operations = {
	.owner = THIS_MODULE,
	.open = channel_open,
	.release = channel_release,
	.unlocked_ioctl = channel_ioctl,
	.read = channel_read,
	.write = channel_write,
	.poll = channel_poll,
};
