// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * The device: a port is an open file, and mmap gives its page in the card and its memory. The card is told
 * where that memory is by words that no process sees, and moves nothing outside it.
 */
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "bypass_module.h"

#define COUNTS "bypass"

struct port {
	struct bypass *bypass;
	struct mutex lock;
	/* Before it is opened it has no memory. */
	void *memory;
	dma_addr_t address;
	u32 number, bytes;
};

static struct bypass *the_card;

/* Opens or closes a port, and waits until the card has seen that. */
static int set_open(struct bypass *bypass, u32 number, u32 state)
{
	struct card *card = &bypass->card;
	u32 looks;

	mutex_lock(&bypass->opening);
	card_set(card, LIMITS(number, open), state);
	card_set(card, CONTROL(changes), ++bypass->changes);
	mutex_unlock(&bypass->opening);
	for (looks = 0; looks < CARD_LOOKS; looks++) {
		if (card_get(card, LIMITS(number, state)) == state)
			return 0;
		cpu_relax();
	}
	pci_err(card->pci, "the control program does not see that a port was %s\n",
		state ? "opened" : "closed");
	return -EIO;
}

static int tell_card(struct port *port)
{
	struct card *card = &port->bypass->card;
	u32 number = port->number;

	memset_io(card->space + MY_BYPASS_PAGES + number * MY_BYPASS_PAGE, 0, MY_BYPASS_PAGE);
	card_set(card, LIMITS(number, host), lower_32_bits(port->address));
	card_set(card, LIMITS(number, bytes), port->bytes);
	return set_open(port->bypass, number, 1);
}

static int take_port(struct port *port, struct bypass_port *wanted)
{
	struct bypass *bypass = port->bypass;
	int error = 0;

	if (wanted->port >= MY_BYPASS_PORTS || !wanted->bytes || wanted->bytes > BYPASS_MEMORY_MAX
	    || offset_in_page(wanted->bytes))
		return -EINVAL;
	if (port->memory)
		return -EBUSY;
	mutex_lock(&bypass->opening);
	if (test_and_set_bit(wanted->port, &bypass->taken))
		error = -EADDRINUSE;
	mutex_unlock(&bypass->opening);
	if (error)
		return error;
	port->number = wanted->port;
	port->bytes = wanted->bytes;
	port->memory = dma_alloc_coherent(&bypass->card.pci->dev, port->bytes, &port->address, GFP_KERNEL);
	if (port->memory)
		/* A card that does not answer may have it all the same: it is closed as an open one. */
		return tell_card(port);
	clear_bit(port->number, &bypass->taken);
	return -ENOMEM;
}

static long ports_control(struct file *file, unsigned int command, unsigned long argument)
{
	struct port *port = file->private_data;
	struct bypass_port wanted;
	int error;

	if (command != BYPASS_OPEN)
		return -ENOTTY;
	if (copy_from_user(&wanted, (void __user *)argument, sizeof(wanted)))
		return -EFAULT;
	mutex_lock(&port->lock);
	error = take_port(port, &wanted);
	mutex_unlock(&port->lock);
	if (error)
		return error;
	wanted.node = port->bypass->node;
	return copy_to_user((void __user *)argument, &wanted, sizeof(wanted)) ? -EFAULT : 0;
}

/* Offset 0 is the port's page in the card; behind it is its memory. */
static int ports_map(struct file *file, struct vm_area_struct *vma)
{
	struct port *port = file->private_data;
	struct card *card = &port->bypass->card;

	if (!port->memory)
		return -ENXIO;
	if (!vma->vm_pgoff)
		return card_map(card, vma, MY_BYPASS_PAGES + port->number * MY_BYPASS_PAGE, MY_BYPASS_PAGE);
	vma->vm_pgoff--;
	return dma_mmap_coherent(&card->pci->dev, vma, port->memory, port->address, port->bytes);
}

static int ports_open(struct inode *inode, struct file *file)
{
	struct port *port = kzalloc(sizeof(*port), GFP_KERNEL);

	if (!port)
		return -ENOMEM;
	mutex_init(&port->lock);
	port->bypass = the_card;
	file->private_data = port;
	return 0;
}

/* Mappings hold the file: nobody touches the port any more. */
static int ports_release(struct inode *inode, struct file *file)
{
	struct port *port = file->private_data;
	struct bypass *bypass = port->bypass;

	if (port->memory) {
		/* Memory that a card may still write into is nobody else's. */
		if (!set_open(bypass, port->number, 0)) {
			dma_free_coherent(&bypass->card.pci->dev, port->bytes, port->memory, port->address);
			clear_bit(port->number, &bypass->taken);
		}
	}
	kfree(port);
	return 0;
}

static const struct file_operations ports_operations = {
	.owner = THIS_MODULE,
	.open = ports_open,
	.release = ports_release,
	.unlocked_ioctl = ports_control,
	.mmap = ports_map,
};

static int counts_show(struct seq_file *file, void *unused)
{
	static const struct {
		const char *name;
		u32 at;
	} lines[] = {
		{ "sent", CONTROL(sent) },	   { "resent", CONTROL(resent) },
		{ "failed", CONTROL(failed) },	   { "received", CONTROL(received) },
		{ "repeated", CONTROL(repeated) }, { "no_place", CONTROL(no_place) },
		{ "no_port", CONTROL(no_port) },   { "damaged", CONTROL(damaged) },
		{ "other", CONTROL(other) },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		seq_printf(file, "%-10s %u\n", lines[i].name, card_get(&the_card->card, lines[i].at));
	return 0;
}

int ports_create(struct bypass *bypass)
{
	int error;

	the_card = bypass;
	mutex_init(&bypass->opening);
	bypass->device = (struct miscdevice){
		.minor = MISC_DYNAMIC_MINOR,
		.name = "bypass",
		.fops = &ports_operations,
		.mode = 0666,
	};
	error = misc_register(&bypass->device);
	if (error)
		return error;
	if (proc_create_single(COUNTS, 0444, init_net.proc_net, counts_show))
		return 0;
	misc_deregister(&bypass->device);
	return -ENOMEM;
}

void ports_remove(struct bypass *bypass)
{
	remove_proc_entry(COUNTS, init_net.proc_net);
	misc_deregister(&bypass->device);
}
