/* The boot page at the reset vector. It maps memory and registers in the first address space,
 * caching inhibited, and jumps to the firmware. Out of reset the processor sees this page big
 * endian, so it is assembled big endian; the pages that it maps for the firmware are little
 * endian. */
#include "abi_offload.h"
#include "pages.h"
#include "spr.h"

        .section .shim, "ax"
shim_start:
        li      %r0, 0
        mtspr   SPR_CCR0, %r0                   /* stores are gathered, no parity */
        mtspr   SPR_CCR1, %r0
        mtspr   SPR_MMUCR, %r0                  /* entries are for process 0, space as they say */
        mtspr   SPR_PID, %r0

        /* Reset gives only a shadow of this page's entry, which the first isync forgets: a real
         * one first. */
        lis     %r3, (OF_ROM_BASE + TLB_VALID + TLB_4K)@h
        ori     %r3, %r3, (OF_ROM_BASE + TLB_VALID + TLB_4K)@l
        lis     %r4, OF_ROM_BASE@h
        ori     %r4, %r4, OF_ROM_BASE@l
        li      %r5, TLB_I + TLB_G + TLB_SX + TLB_SR
        li      %r6, TLB_ROM
        tlbwe   %r3, %r6, 0
        tlbwe   %r4, %r6, 1
        tlbwe   %r5, %r6, 2

        /* The others hold anything after power-up. */
        mtctr   %r6
        li      %r6, 0
1:      tlbwe   %r0, %r6, 0
        addi    %r6, %r6, 1
        bdnz    1b
        isync

        /* Caches: nothing valid, no locked or transient regions. */
        iccci   %r0, %r0
        dccci   %r0, %r0
        lis     %r3, 0x0001
        ori     %r3, %r3, 0xF800
        mtspr   SPR_IVLIM, %r3
        mtspr   SPR_DVLIM, %r3
        .irp    n, 0, 1, 2, 3
        mtspr   SPR_INV0 + \n, %r0
        mtspr   SPR_ITV0 + \n, %r0
        mtspr   SPR_DNV0 + \n, %r0
        mtspr   SPR_DTV0 + \n, %r0
        .endr

        /* No timer and no debug event interrupts the firmware. */
        mtspr   SPR_TCR, %r0
        mtspr   SPR_DBCR0, %r0

        lis     %r3, shim_table@h
        ori     %r3, %r3, shim_table@l
        li      %r4, 0
        tlb_write_table
        isync
        lis     %r3, OF_TEXT_BASE@h
        ori     %r3, %r3, OF_TEXT_BASE@l
        mtctr   %r3
        bctr

        .balign 4
shim_table:
        boot_pages
        .long   0

        /* The last word of the address space. */
        .org    OF_ROM_SIZE - 4
        .global reset_vector
reset_vector:
        b       shim_start
        .section .note.GNU-stack,"",@progbits
