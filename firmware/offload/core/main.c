#include "mainloop.h"

int main(void)
{
    firmware_init();
    mainloop();
}
