/* The firmware's own start: the shim jumps to its first instruction, in the first address space,
 * with everything caching inhibited. It lays out memory, builds the second address space with
 * cacheable pages, switches to it and calls main. Why a second space: the loader's mappings stay
 * as they are, and nothing is ever mapped both ways in one space (pedretti2005 s5.1), but for the shared
 * SRAM of images with accelerated processes (lines.h). */
#include "abi_seastar.h"
#include "lines.h"
#include "spr.h"
#include "tlb.h"

/* First TLB entry of the second space; the shim's are below. */
#define TLB_SECOND 32

/* CACHE=none|i|id as CACHE_LEVEL 0|1|2: attributes of text, and of cached data and stack. */
#if CACHE_LEVEL >= 1
#define ATTR_TEXT TLB_LE + TLB_SX
#else
#define ATTR_TEXT TLB_I + TLB_LE + TLB_SX
#endif
#if CACHE_LEVEL >= 2
#define ATTR_DATA TLB_LE + TLB_SW + TLB_SR
#else
#define ATTR_DATA TLB_I + TLB_LE + TLB_SW + TLB_SR
#endif
#define ATTR_SHARED TLB_I + TLB_LE + TLB_SW + TLB_SR
#define ATTR_DEVICE TLB_I + TLB_G + TLB_LE + TLB_SW + TLB_SR

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
        oris    %r3, %r3, SS_PANIC_REASON_EXCEPTION << 8
        load32  %r10, SS_REG_PANIC
        stw     %r3, 0(%r10)
1:      b       1b

start:
        li      %r0, 0
        mtspr   SPR_SPRG3, %r0
        load32  %r3, SS_TEXT_BASE
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
4:      load32  %r4, __uncached_start
        load32  %r5, __uncached_end
5:      cmplw   %r4, %r5
        bge     6f
        stw     %r0, 0(%r4)
        addi    %r4, %r4, 4
        b       5b
6:
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
        load32  %r1, SS_STACK_BASE + SS_STACK_SIZE - 16
        li      %r0, 0
        stw     %r0, 0(%r1)                     /* end of the chain of frames */
        li      %r13, 0                         /* trace ring index */
        bl      main
1:      b       1b

        .section .rodata, "a"
        .balign 4
second_space:
        /* Mailboxes, precomputed DMA commands, header slots, trace ring: shared, so not cached. */
        tlb_entry SS_MAILBOX_BASE, TLB_64K, TLB_TS1, ATTR_SHARED
#if OPT_ACCELERATED
        /* The same once more, by lines of the data cache. */
        tlb_entry_to PORT_LINES, SS_MAILBOX_BASE, TLB_64K, TLB_TS1, ATTR_DATA
#endif
        .irp    n, 0, 1, 2
        tlb_entry SS_CACHED_DATA_BASE + \n * 0x10000, TLB_64K, TLB_TS1, ATTR_DATA
        .endr
        /* Text can be executed only: its constants were copied to the data. */
        tlb_entry SS_TEXT_BASE, TLB_64K, TLB_TS1, ATTR_TEXT
        tlb_entry SS_STACK_BASE, TLB_16K, TLB_TS1, ATTR_DATA
        .irp    n, 0, 1
        tlb_entry SS_UNCACHED_DATA_BASE + \n * 0x1000, TLB_4K, TLB_TS1, ATTR_SHARED
        .endr
        tlb_entry SS_NICCB_BASE, TLB_4K, TLB_TS1, ATTR_SHARED
        tlb_entry SS_HOST_WINDOW_BASE, TLB_64K, TLB_TS1, ATTR_DEVICE
        tlb_entry SS_HTB_MAP, TLB_64K, TLB_TS1, ATTR_DEVICE
        /* Host windows gather stores. Window 0 is left out: a null pointer traps. */
        .irp    n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
        tlb_entry \n * SS_WINDOW_SIZE, TLB_256M, TLB_TS1, ATTR_SHARED
        .endr
        .long   0

        /* Layout that the tables assume. */
        .if     SS_TRACE_BASE - SS_MAILBOX_BASE != 0xC000
        .error  "the shared SRAM is no longer one 64 KB page"
        .endif
        .if     SS_CACHED_DATA_SIZE != 0x30000 || SS_STACK_SIZE != 0x4000
        .error  "the cached regions no longer fit the page tables"
        .endif
        .if     SS_UNCACHED_DATA_SIZE != 0x2000
        .error  "the uncached data no longer fit the page tables"
        .endif

        .section .noinit, "aw", @nobits
        .balign 16
exception_stack:
        .space  512
exception_stack_top:
        .section .note.GNU-stack,"",@progbits
