// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Sending: looks whether the card is free, copies header and data into it, and waits until they are sent. */
#include "myri.h"

static int wait_until_free(struct myri *myri)
{
	u32 looks;

	for (looks = 0; looks < CARD_LOOKS; looks++) {
		if (card_get(&myri->card, CARD_AREA(command)) == MY_COMMAND_NONE)
			return 0;
		/* Interrupts come in between: the way may be taken by a packet that wants this node. */
		cpu_relax();
	}
	return -ETIMEDOUT;
}

static int send_packet(struct myri *myri, const struct my_packet_header *header, const void *data)
{
	u32 length = be32_to_cpu((__force __be32)header->length);
	int error = wait_until_free(myri);

	if (error)
		return error;
	memcpy_toio(myri->card.space + MY_REGION_SEND_BASE, header, MYRI_HEADER);
	memcpy_toio(myri->card.space + MY_REGION_SEND_BASE + MYRI_HEADER, data, length);
	card_set(&myri->card, CARD_AREA(length), MYRI_HEADER + length);
	card_set(&myri->card, CARD_AREA(command), MY_COMMAND_SEND);
	error = wait_until_free(myri);
	if (error)
		return error;
	switch (card_get(&myri->card, CARD_AREA(status))) {
	case MY_STATUS_DONE:
		return 0;
	case MY_STATUS_NO_ROUTE:
		return -EHOSTUNREACH;
	default:
		return -EIO;
	}
}

int card_send(struct myri *myri, u16 kind, struct my_packet_header header, const void *data)
{
	int error;

	if (header.length > MY_REGION_SEND_SIZE - MYRI_HEADER)
		return -EMSGSIZE;
	header.kind = (__force u16)cpu_to_be16(kind);
	header.source = (__force u16)cpu_to_be16(myri->interface.node);
	header.target = (__force u16)cpu_to_be16(header.target);
	header.target_point = (__force u16)cpu_to_be16(header.target_point);
	header.source_point = (__force u16)cpu_to_be16(header.source_point);
	header.length = (__force u32)cpu_to_be32(header.length);
	/* The network device sends from softirqs. */
	spin_lock_bh(&myri->sending);
	error = send_packet(myri, &header, data);
	spin_unlock_bh(&myri->sending);
	return error;
}
