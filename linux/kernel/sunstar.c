// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * What a guest's kernel has of Sunstar: costs of its primitives, and random numbers that come from the run's
 * seed.
 *
 * Under the bench's clock the kernel executes in no time. So each primitive says that it has happened
 * (`charge`), with a cost in ns from the machine file (`sunstar.syscall=100` on the kernel's command line).
 * Where time may pass, what has come together is waited for (`pay`): before a process goes on, before the
 * processor sleeps, before each access to a device, and when the clock is read.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/time-internal.h>
#include <linux/sunstar.h>

static unsigned int syscall, interrupt, context_switch, packet, copied_kb, clock = 1;
module_param(syscall, uint, 0444);
module_param(interrupt, uint, 0444);
module_param(context_switch, uint, 0444);
module_param(packet, uint, 0444);
module_param(copied_kb, uint, 0444);
module_param(clock, uint, 0444);

static unsigned long long debt_ps;

void sunstar_charge(enum sunstar_primitive primitive)
{
	const unsigned int costs[] = { syscall, interrupt, context_switch, packet };

	debt_ps += costs[primitive] * 1000ull;
}

void sunstar_copied(unsigned long bytes)
{
	debt_ps += bytes * copied_kb * 1000 / 1024;
}

bool sunstar_pay(void)
{
	unsigned long ns = debt_ps / 1000;

	if (!ns || time_travel_mode != TT_MODE_EXTERNAL)
		return false;
	/* First: what happens during the wait has costs of its own. */
	debt_ps -= ns * 1000ull;
	time_travel_ndelay(ns);
	return true;
}

unsigned long sunstar_clock(void)
{
	unsigned long ns = debt_ps / 1000;

	debt_ps -= ns * 1000ull;
	/* A clock that stands still would keep loops that wait by it from ever ending. */
	return ns + max(clock, 1u);
}

/* The C library's; the kernel is a program of it. */
extern char *getenv(const char *name);

long sunstar_random(void *buf, unsigned long len)
{
	static unsigned long long state;
	static bool seeded;
	unsigned char *to = buf;
	unsigned long at, n;

	if (!seeded) {
		const char *seed = getenv("SUNSTAR_SEED");

		state = seed ? simple_strtoull(seed, NULL, 0) : 0;
		seeded = true;
	}
	for (at = 0; at < len; at += n) {
		/* splitmix64 */
		unsigned long long z = (state += 0x9e3779b97f4a7c15ull);

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
		z ^= z >> 31;
		n = min(len - at, sizeof(z));
		memcpy(to + at, &z, n);
	}
	return len;
}
