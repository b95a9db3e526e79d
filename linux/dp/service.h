/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The service layer of Directed Point: takes packets from channels to a network interface and back. */
#ifndef SERVICE_H
#define SERVICE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "interface.h"

/* Packets that a channel keeps for its reader; more are lost. */
#define DP_QUEUE_MAX 32

/* A packet that has come, in memory that is the network interface's. */
struct dp_packet {
	struct list_head link;
	dma_addr_t address;
	/* Header and data. */
	u8 *data;
	/* Bytes of both. */
	u32 length;
};

/* A network interface. */
struct dp_interface {
	u16 node;
	/* Sends a packet: it is out of `data` when this returns. */
	int (*send)(struct dp_interface *interface, const struct dp_channel_id *channel, const void *data,
		    u32 length);
	/* Takes the memory of a packet back. */
	void (*release)(struct dp_interface *interface, struct dp_packet *packet);
};

/* A packet as its header says. */
struct dp_arrival {
	/* Whose it is, as the receiver sees it. */
	struct dp_channel_id channel;
	u16 target;
	/* Bytes of data, and where they begin. */
	u32 length, at;
};

struct dp_channel {
	struct list_head link;
	struct dp_channel_id id;
	struct list_head arrived;
	unsigned int count;
	wait_queue_head_t readers;
	struct mutex writing;
	u8 outgoing[DP_PACKET_MAX];
};

/* What became of packets, as /proc/net/dp tells. */
struct dp_counts {
	unsigned long sent, received, read;
	/* Lost: for another node, of a length that the header does not say, without a channel, without room,
	 * closed. */
	unsigned long misled, misfit, no_channel, no_room, closed;
};
extern struct dp_counts dp_counts;

/* There is one network interface at a time. */
int dp_register(struct dp_interface *interface);
void dp_unregister(struct dp_interface *interface);

/* The interface gives a packet; from an interrupt. */
void dp_receive(const struct dp_arrival *arrival, struct dp_packet *packet);

/* What the system calls do. */
int dp_node(void);
int dp_channel_open(struct dp_channel *channel, const struct dp_channel_id *id);
void dp_channel_close(struct dp_channel *channel);
int dp_channel_send(struct dp_channel *channel, u32 length);
/* The next packet, or none. */
struct dp_packet *dp_channel_next(struct dp_channel *channel);
void dp_packet_done(struct dp_packet *packet);

/* channel.c */
extern const struct file_operations dp_channel_operations;

#endif
