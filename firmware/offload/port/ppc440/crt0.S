/* The firmware's own start: the boot page jumps to its first instruction, in the first address
 * space, with everything caching inhibited. It lays out memory, builds the second address space
 * with cacheable pages, switches to it and calls main. */
#include "abi_offload.h"
#include "pages.h"
#include "spr.h"

.macro  load32 reg, value
        lis     \reg, (\value)@h
        ori     \reg, \reg, (\value)@l
.endm

        .section .start, "ax"
        .global _start
_start:
        b       start

/* Exception vectors: 16 bytes each, IVORn at VECTORS + 16 * n. Any exception is the end of the
 * node. */
        .org    0x100
vectors:
.macro  vector offset, pc
        li      %r3, \offset
        mfspr   %r4, \pc
        b       exception
        nop
.endm
        vector  0x100, SPR_CSRR0                /* critical input */
        vector  0x110, SPR_MCSRR0               /* machine check */
        vector  0x120, SPR_SRR0                 /* data storage */
        vector  0x130, SPR_SRR0                 /* instruction storage */
        vector  0x140, SPR_SRR0                 /* external input */
        vector  0x150, SPR_SRR0                 /* alignment */
        vector  0x160, SPR_SRR0                 /* program */
        vector  0x170, SPR_SRR0                 /* floating point unavailable */
        vector  0x180, SPR_SRR0                 /* system call */
        vector  0x190, SPR_SRR0                 /* auxiliary processor unavailable */
        vector  0x1A0, SPR_SRR0                 /* decrementer */
        vector  0x1B0, SPR_SRR0                 /* fixed interval timer */
        vector  0x1C0, SPR_CSRR0                /* watchdog */
        vector  0x1D0, SPR_SRR0                 /* data TLB */
        vector  0x1E0, SPR_SRR0                 /* instruction TLB */
        vector  0x1F0, SPR_CSRR0                /* debug */

/* Exceptions come in the first address space, where cached data look stale: go back to the
 * second one for exception_panic(vector, pc, esr, dear, lr, sp), on a stack of its own. A second
 * exception on the way only stops the node. */
exception:
        mfspr   %r9, SPR_SPRG3
        cmpwi   %r9, 0
        bne     exception_again
        mtspr   SPR_SPRG3, %r3
        mfspr   %r5, SPR_ESR
        mfspr   %r6, SPR_DEAR
        mflr    %r7
        mr      %r8, %r1
        load32  %r1, exception_stack_top - 16
        load32  %r10, exception_panic
        mtspr   SPR_SRR0, %r10
        li      %r10, MSR_ME + MSR_IS + MSR_DS
        mtspr   SPR_SRR1, %r10
        rfi
exception_again:
        oris    %r3, %r3, OF_PANIC_REASON_EXCEPTION << 8
        load32  %r10, OF_REGISTER_BASE + OF_REGISTER_PANIC
        stw     %r3, 0(%r10)
1:      b       1b

start:
        li      %r0, 0
        mtspr   SPR_SPRG3, %r0
        load32  %r3, OF_TEXT_BASE
        mtspr   SPR_IVPR, %r3
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        li      %r3, 0x100 + 16 * \n
        mtspr   SPR_IVOR0 + \n, %r3
        .endr

        /* Initialised data and constants stand behind the text in the image. */
        load32  %r3, __data_load
        load32  %r4, __data_start
        load32  %r5, __data_end
1:      cmplw   %r4, %r5
        bge     2f
        lwz     %r6, 0(%r3)
        stw     %r6, 0(%r4)
        addi    %r3, %r3, 4
        addi    %r4, %r4, 4
        b       1b
2:      load32  %r4, __bss_start
        load32  %r5, __bss_end
3:      cmplw   %r4, %r5
        bge     4f
        stw     %r0, 0(%r4)
        addi    %r4, %r4, 4
        b       3b
4:
        load32  %r3, second_space
        li      %r4, TLB_SECOND
        tlb_write_table

        /* Nothing of the first space may linger in the caches when pages become cacheable. */
        msync
        dccci   %r0, %r0
        iccci   %r0, %r0
        isync
        load32  %r3, second_start
        mtspr   SPR_SRR0, %r3
        li      %r3, MSR_ME + MSR_IS + MSR_DS
        mtspr   SPR_SRR1, %r3
        rfi

second_start:
        load32  %r1, OF_STACK_BASE + OF_STACK_SIZE - 16
        load32  %r13, nic_state                 /* stays there */
        li      %r0, 0
        stw     %r0, 0(%r1)                     /* end of the chain of frames */
        bl      main
1:      b       1b

        .section .rodata, "a"
        .balign 4
second_space:
        /* Text can be executed only: its constants were copied to the data. */
        tlb_entry OF_TEXT_BASE, TLB_64K, TLB_TS1, ATTR_TEXT
        .irp    n, 0, 1, 2
        tlb_entry OF_DATA_BASE + \n * 0x10000, TLB_64K, TLB_TS1, ATTR_DATA
        .endr
        tlb_entry OF_STACK_BASE, TLB_64K, TLB_TS1, ATTR_DATA
        /* The rings that others write. dcbi counts as a store. */
        tlb_entry OF_COMMAND_BASE, TLB_64K, TLB_TS1, ATTR_DATA
        tlb_entry OF_ARRIVAL_BASE, TLB_64K, TLB_TS1, ATTR_DATA
        .irp    n, 0, 1, 2, 3
        tlb_entry OF_ENTRY_BASE + \n * 0x100000, TLB_1M, TLB_TS1, ATTR_DATA
        .endr
        .irp    n, 0, 1, 2, 3
        tlb_entry OF_WINDOW_BASE + \n * OF_WINDOW_SIZE, TLB_1M, TLB_TS1, ATTR_GATHERED
        .endr
        tlb_entry OF_REGISTER_BASE, TLB_64K, TLB_TS1, ATTR_DEVICE
        tlb_entry OF_PORT_BASE, TLB_64K, TLB_TS1, ATTR_GATHERED
        .long   0

        /* Layout that the tables assume. */
        .if     OF_TEXT_SIZE != 0x10000 || OF_DATA_SIZE != 0x30000 || OF_STACK_SIZE != 0x10000
        .error  "the firmware's regions no longer fit the page tables"
        .endif
        .if     OF_ENTRY_REGION != 0x400000 || OF_WINDOW_SIZE != 0x100000 || OF_PROCESSES != 4
        .error  "entries and windows no longer fit the page tables"
        .endif

        .section .noinit, "aw", @nobits
        .balign 16
exception_stack:
        .space  512
exception_stack_top:
        .section .note.GNU-stack,"",@progbits
