/* Node 0 sends two packets 20 ms after the launch, and node 1 says how many come within 40 ms. Both fit
 * into a switch. */
#include <dp.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum { POINT = 7, PACKETS = 2, BYTES = 1 };

int main(void)
{
    int node = dp_node(), dp = dp_open(POINT, 1 - node, POINT), came = 0;
    char packet[BYTES] = {0};

    if (node < 0 || dp < 0)
        return 1;
    if (node == 0) {
        usleep(20000);
        for (int i = 0; i < PACKETS; i++)
            if (dp_write(dp, packet, sizeof packet) != sizeof packet)
                return 2;
        return dp_close(dp);
    }
    struct pollfd file = {.fd = dp, .events = POLLIN};
    while (poll(&file, 1, 40) == 1 && dp_read(dp, packet, sizeof packet) == sizeof packet)
        came++;
    printf("%d packets came\n", came);
    return dp_close(dp);
}
