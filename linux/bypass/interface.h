/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What the module and libbypass say to each other. */
#ifndef BYPASS_INTERFACE_H
#define BYPASS_INTERFACE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define BYPASS_DEVICE "/dev/bypass"

/* Most bytes of a port's memory. */
#define BYPASS_MEMORY_MAX (1u << 20)

struct bypass_port {
	__u32 port;  /* in: the port that is wanted */
	__u32 bytes; /* in: bytes of memory, a multiple of pages */
	__u32 node;  /* out: the number of this node */
};

/* Makes an open file that port. Then its page is mapped at offset 0, and its memory behind it. */
#define BYPASS_OPEN _IOWR('B', 0, struct bypass_port)

#endif
