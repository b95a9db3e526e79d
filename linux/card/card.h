/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The Myrinet card as any driver of it needs it: found, checked, loaded, started, routed, and mapped. */
#ifndef CARD_H
#define CARD_H

#include <linux/bitmap.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/pci.h>

#include "abi_myrinet.h"

#define CARD_AREA(field) (MY_REGION_COMMAND_BASE + (u32)offsetof(struct my_command_area, field))

/* Looks at a word of the card after which its processor counts as dead; each takes a microsecond's third.
 * */
#define CARD_LOOKS 3000000

struct card {
	struct pci_dev *pci;
	void __iomem *space;
	/* Nodes that have a route. */
	DECLARE_BITMAP(routed, MY_ROUTE_COUNT);
	struct mutex routing;
};

/* card.c: initialisation */
int card_find(struct card *card, struct pci_dev *pci, u32 check);
void card_lose(struct card *card);

/* The card's words are big endian. */
static inline u32 card_get(struct card *card, u32 at)
{
	return ioread32be(card->space + at);
}

static inline void card_set(struct card *card, u32 at, u32 value)
{
	iowrite32be(value, card->space + at);
}

/* load.c: loading */
void card_load(struct card *card, const u8 *program, u32 bytes);
/* Lets the processor go, and waits until the control program says that it is there. */
int card_start(struct card *card);
void card_stop(struct card *card);

/* routes.c: /proc/net/myri_route */
int routes_create(struct card *card);
void routes_remove(struct card *card);

/* The card's space from `at` on, in a process. */
struct vm_area_struct;
int card_map(struct card *card, struct vm_area_struct *vma, u32 at, u32 bytes);

#endif
