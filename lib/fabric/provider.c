/* The provider as libfabric loads it. */
#define _GNU_SOURCE
#include "fabric.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Programs bring libfabrics of many versions, some of them loaded for themselves alone. So
 * nothing is linked to: what is needed is looked up in the library that loads this one. By that
 * its newest forms are found, as it uses them. */
static struct fi_info *(*duplicate)(const struct fi_info *info);
static uint32_t version_loaded;

int refuse(int error, const char *format, ...)
{
    static const char *said[64];
    static unsigned used;
    for (unsigned i = 0; i < used; i++)
        if (said[i] == format)
            return error;
    if (used < sizeof said / sizeof *said)
        said[used++] = format;
    va_list arguments;
    va_start(arguments, format);
    fputs("sunstar: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    return error;
}

void give_up(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("sunstar: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    abort();
}

void *need(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (!memory)
        give_up("the libfabric provider needs %zu bytes of memory and gets none", count * bytes);
    return memory;
}

struct fi_info *info_new(void)
{
    return duplicate(NULL);
}

uint32_t library_version(void)
{
    return version_loaded;
}

/* Programs close what they have opened. */
static void cleanup(void)
{
}

static struct fi_provider provider = {
    .version = FI_VERSION(1, 0),
    .name = "sunstar",
    .getinfo = getinfo,
    .fabric = fabric_open,
    .cleanup = cleanup,
};

FI_EXT_INI
{
    Dl_info caller;
    void *library = NULL;
    if (dladdr(__builtin_return_address(0), &caller))
        library = dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        library = RTLD_DEFAULT;
    uint32_t (*version)(void);
    *(void **)&version = dlsym(library, "fi_version");
    *(void **)&duplicate = dlsym(library, "fi_dupinfo");
    if (!version || !duplicate) {
        refuse(0, "the library that loads the libfabric provider is no libfabric");
        return NULL;
    }
    version_loaded = version();
    provider.fi_version = version_loaded;
    return &provider;
}
