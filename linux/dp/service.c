// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The service layer: finds the channel of a packet, and the network interface of a channel. */
#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "service.h"

struct dp_counts dp_counts;

static LIST_HEAD(channels);
static DEFINE_SPINLOCK(lock);
static struct dp_interface *interface;

int dp_register(struct dp_interface *new)
{
	if (interface)
		return -EBUSY;
	dp_counts = (struct dp_counts){};
	interface = new;
	return 0;
}

/* No channel is open: each holds the module. */
void dp_unregister(struct dp_interface *old)
{
	interface = NULL;
}

int dp_node(void)
{
	return interface ? interface->node : -ENODEV;
}

static struct dp_channel *find(const struct dp_channel_id *id)
{
	struct dp_channel *channel;

	list_for_each_entry(channel, &channels, link)
		if (channel->id.local == id->local && channel->id.node == id->node &&
		    channel->id.point == id->point)
			return channel;
	return NULL;
}

int dp_channel_open(struct dp_channel *channel, const struct dp_channel_id *id)
{
	unsigned long flags;
	int error = 0;

	if (!interface)
		return -ENODEV;
	spin_lock_irqsave(&lock, flags);
	if (!list_empty(&channel->link)) {
		error = -EISCONN;
	} else if (find(id)) {
		error = -EADDRINUSE;
	} else {
		channel->id = *id;
		list_add(&channel->link, &channels);
	}
	spin_unlock_irqrestore(&lock, flags);
	return error;
}

void dp_channel_close(struct dp_channel *channel)
{
	struct dp_packet *packet;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	list_del_init(&channel->link);
	dp_counts.closed += channel->count;
	spin_unlock_irqrestore(&lock, flags);
	while ((packet = dp_channel_next(channel)))
		interface->release(interface, packet);
}

int dp_channel_send(struct dp_channel *channel, u32 length)
{
	int error = interface->send(interface, &channel->id, channel->outgoing, length);

	if (!error)
		dp_counts.sent++;
	return error;
}

/* True if the channel that it is for has it now. */
static bool deliver(const struct dp_arrival *arrival, struct dp_packet *packet)
{
	struct dp_channel *channel;

	if (arrival->target != interface->node) {
		dp_counts.misled++;
		return false;
	}
	if (packet->length - arrival->at != arrival->length || arrival->length > DP_PACKET_MAX) {
		dp_counts.misfit++;
		return false;
	}
	channel = find(&arrival->channel);
	if (!channel) {
		dp_counts.no_channel++;
		return false;
	}
	if (channel->count == DP_QUEUE_MAX) {
		dp_counts.no_room++;
		return false;
	}
	list_add_tail(&packet->link, &channel->arrived);
	channel->count++;
	wake_up_interruptible(&channel->readers);
	return true;
}

void dp_receive(const struct dp_arrival *arrival, struct dp_packet *packet)
{
	unsigned long flags;
	bool kept;

	spin_lock_irqsave(&lock, flags);
	dp_counts.received++;
	kept = deliver(arrival, packet);
	spin_unlock_irqrestore(&lock, flags);
	if (!kept)
		interface->release(interface, packet);
}

struct dp_packet *dp_channel_next(struct dp_channel *channel)
{
	struct dp_packet *packet;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	packet = list_first_entry_or_null(&channel->arrived, struct dp_packet, link);
	if (packet) {
		list_del(&packet->link);
		channel->count--;
	}
	spin_unlock_irqrestore(&lock, flags);
	return packet;
}

void dp_packet_done(struct dp_packet *packet)
{
	dp_counts.read++;
	interface->release(interface, packet);
}
