/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef SUNSTAR_H
#define SUNSTAR_H

#include <linux/types.h>

struct uml_pt_regs;

enum sunstar_primitive { SUNSTAR_SYSCALL, SUNSTAR_INTERRUPT, SUNSTAR_SWITCH, SUNSTAR_PACKET };

/* Adds what a primitive costs to what is to be waited for. */
void sunstar_charge(enum sunstar_primitive primitive);
void sunstar_copied(unsigned long bytes);
/* Waits for it. Whether there was anything. */
bool sunstar_pay(void);
/* How long a reading of the clock takes, with all that is to be waited for; the caller lets it pass. */
unsigned long sunstar_clock(void);
/* Answers an RDTSC or RDTSCP of a process, which has faulted. Whether it was one. */
bool sunstar_counter(struct uml_pt_regs *regs);
/* Random bytes from the run's seed. */
long sunstar_random(void *buf, unsigned long len);

#endif
