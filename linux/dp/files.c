// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Character devices (minor 0 is the card's space, minor 1 opens channels) and /proc/net/dp.
 */
#include <linux/cdev.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "myri.h"

#define PIECE 4096u
#define COUNTS "dp"

static struct myri *the_card;
static struct class *class;
static struct cdev cards, channels;

/* ---- the card's space --------------------------------------------------------------------------------- */

/* Bytes that are moved at a time, 0 at the end. Beside the memory there are words only. */
static ssize_t piece_of(loff_t at, size_t length)
{
	if (at < 0)
		return -EINVAL;
	if (at >= MY_SPACE_SIZE)
		return 0;
	length = min3(length, (size_t)PIECE, (size_t)(MY_SPACE_SIZE - at));
	if (at < MY_SRAM_SIZE)
		return min(length, (size_t)(MY_SRAM_SIZE - at));
	if (at % 4 || length % 4)
		return -EINVAL;
	return length;
}

static ssize_t space_move(char __user *to, const char __user *from, size_t length, loff_t *at)
{
	ssize_t moved = piece_of(*at, length);
	void *piece;

	if (moved <= 0)
		return moved;
	piece = kmalloc(PIECE, GFP_KERNEL);
	if (!piece)
		return -ENOMEM;
	if (to) {
		memcpy_fromio(piece, the_card->card.space + *at, moved);
		if (copy_to_user(to, piece, moved))
			moved = -EFAULT;
	} else if (copy_from_user(piece, from, moved)) {
		moved = -EFAULT;
	} else {
		memcpy_toio(the_card->card.space + *at, piece, moved);
	}
	kfree(piece);
	if (moved > 0)
		*at += moved;
	return moved;
}

static ssize_t space_read(struct file *file, char __user *to, size_t length, loff_t *at)
{
	return space_move(to, NULL, length, at);
}

static ssize_t space_write(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	return space_move(NULL, from, length, at);
}

static loff_t space_seek(struct file *file, loff_t to, int whence)
{
	return fixed_size_llseek(file, to, whence, MY_SPACE_SIZE);
}

/* All of it: memory, registers and doorbells (vorakosit2001 s3). */
static int space_map(struct file *file, struct vm_area_struct *vma)
{
	return card_map(&the_card->card, vma, 0, MY_SPACE_SIZE);
}

static const struct file_operations space_operations = {
	.owner = THIS_MODULE,
	.mmap = space_map,
	.read = space_read,
	.write = space_write,
	.llseek = space_seek,
};

/* ---- what became of packets --------------------------------------------------------------------------- */

static int counts_show(struct seq_file *file, void *unused)
{
	const struct {
		const char *name;
		unsigned long count;
	} lines[] = {
		{ "sent", dp_counts.sent },
		{ "received", dp_counts.received },
		{ "read", dp_counts.read },
		{ "lost_other_node", dp_counts.misled },
		{ "lost_wrong_length", dp_counts.misfit },
		{ "lost_no_channel", dp_counts.no_channel },
		{ "lost_no_room", dp_counts.no_room },
		{ "lost_closed", dp_counts.closed },
		{ "lost_no_memory", the_card->no_memory },
		{ "lost_too_long", the_card->too_long },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		seq_printf(file, "%-18s %lu\n", lines[i].name, lines[i].count);
	return 0;
}

/* ---- all of it ---------------------------------------------------------------------------------------- */

static int node_add(struct cdev *device, const struct file_operations *operations,
		    unsigned int minor, const char *name)
{
	dev_t number = MKDEV(DP_MAJOR, minor);
	struct device *node;
	int error;

	cdev_init(device, operations);
	device->owner = THIS_MODULE;
	error = cdev_add(device, number, 1);
	if (error)
		return error;
	node = device_create(class, NULL, number, NULL, "%s", name);
	if (!IS_ERR(node))
		return 0;
	cdev_del(device);
	return PTR_ERR(node);
}

static void node_remove(struct cdev *device, unsigned int minor)
{
	device_destroy(class, MKDEV(DP_MAJOR, minor));
	cdev_del(device);
}

int files_create(struct myri *myri)
{
	int error = register_chrdev_region(MKDEV(DP_MAJOR, 0), 2, "myrinet");

	if (error)
		return error;
	the_card = myri;
	class = class_create("myrinet");
	error = PTR_ERR_OR_ZERO(class);
	if (error)
		goto numbers;
	error = node_add(&cards, &space_operations, DP_MINOR_CARD, "myrinet");
	if (error)
		goto class;
	error = node_add(&channels, &dp_channel_operations, DP_MINOR_CHANNEL, "dp");
	if (error)
		goto card;
	error = routes_create(&myri->card);
	if (error)
		goto channel;
	if (proc_create_single(COUNTS, 0444, init_net.proc_net, counts_show))
		return 0;
	error = -ENOMEM;
	routes_remove(&myri->card);
channel:
	node_remove(&channels, DP_MINOR_CHANNEL);
card:
	node_remove(&cards, DP_MINOR_CARD);
class:
	class_destroy(class);
numbers:
	unregister_chrdev_region(MKDEV(DP_MAJOR, 0), 2);
	return error;
}

void files_remove(struct myri *myri)
{
	remove_proc_entry(COUNTS, init_net.proc_net);
	routes_remove(&myri->card);
	node_remove(&channels, DP_MINOR_CHANNEL);
	node_remove(&cards, DP_MINOR_CARD);
	class_destroy(class);
	unregister_chrdev_region(MKDEV(DP_MAJOR, 0), 2);
}
