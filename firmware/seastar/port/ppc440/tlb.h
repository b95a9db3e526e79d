/* TLB entries of the PowerPC 440: three words, as tlbwe takes them (PPC440x5 manual, chapter on
 * the memory management unit). For the assembler. */
#ifndef SEASTAR_TLB_H
#define SEASTAR_TLB_H

/* Word 0: effective page, valid, translation space, size. */
#define TLB_VALID 0x200
#define TLB_TS1 0x100
#define TLB_4K (1 << 4)
#define TLB_16K (2 << 4)
#define TLB_64K (3 << 4)
#define TLB_256M (9 << 4)

/* Word 2: attributes and permissions. */
#define TLB_I 0x400  /* Caching inhibited. */
#define TLB_G 0x100  /* Guarded: stores keep order and are not gathered. */
#define TLB_LE 0x080 /* Little endian. */
#define TLB_SX 0x004
#define TLB_SW 0x002
#define TLB_SR 0x001

/* An entry that maps a page to another real page. */
.macro  tlb_entry_to page, real, size, space, attributes
        .long   (\page) + TLB_VALID + (\size) + (\space)
        .long   (\real)
        .long   (\attributes)
.endm

/* An entry that maps a page to the real page of the same number. */
.macro  tlb_entry page, size, space, attributes
        tlb_entry_to (\page), (\page), \size, \space, (\attributes)
.endm

/* Writes the entries of the table at r3, which ends with a zero word, from TLB index r4 on. Uses
 * r5. */
.macro  tlb_write_table
1:      lwz     %r5, 0(%r3)
        cmpwi   %r5, 0
        beq     2f
        tlbwe   %r5, %r4, 0
        lwz     %r5, 4(%r3)
        tlbwe   %r5, %r4, 1
        lwz     %r5, 8(%r3)
        tlbwe   %r5, %r4, 2
        addi    %r3, %r3, 12
        addi    %r4, %r4, 1
        b       1b
2:
.endm

#endif
