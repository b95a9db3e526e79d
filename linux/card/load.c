// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Loading: copies the control program, a C array, into the card's memory. */
#include "card.h"

#define PIECE 1024u

void card_load(struct card *card, const u8 *program, u32 bytes)
{
	u32 at;

	for (at = 0; at < bytes; at += PIECE)
		memcpy_toio(card->space + at, program + at, min(PIECE, bytes - at));
}

int card_start(struct card *card)
{
	u32 looks;

	card_set(card, CARD_AREA(ready), 0);
	card_set(card, MY_BOARD_SPECIAL + MY_REGISTER_EIMR, MY_ISR_HOST);
	card_set(card, MY_BOARD_CONTROL, MY_BOARD_CONTROL_RESET_OFF | MY_BOARD_CONTROL_INTERRUPT_ON);
	for (looks = 0; looks < CARD_LOOKS; looks++) {
		if (card_get(card, CARD_AREA(ready)) == MY_READY)
			return 0;
		cpu_relax();
	}
	pci_err(card->pci, "the control program does not start\n");
	card_stop(card);
	return -EIO;
}

/* The read comes back when all that was written before is in the card. */
void card_stop(struct card *card)
{
	card_set(card, MY_BOARD_CONTROL, MY_BOARD_CONTROL_RESET_ON | MY_BOARD_CONTROL_INTERRUPT_OFF);
	card_get(card, CARD_AREA(ready));
}
