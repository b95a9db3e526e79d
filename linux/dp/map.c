// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * The card's memory in a process, by mmap of the card's space (vorakosit2001 s3). The pages are copies in the
 * host's memory: a page comes over the bus when it is touched first, and pages that were changed go back when
 * the file is synchronised (msync, fsync) or closed for good. Then all are forgotten, and the next touch
 * brings what the card has by then.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>

#include "myri.h"

#define PAGES (MY_SRAM_SIZE / PAGE_SIZE)

/* Of an open file. */
struct card_map {
	struct myri *myri;
	struct mutex lock;
	struct page *pages[PAGES];
	DECLARE_BITMAP(changed, PAGES);
};

static struct page *bring(struct card_map *map, unsigned long number)
{
	struct page *page = map->pages[number];

	if (page)
		return page;
	page = alloc_page(GFP_KERNEL);
	if (page) {
		memcpy_fromio(page_address(page), map->myri->space + number * PAGE_SIZE, PAGE_SIZE);
		map->pages[number] = page;
	}
	return page;
}

static vm_fault_t touched(struct vm_fault *vmf)
{
	struct card_map *map = vmf->vma->vm_private_data;
	struct page *page;
	int error = -ENOMEM;

	mutex_lock(&map->lock);
	page = bring(map, vmf->pgoff);
	/* Under the lock: a page that is forgotten is in no table. */
	if (page)
		error = vm_insert_page(vmf->vma, vmf->address, page);
	mutex_unlock(&map->lock);
	if (error == -ENOMEM)
		return VM_FAULT_OOM;
	/* Another thread was faster. */
	return error && error != -EBUSY ? VM_FAULT_SIGBUS : VM_FAULT_NOPAGE;
}

static vm_fault_t written(struct vm_fault *vmf)
{
	struct card_map *map = vmf->vma->vm_private_data;
	bool known;

	mutex_lock(&map->lock);
	known = map->pages[vmf->pgoff] == vmf->page;
	if (known) {
		set_bit(vmf->pgoff, map->changed);
		lock_page(vmf->page);
	}
	mutex_unlock(&map->lock);
	return known ? VM_FAULT_LOCKED : VM_FAULT_NOPAGE;
}

static const struct vm_operations_struct map_operations = {
	.fault = touched,
	.page_mkwrite = written,
};

/* Registers are words that do something when they are read: they cannot be pages. */
int map_space(struct file *file, struct vm_area_struct *vma)
{
	if (vma->vm_pgoff >= PAGES || vma_pages(vma) > PAGES - vma->vm_pgoff)
		return -ENXIO;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = file->private_data;
	vma->vm_ops = &map_operations;
	return 0;
}

static void forget(struct card_map *map)
{
	unsigned long number;

	for (number = 0; number < PAGES; number++) {
		struct page *page = map->pages[number];

		if (!page)
			continue;
		if (test_and_clear_bit(number, map->changed))
			memcpy_toio(map->myri->space + number * PAGE_SIZE, page_address(page), PAGE_SIZE);
		map->pages[number] = NULL;
		put_page(page);
	}
}

int map_open(struct myri *myri, struct file *file)
{
	struct card_map *map = kzalloc(sizeof(*map), GFP_KERNEL);

	if (!map)
		return -ENOMEM;
	map->myri = myri;
	mutex_init(&map->lock);
	file->private_data = map;
	return 0;
}

int map_sync(struct file *file, loff_t start, loff_t end, int datasync)
{
	struct card_map *map = file->private_data;

	mutex_lock(&map->lock);
	unmap_mapping_range(file->f_mapping, 0, 0, 1);
	forget(map);
	mutex_unlock(&map->lock);
	return 0;
}

int map_release(struct inode *inode, struct file *file)
{
	struct card_map *map = file->private_data;

	forget(map);
	kfree(map);
	return 0;
}
