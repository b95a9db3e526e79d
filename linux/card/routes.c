// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Routes (/proc/net/myri_route): written by the administrator, and read as the card has them. */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "card.h"

#define LONGEST 4096u
#define ROUTES "myri_route"

static struct card *the_card;

/* A line is a node's number and the bytes of its route, one for each switch; without any it has none. */
static int take_route(struct card *card, char *line)
{
	u8 route[MY_ROUTE_SIZE] = {};
	unsigned int hops = 0;
	char *word;
	u16 node;

	line = strim(strsep(&line, "#"));
	if (!*line)
		return 0;
	word = strsep(&line, " \t");
	if (kstrtou16(word, 10, &node) || node >= MY_ROUTE_COUNT)
		return -EINVAL;
	while ((word = strsep(&line, " \t"))) {
		if (!*word)
			continue;
		/* The upper bit says that it is a byte of a route. */
		if (hops == MY_ROUTE_SIZE || kstrtou8(word, 16, &route[hops]) || !(route[hops] & 0x80))
			return -EINVAL;
		hops++;
	}
	memcpy_toio(card->space + MY_REGION_ROUTES_BASE + node * MY_ROUTE_SIZE, route, MY_ROUTE_SIZE);
	assign_bit(node, card->routed, hops > 0);
	return 0;
}

static ssize_t routes_write(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	size_t taken = min(length, (size_t)LONGEST);
	char *text = memdup_user_nul(from, taken), *rest, *line, *end;
	int error = 0;

	if (IS_ERR(text))
		return PTR_ERR(text);
	/* A line that goes on behind this piece comes again as a whole. */
	end = strrchr(text, '\n');
	if (end && taken < length) {
		taken = end + 1 - text;
		*end = 0;
	}
	rest = text;
	mutex_lock(&the_card->routing);
	while (!error && (line = strsep(&rest, "\n")))
		error = take_route(the_card, line);
	mutex_unlock(&the_card->routing);
	kfree(text);
	return error ? error : taken;
}

/* As the card has them. */
static int routes_show(struct seq_file *file, void *unused)
{
	u8 route[MY_ROUTE_SIZE];
	u32 node, hop;

	mutex_lock(&the_card->routing);
	for_each_set_bit(node, the_card->routed, MY_ROUTE_COUNT) {
		memcpy_fromio(route, the_card->space + MY_REGION_ROUTES_BASE + node * MY_ROUTE_SIZE,
			      MY_ROUTE_SIZE);
		seq_printf(file, "%u", node);
		for (hop = 0; hop < MY_ROUTE_SIZE && route[hop]; hop++)
			seq_printf(file, " %02x", route[hop]);
		seq_putc(file, '\n');
	}
	mutex_unlock(&the_card->routing);
	return 0;
}

static int routes_open(struct inode *inode, struct file *file)
{
	return single_open(file, routes_show, NULL);
}

static const struct proc_ops routes_operations = {
	.proc_open = routes_open,
	.proc_read = seq_read,
	.proc_write = routes_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

int routes_create(struct card *card)
{
	the_card = card;
	return proc_create(ROUTES, 0644, init_net.proc_net, &routes_operations) ? 0 : -ENOMEM;
}

void routes_remove(struct card *card)
{
	remove_proc_entry(ROUTES, init_net.proc_net);
}
