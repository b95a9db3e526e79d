/* A packet whose route leads to a port of the switch without a cable: it is lost, and nothing else
 * happens. */
#include <dp.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    FILE *routes = fopen("/proc/net/myri_route", "w");
    int channel = dp_open(1, 1 - dp_node(), 1);
    char packet[100] = "nowhere";

    if (routes == NULL || fprintf(routes, "%d 85\n", 1 - dp_node()) < 0 || fclose(routes) != 0)
        return 1;
    if (channel < 0 || dp_write(channel, packet, sizeof packet) != sizeof packet)
        return 2;
    return dp_close(channel);
}
