// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Driver of the card `bell` (crate model-bell): a PCI device with one region, DMA and an interrupt. It is
 * meant to be copied. A value that is written to /dev/bell goes to the peer's card; one that has come is read
 * from there.
 */
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

/* Registers, as crates/models/model-bell/src/nic.rs has them. */
#define BELL_ID 0x00
#define BELL_NODE 0x04
#define BELL_RING 0x10
#define BELL_ADDRESS 0x18
#define BELL_PENDING 0x20
#define BELL_MAGIC 0x4c4c4542

static bool messages = true;
module_param(messages, bool, 0444);
MODULE_PARM_DESC(messages, "Interrupts are messages (MSI); else the card's line is used");

struct bell {
	struct miscdevice device;
	void __iomem *registers;
	/* Where the card puts what has come, and where it stands for the card. */
	u32 *arrived;
	dma_addr_t address;
	wait_queue_head_t waiting;
	bool fresh;
};

static irqreturn_t bell_interrupt(int irq, void *data)
{
	struct bell *bell = data;

	if (!messages) {
		/* The line may be another's. */
		if (!readl(bell->registers + BELL_PENDING))
			return IRQ_NONE;
		writel(1, bell->registers + BELL_PENDING);
	}
	bell->fresh = true;
	wake_up_interruptible(&bell->waiting);
	return IRQ_HANDLED;
}

static struct bell *bell_of(struct file *file)
{
	return container_of(file->private_data, struct bell, device);
}

static ssize_t bell_read(struct file *file, char __user *to, size_t length, loff_t *at)
{
	struct bell *bell = bell_of(file);
	u32 value;

	if (length < sizeof(value))
		return -EINVAL;
	if (wait_event_interruptible(bell->waiting, bell->fresh))
		return -ERESTARTSYS;
	bell->fresh = false;
	value = READ_ONCE(*bell->arrived);
	return copy_to_user(to, &value, sizeof(value)) ? -EFAULT : sizeof(value);
}

static ssize_t bell_write(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	struct bell *bell = bell_of(file);
	u32 value;

	if (length < sizeof(value))
		return -EINVAL;
	if (copy_from_user(&value, from, sizeof(value)))
		return -EFAULT;
	writel(value, bell->registers + BELL_RING);
	return sizeof(value);
}

static const struct file_operations bell_operations = {
	.owner = THIS_MODULE,
	.read = bell_read,
	.write = bell_write,
};

static int bell_probe(struct pci_dev *card, const struct pci_device_id *id)
{
	struct bell *bell = devm_kzalloc(&card->dev, sizeof(*bell), GFP_KERNEL);
	int error;

	if (!bell)
		return -ENOMEM;
	error = pcim_enable_device(card);
	if (error)
		return error;
	error = pcim_iomap_regions(card, BIT(0), "bell");
	if (error)
		return error;
	bell->registers = pcim_iomap_table(card)[0];
	if (readl(bell->registers + BELL_ID) != BELL_MAGIC)
		return -ENODEV;
	bell->arrived = dmam_alloc_coherent(&card->dev, sizeof(u32), &bell->address, GFP_KERNEL);
	if (!bell->arrived)
		return -ENOMEM;
	init_waitqueue_head(&bell->waiting);
	pci_set_drvdata(card, bell);
	pci_set_master(card);
	error = pci_alloc_irq_vectors(card, 1, 1, messages ? PCI_IRQ_MSI : PCI_IRQ_INTX);
	if (error < 0)
		return error;
	error = request_irq(pci_irq_vector(card, 0), bell_interrupt, messages ? 0 : IRQF_SHARED,
			    "bell", bell);
	if (error)
		goto vectors;
	writel(lower_32_bits(bell->address), bell->registers + BELL_ADDRESS);
	writel(upper_32_bits(bell->address), bell->registers + BELL_ADDRESS + 4);
	bell->device = (struct miscdevice){
		.minor = MISC_DYNAMIC_MINOR,
		.name = "bell",
		.fops = &bell_operations,
	};
	error = misc_register(&bell->device);
	if (!error) {
		pci_info(card, "the bell of node %u\n", readl(bell->registers + BELL_NODE));
		return 0;
	}
	free_irq(pci_irq_vector(card, 0), bell);
vectors:
	pci_free_irq_vectors(card);
	return error;
}

static void bell_remove(struct pci_dev *card)
{
	struct bell *bell = pci_get_drvdata(card);

	misc_deregister(&bell->device);
	free_irq(pci_irq_vector(card, 0), bell);
	pci_free_irq_vectors(card);
}

static const struct pci_device_id bell_ids[] = { { PCI_DEVICE(0x1234, 0xbe11) }, {} };
MODULE_DEVICE_TABLE(pci, bell_ids);

static struct pci_driver bell_driver = {
	.name = "bell",
	.id_table = bell_ids,
	.probe = bell_probe,
	.remove = bell_remove,
};
module_pci_driver(bell_driver);
MODULE_DESCRIPTION("Sunstar's card bell");
MODULE_LICENSE("GPL");
