/* All of it stands in RAM, loaded as one image that fills it: the FPGA's configuration initialises the
 * block RAM. */
#include "abi_console.h"

OUTPUT_FORMAT("elf32-powerpc")
OUTPUT_ARCH(powerpc)
ENTRY(reset)
SECTIONS {
    . = XC_RAM_BASE;
    .text : { *(.text*) *(.rodata*) }
    .data : { *(.data*) *(.sdata*) }
    .bss : { *(.bss*) *(.sbss*) *(COMMON) }
    . = ALIGN(16);
    .stack : { . += 0x1000; stack_top = .; }
    ASSERT(. <= XC_RAM_BASE + XC_RAM_SIZE - 0x1000,
        "program and data do not fit below the start page")
    . = XC_RAM_BASE + XC_RAM_SIZE - 0x1000;
    .start : { KEEP(*(.start)) }
    . = XC_RAM_BASE + XC_RAM_SIZE - 4;
    .reset : { KEEP(*(.reset)) }
    /DISCARD/ : { *(.note.GNU-stack .gnu.attributes .comment .eh_frame*) }
}
