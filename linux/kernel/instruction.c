// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Decoding of instructions of 64-bit processes: mov in all its widths, movs and stos, cmp and test, moves
 * of vector registers. */
#include <linux/instruction.h>
#include <linux/kernel.h>

/* What is left to read of an instruction. */
struct code {
	const unsigned char *bytes;
	unsigned int there, at;
	bool ended;
};

static unsigned char next(struct code *code)
{
	if (code->at == code->there) {
		code->ended = true;
		return 0;
	}
	return code->bytes[code->at++];
}

static long next_constant(struct code *code, unsigned int bytes)
{
	unsigned long value = 0;
	unsigned int i;

	for (i = 0; i < bytes; i++)
		value |= (unsigned long)next(code) << (8 * i);
	return (long)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

struct prefixes {
	bool wide, half, repeat, repeat_other, rex;
	unsigned char reg_high;
	bool vex, vex_256;
};

/* Reads what names register and memory; which memory it is, the fault has told. Gives the register's
 * field. */
static unsigned int operands(struct code *code, bool *in_register)
{
	unsigned char modrm = next(code), mode = modrm >> 6, base = modrm & 7;

	*in_register = mode == 3;
	if (mode == 3)
		return modrm >> 3 & 7;
	if (base == 4)
		base = next(code) & 7;
	else if (mode == 0 && base == 5)
		next_constant(code, 4);
	if ((modrm & 7) == 4 && mode == 0 && base == 5)
		next_constant(code, 4);
	if (mode == 1)
		next(code);
	if (mode == 2)
		next_constant(code, 4);
	return modrm >> 3 & 7;
}

/* Opcodes behind 0F that move a vector register, with the prefix that stands for it. */
static bool vector(unsigned char op, const struct prefixes *has, struct access *to)
{
	bool scalar = has->repeat || has->repeat_other;

	to->kind = (op & 1) && op != 0x6f ? VECTOR_STORE : VECTOR_LOAD;
	to->bytes = has->vex_256 ? 32 : 16;
	to->clears_upper = has->vex;
	switch (op) {
	case 0x10: case 0x11:
		if (scalar)
			to->bytes = has->repeat ? 4 : 8;
		return true;
	case 0x28: case 0x29: case 0x2b:
		return !scalar;
	case 0x6f: case 0x7f:
		/* Without a prefix they are MMX's. */
		return (has->half || has->repeat) && !has->repeat_other;
	case 0xe7:
		return has->half;
	case 0x6e:
		to->bytes = has->wide ? 8 : 4;
		return has->half;
	case 0x7e:
		to->bytes = has->repeat || has->wide ? 8 : 4;
		to->kind = has->repeat ? VECTOR_LOAD : VECTOR_STORE;
		return has->half || has->repeat;
	case 0xd6:
		to->bytes = 8;
		to->kind = VECTOR_STORE;
		return has->half;
	}
	return false;
}

static bool two_bytes(struct code *code, const struct prefixes *has, struct access *to)
{
	unsigned char op = next(code);
	bool in_register;

	if (vector(op, has, to)) {
		to->reg = operands(code, &in_register) | has->reg_high;
		return !in_register;
	}
	if (has->vex)
		return false;
	switch (op) {
	case 0xb6: case 0xb7:
	case 0xbe: case 0xbf:
		to->kind = op & 8 ? LOAD_SIGNED : LOAD;
		to->bytes = op & 1 ? 2 : 1;
		break;
	case 0xc3: /* movnti */
		to->kind = STORE;
		to->bytes = to->width;
		break;
	default:
		return false;
	}
	to->reg = operands(code, &in_register) | has->reg_high;
	return !in_register;
}

/* The group's member 7 (cmp) or 0 (test, mov) is the one that is known. */
static bool with_constant(struct code *code, enum access_kind kind, unsigned int member,
			  unsigned int constant, struct access *to)
{
	bool in_register;

	to->kind = kind;
	to->has_constant = to->memory_first = true;
	if (operands(code, &in_register) != member)
		return false;
	to->constant = next_constant(code, constant);
	return !in_register;
}

static bool one_byte(struct code *code, unsigned char op, const struct prefixes *has,
		     struct access *to)
{
	unsigned int constant;
	bool in_register;

	to->bytes = op & 1 ? to->width : 1;
	constant = min(to->bytes, 4u);
	switch (op) {
	case 0x88: case 0x89:
		to->kind = STORE;
		break;
	case 0x8a: case 0x8b:
		to->kind = LOAD;
		to->width = to->bytes;
		break;
	case 0x63: /* movsxd */
		to->kind = LOAD_SIGNED;
		to->bytes = 4;
		break;
	case 0x38: case 0x39: case 0x3a: case 0x3b:
		to->kind = COMPARE;
		to->memory_first = op < 0x3a;
		break;
	case 0x84: case 0x85:
		to->kind = TEST;
		break;
	case 0xc6: case 0xc7:
		return with_constant(code, STORE_CONSTANT, 0, constant, to);
	case 0x80: case 0x81:
		return with_constant(code, COMPARE, 7, constant, to);
	case 0x83:
		return with_constant(code, COMPARE, 7, 1, to);
	case 0xf6: case 0xf7:
		return with_constant(code, TEST, 0, constant, to);
	case 0xa4: case 0xa5: case 0xaa: case 0xab:
		to->kind = op < 0xa8 ? MOVE : FILL;
		to->repeats = has->repeat || has->repeat_other;
		return true;
	default:
		return false;
	}
	to->reg = operands(code, &in_register) | has->reg_high;
	/* The registers of a byte are others without a REX prefix. */
	to->high_byte = to->bytes == 1 && !has->rex && to->reg >= 4;
	if (to->high_byte)
		to->reg -= 4;
	return !in_register;
}

/* A VEX prefix stands for REX, 66, F2, F3 and 0F. */
static bool vex(struct code *code, unsigned char op, struct prefixes *has)
{
	unsigned char first = next(code), last = first;

	has->vex = true;
	has->reg_high = first & 0x80 ? 0 : 8;
	if (op == 0xc4) {
		last = next(code);
		has->wide = last & 0x80;
		if ((first & 0x1f) != 1)
			return false;
	}
	has->vex_256 = last & 4;
	has->half = (last & 3) == 1;
	has->repeat = (last & 3) == 2;
	has->repeat_other = (last & 3) == 3;
	return true;
}

static bool decode(struct code *code, struct access *to)
{
	struct prefixes has = {};
	unsigned char op;
	bool known;

	for (op = next(code); ; op = next(code)) {
		if (op == 0x66)
			has.half = true;
		else if (op == 0xf3)
			has.repeat = true;
		else if (op == 0xf2)
			has.repeat_other = true;
		else if (op != 0x2e && op != 0x36 && op != 0x3e && op != 0x26 && op != 0x64 &&
			 op != 0x65)
			break;
	}
	if ((op & 0xf0) == 0x40) {
		has.rex = true;
		has.wide = op & 8;
		has.reg_high = op & 4 ? 8 : 0;
		op = next(code);
	}
	to->width = has.wide ? 8 : has.half ? 2 : 4;
	if (op == 0xc4 || op == 0xc5)
		known = vex(code, op, &has) && two_bytes(code, &has, to);
	else if (op == 0x0f)
		known = two_bytes(code, &has, to);
	else
		known = one_byte(code, op, &has, to);
	to->length = code->at;
	return known && !code->ended;
}

bool sunstar_decode(const unsigned char *bytes, unsigned int there, struct access *access)
{
	struct code code = { .bytes = bytes, .there = there };

	return decode(&code, access);
}
