/* Sizes of plain stores, out of their instructions: moves of a register or of a constant to memory, also
 * wide and streaming ones. The address is the fault's, and the value is what the step leaves in the page, so
 * a store of an equal value counts like any other. */
#define _GNU_SOURCE
#include "rank.h"

enum { NONE, P66, PF3, PF2 }; /* prefixes, by the number that vector encodings give them */

/* Opcodes behind 0F, with the bytes of a vector there and of a general register's word. */
static unsigned vector_store(uint8_t opcode, unsigned prefix, unsigned vector, unsigned word)
{
    switch (opcode) {
    case 0x11: /* movups, movupd, movss, movsd */
        return prefix == PF3 ? 4 : prefix == PF2 ? 8 : vector;
    case 0x29: /* movaps, movapd */
    case 0x2B: /* movntps, movntpd */
        return prefix <= P66 ? vector : 0;
    case 0x7F: /* movq, movdqa, movdqu */
    case 0xE7: /* movntq, movntdq */
        return prefix == NONE ? 8 : vector;
    case 0x13: /* movlps, movlpd */
    case 0x17: /* movhps, movhpd */
        return prefix <= P66 ? 8 : 0;
    case 0xD6: /* movq */
        return prefix == P66 ? 8 : 0;
    case 0x7E: /* movd, movq */
        return prefix <= P66 ? (word == 8 ? 8 : 4) : 0;
    default:
        return 0;
    }
}

static unsigned encoded_in_vector(const uint8_t *code)
{
    if (code[0] == 0xC5)
        return vector_store(code[2], code[1] & 3, code[1] & 4 ? 32 : 16, 4);
    if (code[0] == 0xC4)
        return (code[1] & 0x1F) == 1 ? vector_store(code[3], code[2] & 3, code[2] & 4 ? 32 : 16,
                                                    code[2] & 0x80 ? 8 : 4)
                                     : 0;
    /* 0x62; with a mask some of the bytes are not stored */
    if ((code[1] & 7) != 1 || code[3] & 7 || (code[3] & 0x60) == 0x60)
        return 0;
    return vector_store(code[4], code[2] & 3, 16u << (code[3] >> 5 & 3), code[2] & 0x80 ? 8 : 4);
}

unsigned rank_store_bytes(const uint8_t *code)
{
    unsigned prefix = NONE;
    bool half = false;
    for (;; code++) {
        if (*code == 0x66)
            half = true;
        else if (*code == 0xF3)
            prefix = PF3;
        else if (*code == 0xF2)
            prefix = PF2;
        else if (*code != 0x2E && *code != 0x3E && *code != 0x64 && *code != 0x65)
            break;
    }
    unsigned word = half ? 2 : 4;
    if ((*code & 0xF0) == 0x40) /* REX */
        word = *code++ & 8 ? 8 : word;
    switch (*code) {
    case 0x88: /* mov */
    case 0xC6:
    case 0xA2:
    case 0xAA: /* stos; repeated, each of them is a step */
    case 0xA4: /* movs */
        return 1;
    case 0x89:
    case 0xC7:
    case 0xA3:
    case 0xAB:
    case 0xA5:
        return word;
    case 0xC4:
    case 0xC5:
    case 0x62:
        return encoded_in_vector(code);
    case 0x0F:
        if (code[1] == 0xC3) /* movnti */
            return word;
        return vector_store(code[1], prefix == NONE && half ? P66 : prefix, 16, word);
    default:
        return 0;
    }
}
