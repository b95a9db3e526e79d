/* Host memory that the firmware shows itself, through windows of its own that it maps when it needs them
 * (brightwell2007). Only in images built with ACCELERATED=on. */
#ifndef SEASTAR_WINDOW_H
#define SEASTAR_WINDOW_H

#include "limits.h"

/* After boot: no window shows anything that is known. */
void window_init(void);

/* Stores up to SS_INLINE_MAX bytes at a host physical address: memory holds them before anything tells of
 * it. */
void window_store(const uint32_t *data, uint32_t lo, uint32_t hi, uint32_t length);

/* Loads as many; what the last word has beside them is 0. */
void window_load(uint32_t *data, uint32_t lo, uint32_t hi, uint32_t length);

#endif
