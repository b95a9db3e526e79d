// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The module's life: post-initialisation, which registers what there is and starts the card, and clean-up. */
#include <linux/module.h>
#include <linux/slab.h>

#include "mcp.h"
#include "myri.h"

static int nid = -1;
module_param(nid, int, 0444);
MODULE_PARM_DESC(nid, "The number of this node");

static uint check = MY_SRAM_SIZE;
module_param(check, uint, 0444);
MODULE_PARM_DESC(check, "Bytes of the card's memory that are cleared and checked");

static int interface_send(struct dp_interface *interface, const struct dp_channel_id *channel,
			  const void *data, u32 length)
{
	struct my_packet_header header = {
		.target = channel->node,
		.target_point = channel->point,
		.source_point = channel->local,
		.length = length,
	};

	return card_send(container_of(interface, struct myri, interface), MY_PACKET_TYPE_DP, header, data);
}

static void interface_release(struct dp_interface *interface, struct dp_packet *packet)
{
	packet_release(container_of(interface, struct myri, interface), packet);
}

static int myri_probe(struct pci_dev *pci, const struct pci_device_id *id)
{
	struct myri *myri;
	int error;

	if (nid < 0 || nid >= MY_ROUTE_COUNT) {
		pci_err(pci, "the node has no number: nid=NUMBER\n");
		return -EINVAL;
	}
	myri = kzalloc(sizeof(*myri), GFP_KERNEL);
	if (!myri)
		return -ENOMEM;
	myri->interface = (struct dp_interface){
		.node = nid,
		.send = interface_send,
		.release = interface_release,
	};
	spin_lock_init(&myri->sending);
	spin_lock_init(&myri->freeing);
	error = card_find(&myri->card, pci, check);
	if (error)
		goto memory;
	card_load(&myri->card, mcp, MCP_BYTES);
	error = packets_allocate(myri);
	if (error)
		goto card;
	error = dp_register(&myri->interface);
	if (error)
		goto packets;
	error = request_irq(pci->irq, card_interrupt, IRQF_SHARED, KBUILD_MODNAME, myri);
	if (error)
		goto service;
	error = card_start(&myri->card);
	if (error)
		goto line;
	error = files_create(myri);
	if (error)
		goto start;
	error = network_create(myri);
	if (error)
		goto files;
	pci_set_drvdata(pci, myri);
	pci_info(pci, "Directed Point on Myrinet, node %d\n", nid);
	return 0;
files:
	files_remove(myri);
start:
	card_stop(&myri->card);
line:
	free_irq(pci->irq, myri);
service:
	dp_unregister(&myri->interface);
packets:
	packets_free(myri);
card:
	card_lose(&myri->card);
memory:
	kfree(myri);
	return error;
}

static void myri_remove(struct pci_dev *pci)
{
	struct myri *myri = pci_get_drvdata(pci);

	network_remove(myri);
	files_remove(myri);
	card_stop(&myri->card);
	free_irq(pci->irq, myri);
	dp_unregister(&myri->interface);
	packets_free(myri);
	card_lose(&myri->card);
	kfree(myri);
}

static const struct pci_device_id myri_ids[] = { { PCI_DEVICE(0x14c1, 0x8043) }, {} };
MODULE_DEVICE_TABLE(pci, myri_ids);

static struct pci_driver myri_driver = {
	.name = KBUILD_MODNAME,
	.id_table = myri_ids,
	.probe = myri_probe,
	.remove = myri_remove,
	/* Open channels hold the module, and by it the card. */
	.driver.suppress_bind_attrs = true,
};
module_pci_driver(myri_driver);
MODULE_DESCRIPTION("Directed Point on Myrinet (vorakosit2001)");
MODULE_LICENSE("GPL");
