/* For the speed of the core: copying, searching, counting. */
#include <stdint.h>

static uint32_t words[1024];
static uint8_t bytes[4096];

int main(void)
{
    uint32_t sum = 0, seed = 1;

    for (int round = 0; round < 1500; round++) {
        for (int i = 0; i < 1024; i++) {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            words[i] = seed;
        }
        for (int i = 0; i < 1024; i++)
            bytes[words[i] & 4095] += (uint8_t)i;
        for (int i = 0; i < 4096; i++) {
            if (bytes[i] > 100)
                sum += bytes[i];
        }
    }
    return (int)sum;
}
