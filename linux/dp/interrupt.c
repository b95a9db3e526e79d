// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Interrupt service: brings the packet that has come into memory by the card's DMA, and passes it on. */
#include <linux/dma-mapping.h>

#include "myri.h"

int packets_allocate(struct myri *myri)
{
	size_t bytes = (MYRI_PACKETS + 1) * MYRI_PACKET_BYTES;
	unsigned int i;

	myri->memory = dma_alloc_coherent(&myri->card.pci->dev, bytes, &myri->address, GFP_KERNEL);
	if (!myri->memory)
		return -ENOMEM;
	INIT_LIST_HEAD(&myri->free);
	for (i = 0; i <= MYRI_PACKETS; i++) {
		struct dp_packet *packet = &myri->packets[i];

		packet->data = myri->memory + i * MYRI_PACKET_BYTES;
		packet->address = myri->address + i * MYRI_PACKET_BYTES;
		if (i < MYRI_PACKETS)
			list_add_tail(&packet->link, &myri->free);
	}
	return 0;
}

void packets_free(struct myri *myri)
{
	size_t bytes = (MYRI_PACKETS + 1) * MYRI_PACKET_BYTES;

	dma_free_coherent(&myri->card.pci->dev, bytes, myri->memory, myri->address);
}

void packet_release(struct myri *myri, struct dp_packet *packet)
{
	unsigned long flags;

	spin_lock_irqsave(&myri->freeing, flags);
	list_add_tail(&packet->link, &myri->free);
	spin_unlock_irqrestore(&myri->freeing, flags);
}

/* Memory for a packet; the last where nobody gets it, for its header. */
static struct dp_packet *packet_for(struct myri *myri, u32 length)
{
	struct dp_packet *packet = &myri->packets[MYRI_PACKETS];
	unsigned long flags;

	packet->length = MYRI_HEADER;
	if (length > MYRI_PACKET_BYTES) {
		myri->too_long++;
		return packet;
	}
	spin_lock_irqsave(&myri->freeing, flags);
	if (list_empty(&myri->free)) {
		myri->no_memory++;
	} else {
		packet = list_first_entry(&myri->free, struct dp_packet, link);
		list_del(&packet->link);
		packet->length = length;
	}
	spin_unlock_irqrestore(&myri->freeing, flags);
	return packet;
}

/* Lets the card's DMA bring the packet, and waits for it: the receive buffer is then another's. */
static int take_packet(struct myri *myri, struct dp_packet *packet, u32 number)
{
	u32 looks;

	card_set(&myri->card, MYRI_RECEIVE(length), packet->length);
	card_set(&myri->card, MYRI_RECEIVE(host_hi), upper_32_bits(packet->address));
	card_set(&myri->card, MYRI_RECEIVE(host_lo), lower_32_bits(packet->address));
	card_set(&myri->card, MY_BOARD_CONTROL, MY_BOARD_CONTROL_DMA_1);
	for (looks = 0; looks < CARD_LOOKS; looks++) {
		if (card_get(&myri->card, CARD_AREA(waiting)) != number)
			return 0;
		cpu_relax();
	}
	return -ETIMEDOUT;
}

static void pass_on(struct myri *myri, struct dp_packet *packet)
{
	const struct my_packet_header *header = (void *)packet->data;
	struct dp_arrival arrival = {
		.channel = {
			.local = be16_to_cpu((__force __be16)header->target_point),
			.node = be16_to_cpu((__force __be16)header->source),
			.point = be16_to_cpu((__force __be16)header->source_point),
		},
		.target = be16_to_cpu((__force __be16)header->target),
		.length = be32_to_cpu((__force __be32)header->length),
		.at = MYRI_HEADER,
	};

	if (be16_to_cpu((__force __be16)header->kind) == MY_PACKET_TYPE_FRAME)
		network_receive(myri, packet);
	else
		dp_receive(&arrival, packet);
}

irqreturn_t card_interrupt(int irq, void *data)
{
	struct myri *myri = data;
	/* The line may be another's. */
	u32 number = card_get(&myri->card, CARD_AREA(waiting));
	struct dp_packet *packet;

	if (!number)
		return IRQ_NONE;
	card_set(&myri->card, MY_BOARD_SPECIAL + MY_REGISTER_ISR, MY_ISR_HOST);
	packet = packet_for(myri, card_get(&myri->card, MYRI_RECEIVE(length)));
	if (take_packet(myri, packet, number))
		pci_err(myri->card.pci, "a packet does not come into memory\n");
	else if (packet != &myri->packets[MYRI_PACKETS])
		pass_on(myri, packet);
	return IRQ_HANDLED;
}
