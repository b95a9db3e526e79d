/* Start of the console's program, in the last page of the address space, which is all that the processor maps
 * out of reset. It maps memory, cacheable, and the peripheral, not cacheable, and calls main. */
#include "abi_console.h"

#define TLB_VALID 0x200
#define TLB_4K (1 << 4)
#define TLB_64K (3 << 4)
#define TLB_I 0x400 /* Caching inhibited. */
#define TLB_G 0x100 /* Guarded: stores keep order and are not gathered. */
#define TLB_SX 4
#define TLB_SW 2
#define TLB_SR 1

        .macro  load32 reg, value
        lis     \reg, (\value)@h
        ori     \reg, \reg, (\value)@l
        .endm
        .macro  entry index, page, size, attributes
        li      %r6, \index
        load32  %r3, \page + TLB_VALID + \size
        load32  %r4, \page
        li      %r5, \attributes
        tlbwe   %r3, %r6, 0
        tlbwe   %r4, %r6, 1
        tlbwe   %r5, %r6, 2
        .endm

        .section .start, "ax"
start:
        li      %r0, 0
        mtspr   947, %r0                /* CCR0: stores are gathered, no parity */
        mtspr   888, %r0                /* CCR1 */
        mtspr   946, %r0                /* MMUCR: entries are for process 0 */
        mtspr   48, %r0                 /* PID */
        /* Reset gives only a shadow of an entry, which the first isync forgets. The other entries may hold
         * anything. */
        li      %r6, 62
        mtctr   %r6
        li      %r6, 2
1:      tlbwe   %r0, %r6, 0
        addi    %r6, %r6, 1
        bdnz    1b
        entry   0, XC_RAM_BASE, TLB_64K, TLB_SX + TLB_SW + TLB_SR
        entry   1, XC_DEVICE_BASE, TLB_4K, TLB_I + TLB_G + TLB_SW + TLB_SR
        isync
        iccci   %r0, %r0
        dccci   %r0, %r0
        lis     %r3, 0x0001             /* no locked or transient regions of the caches */
        ori     %r3, %r3, 0xF800
        mtspr   921, %r3                /* IVLIM */
        mtspr   920, %r3                /* DVLIM */
        .irp    n, 0, 1, 2, 3
        mtspr   880 + \n, %r0           /* INVn */
        mtspr   884 + \n, %r0           /* ITVn */
        mtspr   912 + \n, %r0           /* DNVn */
        mtspr   916 + \n, %r0           /* DTVn */
        .endr
        mtspr   340, %r0                /* TCR: no timer interrupts */
        mtspr   308, %r0                /* DBCR0 */
        load32  %r1, stack_top - 16
        stw     %r0, 0(%r1)
        bl      main
2:      b       2b

        .section .reset, "ax"
        .global reset
reset:  b       start
        .section .note.GNU-stack, "", @progbits
