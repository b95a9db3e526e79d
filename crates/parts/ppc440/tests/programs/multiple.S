# lmw and stmw, which the assembler refuses for little-endian though the 440 has them there: kernels() fills
# results with 1 to 16 and moves words about.
        .macro  multiple opcode, register, offset, base
        .long   \opcode << 26 | \register << 21 | \base << 16 | \offset
        .endm
        .globl  kernels
        .globl  results
kernels:
        stwu    1, -96(1)
        multiple 47, 14, 8, 1
        lis     4, results@ha
        addi    4, 4, results@l
        li      5, 0
1:      addi    5, 5, 1
        addi    6, 4, -4
        slwi    7, 5, 2
        stwx    5, 6, 7
        cmpwi   5, 16
        blt     1b
        multiple 46, 24, 0, 4
        lwz     0, 32(4)
        stw     0, 0(4)
        multiple 47, 24, 32, 4
        multiple 46, 14, 8, 1
        addi    1, 1, 96
        blr
        .lcomm  results, 64, 4
