/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* An instruction of a process that touches memory once: what compilers and the C library make of loads and
 * stores (Intel's manual, volume 2). */
#ifndef SUNSTAR_INSTRUCTION_H
#define SUNSTAR_INSTRUCTION_H

#include <linux/types.h>

/* Bytes of the longest one. */
#define INSTRUCTION_MAX 15

enum access_kind {
	LOAD,
	LOAD_SIGNED,
	STORE,
	STORE_CONSTANT,
	COMPARE,
	TEST,
	MOVE,
	FILL,
	VECTOR_LOAD,
	VECTOR_STORE,
};

/* An instruction that touches memory once. */
struct access {
	enum access_kind kind;
	unsigned int bytes; /* that it touches */
	unsigned int width; /* of the register that takes them */
	unsigned int reg;
	bool high_byte; /* the register is AH, CH, DH or BH */
	bool memory_first; /* a comparison subtracts from the memory */
	bool has_constant, repeats, clears_upper;
	long constant;
	unsigned int length;
};

/* Reads an instruction of which so many bytes are there. Whether it is one of those. */
bool sunstar_decode(const unsigned char *bytes, unsigned int there, struct access *access);

#endif
