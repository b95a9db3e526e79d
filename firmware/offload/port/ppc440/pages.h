/* Pages of the two address spaces, for the assembler: one of boot, where nothing is cached, and one
 * of the firmware. Nothing is ever mapped both ways in one space. */
#ifndef OFFLOAD_PAGES_H
#define OFFLOAD_PAGES_H

#include "tlb.h"

/* Sizes that tlb.h does not have. */
#define TLB_1M (5 << 4)

/* First TLB entry of the second space; those of boot are below, and its own page is the last. */
#define TLB_SECOND 32
#define TLB_ROM 63

/* The first megabyte of memory holds all but entries and buffers. */
.macro  boot_pages
        tlb_entry OF_MEMORY_BASE, TLB_1M, 0, TLB_I + TLB_LE + TLB_SX + TLB_SW + TLB_SR
        tlb_entry OF_REGISTER_BASE, TLB_64K, 0, TLB_I + TLB_G + TLB_LE + TLB_SW + TLB_SR
.endm

#define ATTR_TEXT TLB_LE + TLB_SX
#define ATTR_DATA TLB_LE + TLB_SW + TLB_SR
#define ATTR_GATHERED TLB_I + TLB_LE + TLB_SW + TLB_SR
#define ATTR_DEVICE TLB_I + TLB_G + TLB_LE + TLB_SW + TLB_SR

#endif
