// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * A network device on the same card, for IP: frames of Ethernet behind the packet's header. The last two
 * bytes of an address are the node's number. What is for all goes to each node that has a route.
 */
#include <linux/etherdevice.h>
#include <linux/netdevice.h>

#include "myri.h"

struct network {
	struct myri *myri;
};

static u16 node_of(const u8 *address)
{
	return address[ETH_ALEN - 2] << 8 | address[ETH_ALEN - 1];
}

static int send_to(struct myri *myri, u16 node, const struct sk_buff *skb)
{
	struct my_packet_header header = { .target = node, .length = skb->len };

	return card_send(myri, MY_PACKET_TYPE_FRAME, header, skb->data);
}

static netdev_tx_t network_send(struct sk_buff *skb, struct net_device *device)
{
	struct myri *myri = ((struct network *)netdev_priv(device))->myri;
	const u8 *target = skb->data;
	int error = 0;
	u32 node;

	if (skb_linearize(skb)) {
		error = -ENOMEM;
	} else if (is_multicast_ether_addr(target)) {
		for_each_set_bit(node, myri->card.routed, MY_ROUTE_COUNT)
			if (node != myri->interface.node)
				error = send_to(myri, node, skb) ?: error;
	} else {
		error = send_to(myri, node_of(target), skb);
	}
	if (error) {
		device->stats.tx_errors++;
	} else {
		device->stats.tx_packets++;
		device->stats.tx_bytes += skb->len;
	}
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

void network_receive(struct myri *myri, struct dp_packet *packet)
{
	struct net_device *device = myri->network;
	u32 length = packet->length - MYRI_HEADER;
	struct sk_buff *skb = device ? netdev_alloc_skb_ip_align(device, length) : NULL;

	if (skb && length >= ETH_HLEN) {
		skb_put_data(skb, packet->data + MYRI_HEADER, length);
		skb->protocol = eth_type_trans(skb, device);
		device->stats.rx_packets++;
		device->stats.rx_bytes += length;
		netif_rx(skb);
	} else {
		kfree_skb(skb);
		if (device)
			device->stats.rx_dropped++;
	}
	packet_release(myri, packet);
}

static const struct net_device_ops network_operations = {
	.ndo_start_xmit = network_send,
	.ndo_set_mac_address = NULL,
	.ndo_validate_addr = eth_validate_addr,
};

int network_create(struct myri *myri)
{
	u16 node = myri->interface.node;
	/* Of those that anybody may use. */
	const u8 address[ETH_ALEN] = { 0x02, 'M', 'y', 'r', node >> 8, node };
	struct net_device *device = alloc_etherdev(sizeof(struct network));
	int error;

	if (!device)
		return -ENOMEM;
	((struct network *)netdev_priv(device))->myri = myri;
	strscpy(device->name, "myri%d", IFNAMSIZ);
	device->netdev_ops = &network_operations;
	SET_NETDEV_DEV(device, &myri->card.pci->dev);
	eth_hw_addr_set(device, address);
	error = register_netdev(device);
	if (error) {
		free_netdev(device);
		return error;
	}
	myri->network = device;
	card_set(&myri->card, CARD_AREA(frames), 1);
	return 0;
}

void network_remove(struct myri *myri)
{
	struct net_device *device = myri->network;

	card_set(&myri->card, CARD_AREA(frames), 0);
	unregister_netdev(device);
	/* The interrupt's routine may be in the middle of it. */
	disable_irq(myri->card.pci->irq);
	myri->network = NULL;
	enable_irq(myri->card.pci->irq);
	free_netdev(device);
}
