// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Loading: copies the control program, a C array, into the card's memory. */
#include "myri.h"

#include "mcp.h"

#define PIECE 1024u

void card_load(struct myri *myri)
{
	u32 at;

	for (at = 0; at < MCP_BYTES; at += PIECE)
		memcpy_toio(myri->space + at, mcp + at, min(PIECE, MCP_BYTES - at));
}

int card_start(struct myri *myri)
{
	u32 looks;

	card_set(myri, MYRI_AREA(ready), 0);
	card_set(myri, MY_BOARD_SPECIAL + MY_REGISTER_EIMR, MY_ISR_HOST);
	card_set(myri, MY_BOARD_CONTROL, MY_BOARD_CONTROL_RESET_OFF | MY_BOARD_CONTROL_INTERRUPT_ON);
	for (looks = 0; looks < MYRI_LOOKS; looks++) {
		if (card_get(myri, MYRI_AREA(ready)) == MY_READY)
			return 0;
		cpu_relax();
	}
	pci_err(myri->pci, "the control program does not start\n");
	card_stop(myri);
	return -EIO;
}

/* The read comes back when all that was written before is in the card. */
void card_stop(struct myri *myri)
{
	card_set(myri, MY_BOARD_CONTROL, MY_BOARD_CONTROL_RESET_ON | MY_BOARD_CONTROL_INTERRUPT_OFF);
	card_get(myri, MYRI_AREA(ready));
}
