/* The regions of pedretti2005 s3.2 (uncached data, cached data, text, stack), from the addresses
 * in the contract. Preprocessed before use. The flat image is text with the initialised data
 * behind it. */
#include "abi_seastar.h"

OUTPUT_FORMAT("elf32-powerpcle")
OUTPUT_ARCH(powerpc)
ENTRY(_start)

MEMORY {
    TEXT     (rx) : ORIGIN = SS_TEXT_BASE,          LENGTH = SS_TEXT_SIZE
    CACHED   (rw) : ORIGIN = SS_CACHED_DATA_BASE,   LENGTH = SS_CACHED_DATA_SIZE
    STACK    (rw) : ORIGIN = SS_STACK_BASE,         LENGTH = SS_STACK_SIZE
    UNCACHED (rw) : ORIGIN = SS_UNCACHED_DATA_BASE, LENGTH = SS_UNCACHED_DATA_SIZE
}

/* Structures that the contract places. */
niccb      = SS_NICCB_BASE;
ready_flag = SS_READY_FLAG;
mailboxes  = SS_MAILBOX_BASE;
rx_headers = SS_RX_HEADER_BASE;
control_slots = SS_CONTROL_SLOT_BASE;
waiting_bits = SS_TRACE_BASE;

SECTIONS {
    .text : {
        KEEP(*(.start))
        *(.text.hot .text.hot.*)
        *(.text .text.*)
        . = ALIGN(4);
    } > TEXT

    /* Constants live with the cached data, so that text is fetched only and CACHE=i caches no
     * data. */
    .data : ALIGN(32) {
        __data_start = .;
        *(.rodata .rodata.* .data .data.* .sdata .sdata.*)
        . = ALIGN(4);
        __data_end = .;
    } > CACHED AT > TEXT
    __data_load = LOADADDR(.data);

    .bss (NOLOAD) : ALIGN(32) {
        __bss_start = .;
        *(.bss .bss.* .sbss .sbss.* COMMON)
        . = ALIGN(4);
        __bss_end = .;
    } > CACHED AT > CACHED

    .noinit (NOLOAD) : ALIGN(32) {
        *(.noinit .noinit.*)
    } > CACHED AT > CACHED

    .uncached (NOLOAD) : ALIGN(4) {
        __uncached_start = .;
        *(.uncached .uncached.*)
        . = ALIGN(4);
        __uncached_end = .;
    } > UNCACHED AT > UNCACHED

    .below_stack (NOLOAD) : ALIGN(32) {
        *(.below_stack)
        . = ALIGN(32);
    } > STACK AT > STACK

    .stack (NOLOAD) : {
        __stack_bottom = .;
        . += SS_STACK_SIZE - SIZEOF(.below_stack);
        __stack_top = .;
    } > STACK AT > STACK

    /DISCARD/ : { *(.eh_frame .eh_frame_hdr .note.GNU-stack .comment .gnu.attributes) }
}
