/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The driver of the bypass library: it loads the control program, gives ports to processes, and is in no
 * message's way. module.c is its life, ports.c the device; ../card is the card as any driver of it needs it.
 */
#ifndef BYPASS_MODULE_H
#define BYPASS_MODULE_H

#include <linux/miscdevice.h>

#include "card.h"
#include "interface.h"

#define CONTROL(field) (MY_BYPASS_CONTROL + (u32)offsetof(struct my_bypass_control, field))
#define LIMITS(port, field) \
	(MY_BYPASS_LIMITS + (port) * (u32)sizeof(struct my_bypass_limits) + \
	 (u32)offsetof(struct my_bypass_limits, field))

struct bypass {
	struct card card;
	u32 node;
	struct mutex opening;
	/* Ports that somebody has. */
	unsigned long taken;
	/* Ports that were opened and closed. */
	u32 changes;
	struct miscdevice device;
};

/* ports.c */
int ports_create(struct bypass *bypass);
void ports_remove(struct bypass *bypass);

#endif
