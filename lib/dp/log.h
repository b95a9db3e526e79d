/* The log of a judged run: what the program wrote and read, for the judge of Directed Point. */
#ifndef LOG_H
#define LOG_H

#include <stddef.h>
#include <sys/types.h>

#include "../../linux/dp/interface.h"

/* A channel is opened as this descriptor. */
void log_opened(int channel, const struct dp_channel_id *id);
void log_closed(int channel);

/* What became of a call: bytes, or -1 and errno. */
void log_written(int channel, const void *data, size_t bytes, ssize_t result);
void log_read(int channel, const void *data, size_t room, ssize_t result);

#endif
