/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What abi_myrinet.h asks the C library for, and the kernel has under other names. */
#include <linux/types.h>
