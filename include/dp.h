/* Directed Point (vorakosit2001): packets between points of nodes, through the kernel, without a protocol.
 *
 * A node has a number (NID), and so has each point of a node (DPID). A channel is {local DPID, peer NID, peer
 * DPID}: what is written to it goes to that peer, and what that peer writes comes out of it. Packets have 1
 * to DP_MAX bytes. Those of a channel come in order and once at most. Nothing is acknowledged: one for which
 * there is no room, or no channel, is lost.
 *
 * A channel is a file descriptor: poll(2) and fcntl(2) work on it. That there are dp_write and dp_read, as
 * UNIX has them, is published; all else of this interface is ours. Errors are -1 and errno.
 *
 *     sunstar run -n 2 --machine amata examples/dp_pingpong.c */
#ifndef DP_H
#define DP_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most bytes of a packet. */
#define DP_MAX 1500

/* The number of this node. ENOENT, ENODEV: the module is not loaded. */
int dp_node(void);

/* Opens a channel from point `local` of this node to point `point` of node `node`. EADDRINUSE: it is open. */
int dp_open(int local, int node, int point);

/* Sends a packet, and returns when the network interface has sent it: `bytes`. EMSGSIZE: none, or more than
 * DP_MAX; EHOSTUNREACH: there is no route to that node. */
ssize_t dp_write(int channel, const void *data, size_t bytes);

/* Waits for a packet, and takes it: its bytes. What is longer than `bytes` is cut. */
ssize_t dp_read(int channel, void *data, size_t bytes);

/* Closes a channel: what comes then is lost. */
int dp_close(int channel);

#ifdef __cplusplus
}
#endif

#endif
