// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Registers of a device in a process (io_remap_pfn_range of a driver's mmap).
 *
 * A guest's processes run on the workstation's processor, which knows no such page: it is left out, and each
 * access faults. The kernel then does what the instruction would have done, through the bus as a driver's
 * own accesses. That is the bench's doing, so it costs nothing but the bus's time. Instructions that are not
 * known (instruction.c) are a bus error.
 */
#include <linux/instruction.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/sunstar.h>
#include <sysdep/ptrace.h>

extern unsigned long long physmem_size;
extern pte_t *virt_to_pte(struct mm_struct *mm, unsigned long addr);

/* ---- registers of the process -------------------------------------------------------------------------
 * */

static unsigned long *general(struct uml_pt_regs *regs, unsigned int number)
{
	static const unsigned char places[] = {
		HOST_AX, HOST_CX, HOST_DX, HOST_BX, HOST_SP, HOST_BP, HOST_SI, HOST_DI,
		HOST_R8, HOST_R9, HOST_R10, HOST_R11, HOST_R12, HOST_R13, HOST_R14, HOST_R15,
	};

	return &regs->gp[places[number]];
}

static unsigned long value_of(struct uml_pt_regs *regs, const struct access *access)
{
	return *general(regs, access->reg) >> (access->high_byte ? 8 : 0);
}

static void set_value(struct uml_pt_regs *regs, const struct access *access, unsigned long value)
{
	unsigned long *reg = general(regs, access->reg);

	/* Four bytes clear the upper four; fewer leave the rest. */
	if (access->width == 8)
		*reg = value;
	else if (access->width == 4)
		*reg = (u32)value;
	else
		memcpy((char *)reg + access->high_byte, &value, access->width);
}

/* Places in the area of XSAVE (Intel's manual, volume 1, section 13.4). */
#define XMM 160
#define STATES 512
#define UPPER 576

/* Copies between a vector register, which is in two pieces, and bytes. */
static void vector_move(struct uml_pt_regs *regs, const struct access *access, char *bytes)
{
	char *area = (char *)regs->fp, *low = area + XMM + 16 * access->reg;
	char *high = area + UPPER + 16 * access->reg;
	unsigned int lower = min(access->bytes, 16u);

	if (access->kind == VECTOR_STORE) {
		memcpy(bytes, low, lower);
		memcpy(bytes + lower, high, access->bytes - lower);
		return;
	}
	memset(low, 0, 16);
	memcpy(low, bytes, lower);
	*(u64 *)(area + STATES) |= 2;
	if (access->clears_upper) {
		memset(high, 0, 16);
		memcpy(high, bytes + lower, access->bytes - lower);
		*(u64 *)(area + STATES) |= 4;
	}
}

#define FLAGS(name, instruction)								\
static unsigned long name(unsigned long a, unsigned long b, unsigned int bytes)			\
{												\
	unsigned char over;									\
	unsigned long ax;									\
												\
	if (bytes == 1)										\
		asm(instruction "b %b3, %b2\n\tlahf\n\tseto %1"					\
		    : "=&a"(ax), "=&q"(over) : "q"(a), "q"(b) : "cc");				\
	else if (bytes == 2)									\
		asm(instruction "w %w3, %w2\n\tlahf\n\tseto %1"					\
		    : "=&a"(ax), "=&q"(over) : "r"(a), "r"(b) : "cc");				\
	else if (bytes == 4)									\
		asm(instruction "l %k3, %k2\n\tlahf\n\tseto %1"					\
		    : "=&a"(ax), "=&q"(over) : "r"(a), "r"(b) : "cc");				\
	else											\
		asm(instruction "q %3, %2\n\tlahf\n\tseto %1"					\
		    : "=&a"(ax), "=&q"(over) : "r"(a), "r"(b) : "cc");				\
	return (ax >> 8 & 0xd5) | (over ? 0x800 : 0);						\
}
FLAGS(compared, "cmp")
FLAGS(tested, "test")
#undef FLAGS

static void set_flags(struct uml_pt_regs *regs, const struct access *access, unsigned long value)
{
	unsigned long with = access->has_constant ? access->constant : value_of(regs, access);
	unsigned long flags;

	if (access->kind == TEST)
		flags = tested(value, with, access->bytes);
	else if (access->memory_first)
		flags = compared(value, with, access->bytes);
	else
		flags = compared(with, value, access->bytes);
	regs->gp[HOST_EFLAGS] = (regs->gp[HOST_EFLAGS] & ~0x8d5ul) | flags;
}

/* ---- the device ---------------------------------------------------------------------------------------
 * */

bool sunstar_is_memory(unsigned long pte)
{
	return (pte & PAGE_MASK) < physmem_size;
}

/* The processor's address of a device's register; 0 if it is none, or may not be touched so. */
static phys_addr_t device_at(unsigned long address, bool store)
{
	pte_t *pte = virt_to_pte(current->mm, address);

	if (!pte || !pte_present(*pte) || sunstar_is_memory(pte_val(*pte)))
		return 0;
	if (store ? !pte_write(*pte) : !pte_read(*pte))
		return 0;
	return (pte_val(*pte) & PAGE_MASK) + offset_in_page(address);
}

