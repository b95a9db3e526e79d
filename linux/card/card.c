// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Initialisation: finds the card, maps it, and clears and checks its memory. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "card.h"

#define PIECE 4096u

/* Control programs take their regions for empty, but for this buffer, which is written before it is
 * read, and what is behind it, which nobody reads. */
#define TAKEN_FOR_EMPTY MY_REGION_RECEIVE_BASE

/* Each piece is cleared and, of so many bytes, looked at before the next. */
static int check_memory(struct card *card, u32 check)
{
	u8 *piece = kmalloc(PIECE, GFP_KERNEL);
	int error = 0;
	u32 at;

	if (!piece)
		return -ENOMEM;
	for (at = 0; at < max_t(u32, check, TAKEN_FOR_EMPTY) && at < MY_SRAM_SIZE && !error; at += PIECE) {
		memset_io(card->space + at, 0, PIECE);
		if (at >= check)
			continue;
		memcpy_fromio(piece, card->space + at, PIECE);
		if (memchr_inv(piece, 0, PIECE)) {
			pci_err(card->pci, "the card's memory at %#x does not keep what is written\n", at);
			error = -EIO;
		}
	}
	kfree(piece);
	return error;
}

int card_find(struct card *card, struct pci_dev *pci, u32 check)
{
	int error = pci_enable_device(pci);

	if (error)
		return error;
	card->pci = pci;
	mutex_init(&card->routing);
	error = pci_request_region(pci, 0, KBUILD_MODNAME);
	if (error)
		goto disable;
	error = -ENODEV;
	if (pci_resource_len(pci, 0) != MY_SPACE_SIZE) {
		pci_err(pci, "the card's space is of %#llx bytes\n", (u64)pci_resource_len(pci, 0));
		goto release;
	}
	card->space = pci_iomap(pci, 0, 0);
	if (!card->space)
		goto release;
	pci_set_master(pci);
	card_stop(card);
	error = check_memory(card, check);
	if (!error)
		return 0;
	pci_iounmap(pci, card->space);
release:
	pci_release_region(pci, 0);
disable:
	pci_disable_device(pci);
	return error;
}

void card_lose(struct card *card)
{
	pci_iounmap(card->pci, card->space);
	pci_release_region(card->pci, 0);
	pci_disable_device(card->pci);
}

int card_map(struct card *card, struct vm_area_struct *vma, u32 at, u32 bytes)
{
	/* A copy of a register is no register. */
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	return vm_iomap_memory(vma, pci_resource_start(card->pci, 0) + at, bytes);
}
