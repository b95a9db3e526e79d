/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef SUNSTAR_H
#define SUNSTAR_H

#include <linux/types.h>

struct pt_regs;
struct uml_pt_regs;

enum sunstar_primitive { SUNSTAR_SYSCALL, SUNSTAR_INTERRUPT, SUNSTAR_SWITCH, SUNSTAR_PACKET };

/* Adds what a primitive costs to what is to be waited for. */
void sunstar_charge(enum sunstar_primitive primitive);
void sunstar_copied(unsigned long bytes);
/* A system call begins: what is free in it, and its own cost. Whether it was one for the bench alone, and is
 * done. */
bool sunstar_syscall(struct pt_regs *regs);
void sunstar_syscall_done(void);
/* Waits for it. Whether there was anything. */
bool sunstar_pay(void);
/* How long a reading of the clock takes, with all that is to be waited for; the caller lets it pass. */
unsigned long sunstar_clock(void);
/* Sleeps so many ns, until a device has stored something at this physical address, or until something
 * happens here; in steps of a period. The bench counts in them: it finds address and period at the end of
 * the record that a guest shares with it. How long it was. */
unsigned long sunstar_watch(unsigned long ns, unsigned int period, unsigned long long at);
/* Answers an RDTSC or RDTSCP of a process, which has faulted. Whether it was one. */
bool sunstar_counter(struct uml_pt_regs *regs);
/* Reads or writes memory of the process, without cost. Whether it is there. */
bool sunstar_user(void *bytes, unsigned long at, unsigned long count, bool store);
/* Whether a page of a process is memory, and no device's registers. */
bool sunstar_is_memory(unsigned long pte);
/* Does what an instruction does that has faulted as it touched a device's registers. Whether it touched
 * any. */
bool sunstar_registers(struct uml_pt_regs *regs, unsigned long address, bool store);
/* Random bytes from the run's seed. */
long sunstar_random(void *buf, unsigned long len);

#endif
