/* The firmware's regions, from the addresses in the contract. Preprocessed before use. The flat
 * image is text with the initialised data behind it. */
#include "abi_offload.h"

OUTPUT_FORMAT("elf32-powerpcle")
OUTPUT_ARCH(powerpc)
ENTRY(_start)

MEMORY {
    TEXT  (rx) : ORIGIN = OF_TEXT_BASE,  LENGTH = OF_TEXT_SIZE
    DATA  (rw) : ORIGIN = OF_DATA_BASE,  LENGTH = OF_DATA_SIZE
    STACK (rw) : ORIGIN = OF_STACK_BASE, LENGTH = OF_STACK_SIZE
}

SECTIONS {
    .text : {
        KEEP(*(.start))
        *(.text.hot .text.hot.*)
        *(.text .text.*)
        . = ALIGN(4);
    } > TEXT

    /* Constants live with the data, so that text is only fetched. */
    .data : ALIGN(32) {
        __data_start = .;
        *(.rodata .rodata.* .data .data.* .sdata .sdata.*)
        . = ALIGN(4);
        __data_end = .;
    } > DATA AT > TEXT
    __data_load = LOADADDR(.data);

    .bss (NOLOAD) : ALIGN(32) {
        __bss_start = .;
        *(.bss .bss.* .sbss .sbss.* COMMON)
        . = ALIGN(4);
        __bss_end = .;
    } > DATA AT > DATA

    .noinit (NOLOAD) : ALIGN(32) {
        *(.noinit .noinit.*)
    } > DATA AT > DATA

    .stack (NOLOAD) : {
        __stack_bottom = .;
        . += OF_STACK_SIZE;
        __stack_top = .;
    } > STACK AT > STACK

    /DISCARD/ : { *(.eh_frame .eh_frame_hdr .note.GNU-stack .comment .gnu.attributes) }
}
