#include "buffer.h"

#include "state.h"

#define NO_PAGE 0xFFFFu

void buffer_init(void)
{
    nic->used_pages = 0;
    nic->free_pages = NO_PAGE;
    for (uint32_t i = 0; i < BUFFER_CLASSES; i++)
        nic->part_pages[i] = NO_PAGE;
}

/* 0 for up to 64 bytes, 1 for up to 128, and so on. */
static inline uint32_t class_of(uint32_t length)
{
    uint32_t units = (length - 1) / BUFFER_SMALLEST;

    return units ? 32 - (uint32_t)__builtin_clz(units) : 0;
}

/* Pages with free parts of a class are chained both ways. */
static void chain(uint32_t number, uint32_t class)
{
    struct buffer_page *page = &buffer_pages[number];
    uint16_t first = nic->part_pages[class];

    page->next = first;
    page->prev = NO_PAGE;
    if (first != NO_PAGE)
        buffer_pages[first].prev = (uint16_t)number;
    nic->part_pages[class] = (uint16_t)number;
}

static void unchain(uint32_t number, uint32_t class)
{
    const struct buffer_page *page = &buffer_pages[number];

    if (page->prev == NO_PAGE)
        nic->part_pages[class] = page->next;
    else
        buffer_pages[page->prev].next = page->next;
    if (page->next != NO_PAGE)
        buffer_pages[page->next].prev = page->prev;
}

/* A page with all its parts free; NO_PAGE if memory has run out. */
static uint32_t split(uint32_t class)
{
    uint32_t number = nic->free_pages, parts = BUFFER_PAGE / BUFFER_SMALLEST >> class;
    struct buffer_page *page;

    if (number != NO_PAGE)
        nic->free_pages = buffer_pages[number].next;
    else if (nic->used_pages < BUFFER_PAGES)
        number = nic->used_pages++;
    else
        return NO_PAGE;
    page = &buffer_pages[number];
    page->class = (uint8_t)class;
    page->used = 0;
    page->free[0] = parts >= 32 ? ~0u : (1u << parts) - 1;
    page->free[1] = parts == 64 ? ~0u : 0;
    chain(number, class);
    return number;
}

uint32_t buffer_allocate(uint32_t length)
{
    uint32_t class = class_of(length), number = nic->part_pages[class], half, part;
    struct buffer_page *page;

    if (number == NO_PAGE)
        number = split(class);
    if (number == NO_PAGE)
        return 0;
    page = &buffer_pages[number];
    half = page->free[0] ? 0 : 1;
    part = 31 - (uint32_t)__builtin_clz(page->free[half]);
    page->free[half] &= ~(1u << part);
    ++page->used;
    if (!page->free[0] && !page->free[1])
        unchain(number, class);
    part += half * 32;
    return OF_BUFFER_BASE + number * BUFFER_PAGE + (part * BUFFER_SMALLEST << class);
}

void buffer_free(uint32_t address)
{
    uint32_t number = (address - OF_BUFFER_BASE) / BUFFER_PAGE;
    struct buffer_page *page = &buffer_pages[number];
    uint32_t class = page->class;
    uint32_t part = address % BUFFER_PAGE / BUFFER_SMALLEST >> class;

    if (!page->free[0] && !page->free[1])
        chain(number, class);
    page->free[part / 32] |= 1u << part % 32;
    if (--page->used)
        return;
    unchain(number, class);
    page->next = nic->free_pages;
    nic->free_pages = (uint16_t)number;
}
