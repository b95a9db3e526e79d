/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What the module and libdp say to each other. */
#ifndef INTERFACE_H
#define INTERFACE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Character devices: minor 0 is the card's space (vorakosit2001 s3), minor 1 opens channels. */
#define DP_MAJOR 240
#define DP_MINOR_CARD 0
#define DP_MINOR_CHANNEL 1
#define DP_DEVICE "/dev/dp"

#define DP_PACKET_MAX 1500

/* {local DPID, peer NID, peer DPID} */
struct dp_channel_id {
	__u16 local;
	__u16 node;
	__u16 point;
};

/* Makes an open file that channel. */
#define DP_CHANNEL _IOW('D', 0, struct dp_channel_id)
/* Returns the node's number. */
#define DP_NODE _IO('D', 1)

#endif
