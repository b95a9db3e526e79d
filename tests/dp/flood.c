/* Packets of Directed Point from node 0 to node 1 without end, of sizes that change. */
#include <dp.h>
#include <errno.h>
#include <stdio.h>

int main(void)
{
    static char packet[DP_MAX];
    int dp = dp_open(1, 1, 1);

    if (dp < 0) {
        perror("dp_open");
        return 1;
    }
    for (unsigned n = 0;; n = n * 5 + 1)
        if (dp_write(dp, packet, 1 + n % DP_MAX) < 0) {
            perror("dp_write");
            return 1;
        }
}
