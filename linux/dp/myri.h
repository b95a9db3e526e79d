/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Directed Point on Myrinet. Three layers (vorakosit2001 s2): system calls (channel.c), service (service.c),
 * network interface, which is the card's driver in seven parts (vorakosit2001 s3): initialisation
 * (../card/card.c), loading (../card/load.c), sending (send.c), interrupt service (interrupt.c), character
 * device and /proc (files.c, ../card/routes.c), post-initialisation and clean-up (module.c). network.c makes
 * a network device of the same card.
 */
#ifndef MYRI_H
#define MYRI_H

#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include "card.h"
#include "service.h"

#define MYRI_RECEIVE(field) (MY_DMA_RECEIVE_CHAIN + (u32)offsetof(struct my_dma_block, field))
#define MYRI_HEADER ((u32)sizeof(struct my_packet_header))

/* Bytes of memory for a packet that comes: a header, and an Ethernet frame or a packet of Directed Point. */
#define MYRI_PACKET_BYTES 2048u
#define MYRI_PACKETS 64

struct net_device;

struct myri {
	struct card card;
	struct dp_interface interface;
	/* The send buffer and the command are one packet's at a time. Who sends may be interrupted. */
	spinlock_t sending;
	/* Memory for packets; the last is for those that nobody gets. */
	void *memory;
	dma_addr_t address;
	struct dp_packet packets[MYRI_PACKETS + 1];
	struct list_head free;
	spinlock_t freeing;
	struct net_device *network;
	/* Packets that nobody got. */
	unsigned long no_memory, too_long;
};

/* send.c: sending. The header has all but the kind of packet and the source. */
int card_send(struct myri *myri, u16 kind, struct my_packet_header header, const void *data);

/* interrupt.c: interrupt service */
int packets_allocate(struct myri *myri);
void packets_free(struct myri *myri);
void packet_release(struct myri *myri, struct dp_packet *packet);
irqreturn_t card_interrupt(int irq, void *data);

/* files.c: character device and /proc */
int files_create(struct myri *myri);
void files_remove(struct myri *myri);

/* network.c */
int network_create(struct myri *myri);
void network_remove(struct myri *myri);
void network_receive(struct myri *myri, struct dp_packet *packet);

#endif
