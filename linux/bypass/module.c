// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The module's life. */
#include <linux/module.h>
#include <linux/slab.h>

#include "mcp.h"
#include "bypass_module.h"

static int nid = -1;
module_param(nid, int, 0444);
MODULE_PARM_DESC(nid, "The number of this node");

static uint check = MY_SRAM_SIZE;
module_param(check, uint, 0444);
MODULE_PARM_DESC(check, "Bytes of the card's memory that are cleared and checked");

static int bypass_probe(struct pci_dev *pci, const struct pci_device_id *id)
{
	struct bypass *bypass;
	int error;

	if (nid < 0 || nid >= MY_BYPASS_NODES) {
		pci_err(pci, "the node has no number: nid=NUMBER\n");
		return -EINVAL;
	}
	bypass = kzalloc(sizeof(*bypass), GFP_KERNEL);
	if (!bypass)
		return -ENOMEM;
	bypass->node = nid;
	error = card_find(&bypass->card, pci, check);
	if (error)
		goto memory;
	card_load(&bypass->card, mcp, MCP_BYTES);
	card_set(&bypass->card, CONTROL(node), nid);
	error = card_start(&bypass->card);
	if (error)
		goto card;
	error = routes_create(&bypass->card);
	if (error)
		goto start;
	error = ports_create(bypass);
	if (error)
		goto routes;
	pci_set_drvdata(pci, bypass);
	pci_info(pci, "bypass library on Myrinet, node %d\n", nid);
	return 0;
routes:
	routes_remove(&bypass->card);
start:
	card_stop(&bypass->card);
card:
	card_lose(&bypass->card);
memory:
	kfree(bypass);
	return error;
}

static void bypass_remove(struct pci_dev *pci)
{
	struct bypass *bypass = pci_get_drvdata(pci);

	ports_remove(bypass);
	routes_remove(&bypass->card);
	card_stop(&bypass->card);
	card_lose(&bypass->card);
	kfree(bypass);
}

static const struct pci_device_id bypass_ids[] = { { PCI_DEVICE(0x14c1, 0x8043) }, {} };
MODULE_DEVICE_TABLE(pci, bypass_ids);

static struct pci_driver bypass_driver = {
	.name = KBUILD_MODNAME,
	.id_table = bypass_ids,
	.probe = bypass_probe,
	.remove = bypass_remove,
	/* Open ports hold the module, and by it the card. */
	.driver.suppress_bind_attrs = true,
};
module_pci_driver(bypass_driver);
MODULE_DESCRIPTION("Ports of a Myrinet card in processes");
MODULE_LICENSE("GPL");
