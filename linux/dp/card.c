// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Initialisation: finds the card, maps it, and clears and checks its memory. */
#include <linux/slab.h>
#include <linux/string.h>

#include "myri.h"

#define PIECE 4096u

/* Each piece is cleared and looked at before the next. */
static int check_memory(struct myri *myri, u32 check)
{
	u8 *piece = kmalloc(PIECE, GFP_KERNEL);
	int error = 0;
	u32 at;

	if (!piece)
		return -ENOMEM;
	for (at = 0; at < MY_SRAM_SIZE && !error; at += PIECE) {
		memset_io(myri->space + at, 0, PIECE);
		if (at >= check)
			continue;
		memcpy_fromio(piece, myri->space + at, PIECE);
		if (memchr_inv(piece, 0, PIECE)) {
			pci_err(myri->pci, "the card's memory at %#x does not keep what is written\n", at);
			error = -EIO;
		}
	}
	kfree(piece);
	return error;
}

int card_find(struct myri *myri, u32 check)
{
	struct pci_dev *pci = myri->pci;
	int error = pci_enable_device(pci);

	if (error)
		return error;
	error = pci_request_region(pci, 0, KBUILD_MODNAME);
	if (error)
		goto disable;
	error = -ENODEV;
	if (pci_resource_len(pci, 0) != MY_SPACE_SIZE) {
		pci_err(pci, "the card's space is of %#llx bytes\n", (u64)pci_resource_len(pci, 0));
		goto release;
	}
	myri->space = pci_iomap(pci, 0, 0);
	if (!myri->space)
		goto release;
	pci_set_master(pci);
	card_stop(myri);
	error = check_memory(myri, check);
	if (!error)
		return 0;
	pci_iounmap(pci, myri->space);
release:
	pci_release_region(pci, 0);
disable:
	pci_disable_device(pci);
	return error;
}

void card_lose(struct myri *myri)
{
	pci_iounmap(myri->pci, myri->space);
	pci_release_region(myri->pci, 0);
	pci_disable_device(myri->pci);
}