/* One access each for what the processor would do in one; unaligned ones come in pieces. */
static bool device_move(phys_addr_t at, char *bytes, unsigned int count, bool store)
{
	void __iomem *space = ioremap(at, count);
	unsigned int done, piece;

	if (!space)
		return false;
	for (done = 0; done < count; done += piece) {
		void __iomem *here = space + done;
		char *byte = bytes + done;

		for (piece = 8; (at + done) % piece || piece > count - done; piece /= 2)
			;
		switch (piece | store) {
		case 8: *(u64 *)byte = __raw_readq(here); break;
		case 4: *(u32 *)byte = __raw_readl(here); break;
		case 2: *(u16 *)byte = __raw_readw(here); break;
		case 9: __raw_writeq(*(u64 *)byte, here); break;
		case 5: __raw_writel(*(u32 *)byte, here); break;
		case 3: __raw_writew(*(u16 *)byte, here); break;
		default:
			if (store)
				__raw_writeb(*byte, here);
			else
				*byte = __raw_readb(here);
			piece = 1;
		}
	}
	iounmap(space);
	return true;
}

/* ---- what an instruction does -------------------------------------------------------------------------
 * */

/* Memory of the process, or a device; false where there is neither. */
static bool move(unsigned long address, char *bytes, unsigned int count, bool store)
{
	phys_addr_t device = device_at(address, store);

	if (!device)
		return sunstar_user(bytes, address, count, store);
	if (offset_in_page(address) + count > PAGE_SIZE)
		return false;
	return device_move(device, bytes, count, store);
}

/* movs and stos, one element after the other; an element that cannot be moved faults by itself later. */
static bool string(struct uml_pt_regs *regs, const struct access *access)
{
	unsigned long *from = general(regs, 6), *to = general(regs, 7), *count = general(regs, 1);
	long step = regs->gp[HOST_EFLAGS] & 0x400 ? -(long)access->bytes : (long)access->bytes;
	char bytes[8];
	bool done = false;

	while (!access->repeats || *count) {
		memcpy(bytes, general(regs, 0), sizeof(bytes));
		if (access->kind == MOVE && !move(*from, bytes, access->bytes, false))
			return done;
		if (!move(*to, bytes, access->bytes, true))
			return done;
		done = true;
		*to += step;
		if (access->kind == MOVE)
			*from += step;
		if (!access->repeats)
			break;
		(*count)--;
	}
	regs->gp[HOST_IP] += access->length;
	return true;
}

static bool simple(struct uml_pt_regs *regs, const struct access *access, unsigned long address)
{
	bool store = access->kind == STORE || access->kind == STORE_CONSTANT ||
		     access->kind == VECTOR_STORE;
	char bytes[32] = {};
	unsigned long value;

	if (access->kind == STORE)
		value = value_of(regs, access);
	else
		value = access->constant;
	memcpy(bytes, &value, sizeof(value));
	if (access->kind == VECTOR_STORE)
		vector_move(regs, access, bytes);
	if (!move(address, bytes, access->bytes, store))
		return false;
	memcpy(&value, bytes, sizeof(value));
	switch (access->kind) {
	case LOAD_SIGNED:
		value = (long)(value << (64 - 8 * access->bytes)) >> (64 - 8 * access->bytes);
		fallthrough;
	case LOAD:
		set_value(regs, access, value);
		break;
	case COMPARE:
	case TEST:
		set_flags(regs, access, value);
		break;
	case VECTOR_LOAD:
		vector_move(regs, access, bytes);
		break;
	default:
		break;
	}
	regs->gp[HOST_IP] += access->length;
	return true;
}

bool sunstar_registers(struct uml_pt_regs *regs, unsigned long address, bool store)
{
	unsigned long ip = UPT_IP(regs), page = PAGE_SIZE - offset_in_page(ip);
	unsigned int there = min(page, (unsigned long)INSTRUCTION_MAX);
	unsigned char code[INSTRUCTION_MAX];
	struct access access = {};

	if (!device_at(address, store))
		return false;
	if (!sunstar_user(code, ip, there, false))
		return false;
	/* The rest may be on a page that is not there. */
	if (sunstar_user(code + there, ip + there, INSTRUCTION_MAX - there, false))
		there = INSTRUCTION_MAX;
	if (sunstar_decode(code, there, &access)) {
		bool is_string = access.kind == MOVE || access.kind == FILL;

		if (is_string ? string(regs, &access) : simple(regs, &access, address))
			return true;
	}
	pr_info("%s[%d]: the instruction at %lx (%*ph) cannot touch a device's registers: "
		"mov, movs, stos, cmp, test and moves of vectors can, within a page\n",
		current->comm, task_pid_nr(current), ip, (int)there, code);
	force_sig_fault(SIGBUS, BUS_OBJERR, (void __user *)address);
	return true;
}
