// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * What a guest's kernel has of Sunstar: costs of its primitives, and random numbers that come from the run's
 * seed.
 *
 * Under the bench's clock the kernel executes in no time. So each primitive says that it has happened
 * (`charge`), with a cost in ns from the machine file (`sunstar.syscall=100` on the kernel's command line).
 * Where time may pass, what has come together is waited for (`pay`): before a process goes on, before the
 * processor sleeps, before each access to a device, and when the clock is read.
 *
 * Lengths that are the computer's, and not the program's, cost nothing: arguments and environment of a
 * program that is executed (their copy costs as much as that of a page), paths of folders and of links.
 *
 * Observers take no time: system calls with the number SUNSTAR_CALL are for the bench alone.
 *     SUNSTAR_LOG(text, bytes)    adds to `log` in the bench's folder of this guest, which a judged run has
 *     SUNSTAR_PAID                the process pays for what it does from now on
 * The first program pays for nothing but readings of clocks, from before it is executed: its name and its
 * environment have paths of the computer's. Its children pay after they have said so.
 *
 * The guest's programs do the same system calls whether anybody observes or not.
 *
 * The time-stamp counter that processes see counts nanoseconds since the boot; reading it takes as long as
 * reading the clock.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/time-internal.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/sunstar.h>
#include <asm/unistd.h>
#include <os.h>
#include <sysdep/ptrace.h>
#include <sysdep/syscalls.h>

/* The C library's; the kernel is a program of it. */
extern char *getenv(const char *name);
extern pte_t *virt_to_pte(struct mm_struct *mm, unsigned long addr);

static unsigned int system_call, interrupt, context_switch, packet, copied_kb, clock = 1;
module_param_named(syscall, system_call, uint, 0444);
module_param(interrupt, uint, 0444);
module_param(context_switch, uint, 0444);
module_param(packet, uint, 0444);
module_param(copied_kb, uint, 0444);
module_param(clock, uint, 0444);

static unsigned long long debt_ps;

/* Numbers of the bench's calls: as in linux/libdp/log.c and linux/init/init.c. */
#define SUNSTAR_CALL 0x53554e
#define SUNSTAR_LOG 1
#define SUNSTAR_PAID 2

/* What the current process does that is free (task_struct's sunstar_free). */
enum { NOTHING_FREE, COPIES_FREE, ALL_FREE };

/* What a program is told when it is executed is taken to be as long as that. */
#define EXECUTED_BYTES 4096

void sunstar_charge(enum sunstar_primitive primitive)
{
	const unsigned int costs[] = { system_call, interrupt, context_switch, packet };

	if (primitive == SUNSTAR_SYSCALL && current->sunstar_free == ALL_FREE)
		return;
	debt_ps += costs[primitive] * 1000ull;
}

void sunstar_copied(unsigned long bytes)
{
	if (current->sunstar_free != NOTHING_FREE)
		return;
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

/* Adds what an observer in a process tells to the file that the bench has made for it. */
static long add_to_log(unsigned long text, unsigned long bytes)
{
	static char chunk[PAGE_SIZE];
	static int file = -1;
	const char *folder = getenv("SUNSTAR_FOLDER");
	unsigned long done, n;

	if (file < 0 && folder) {
		snprintf(chunk, sizeof(chunk), "%s/log", folder);
		file = os_open_file(chunk, of_append(of_write(OPENFLAGS())), 0);
	}
	if (file < 0)
		return -ENOSYS;
	for (done = 0; done < bytes; done += n) {
		n = min(bytes - done, sizeof(chunk));
		if (!sunstar_user(chunk, text + done, n, false))
			return -EFAULT;
		if (os_write_file(file, chunk, n) != n)
			return -EIO;
	}
	return bytes;
}

static long call_of_bench(unsigned long what, unsigned long word, unsigned long bytes)
{
	switch (what) {
	case SUNSTAR_LOG:
		return add_to_log(word, bytes);
	case SUNSTAR_PAID:
		current->sunstar_free = NOTHING_FREE;
		return 0;
	default:
		return -ENOSYS;
	}
}

/* Done by the process that will execute the first program. */
static int __init first_program_is_free(void)
{
	current->sunstar_free = ALL_FREE;
	return 0;
}
late_initcall(first_program_is_free);

static bool names_paths(long number)
{
	switch (number) {
	case __NR_execve:
	case __NR_execveat:
	case __NR_getcwd:
	case __NR_readlink:
	case __NR_readlinkat:
		return true;
	default:
		return false;
	}
}

bool sunstar_syscall(struct pt_regs *regs)
{
	long number = UPT_SYSCALL_NR(&regs->regs);

	if (number == SUNSTAR_CALL) {
		long result = call_of_bench(UPT_SYSCALL_ARG1(&regs->regs),
					    UPT_SYSCALL_ARG2(&regs->regs),
					    UPT_SYSCALL_ARG3(&regs->regs));

		PT_REGS_SET_SYSCALL_RETURN(regs, result);
		return true;
	}
	sunstar_charge(SUNSTAR_SYSCALL);
	if (number == __NR_execve || number == __NR_execveat)
		sunstar_copied(EXECUTED_BYTES);
	if (names_paths(number) && current->sunstar_free == NOTHING_FREE)
		current->sunstar_free = COPIES_FREE;
	return false;
}

void sunstar_syscall_done(void)
{
	if (current->sunstar_free == COPIES_FREE)
		current->sunstar_free = NOTHING_FREE;
}

/* The fault of an instruction that may not be executed (Intel's manual, volume 3, table 6-1). */
#define GENERAL_PROTECTION 13

/* The processor's own accesses to a process's memory: they are free. */
bool sunstar_user(void *bytes, unsigned long at, unsigned long count, bool store)
{
	unsigned long long debt = debt_ps;
	bool there;

	if (store)
		there = !copy_to_user((void __user *)at, bytes, count);
	else
		there = !copy_from_user(bytes, (const void __user *)at, count);
	debt_ps = debt;
	return there;
}

/*
 * A process that reads a word of memory and the counter in turn, until the word changes or the counter has
 * come so far, may say so by a prefix that the processor ignores: REP RDTSC, with the word's address in
 * RDI, what it was last in ESI, and the end in RCX. Its readings until the next store of a device are then
 * left out, as they would all find the same; what it reads next it reads at the time at which it would
 * have.
 */
static unsigned long watched(struct uml_pt_regs *regs, unsigned long now)
{
	unsigned long end = regs->gp[HOST_CX];
	unsigned long at = regs->gp[HOST_DI], page;
	u32 word;

	if (time_travel_mode != TT_MODE_EXTERNAL || now >= end)
		return now;
	if (!sunstar_user(&word, at, sizeof(word), false) || word != (u32)regs->gp[HOST_SI])
		return now;
	/* It is in memory, as it has been read. */
	page = pte_val(*virt_to_pte(current->mm, at)) & PAGE_MASK;
	return now + sunstar_watch(end - now, max(clock, 1u), page + offset_in_page(at));
}

bool sunstar_counter(struct uml_pt_regs *regs)
{
	const unsigned char rdtsc[] = { 0x0f, 0x31 }, rdtscp[] = { 0x0f, 0x01, 0xf9 };
	const unsigned char watch[] = { 0xf3, 0x0f, 0x31 };
	unsigned char code[3] = {};
	unsigned long at = UPT_IP(regs), length, now;

	if (regs->faultinfo.trap_no != GENERAL_PROTECTION)
		return false;
	/* The shorter one may be the last of its page. */
	if (!sunstar_user(code, at, sizeof(code), false) &&
	    !sunstar_user(code, at, sizeof(rdtsc), false))
		return false;
	if (!memcmp(code, rdtsc, sizeof(rdtsc))) {
		length = sizeof(rdtsc);
	} else if (!memcmp(code, watch, sizeof(watch))) {
		length = sizeof(watch);
	} else if (!memcmp(code, rdtscp, sizeof(rdtscp))) {
		length = sizeof(rdtscp);
		/* The number of the processor. */
		regs->gp[HOST_CX] = 0;
	} else {
		return false;
	}
	now = ktime_get_raw_ns();
	if (length == sizeof(watch) && code[0] == watch[0])
		now = watched(regs, now);
	regs->gp[HOST_AX] = (u32)now;
	regs->gp[HOST_DX] = now >> 32;
	regs->gp[HOST_IP] += length;
	return true;
}


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
