//! Network between the cards: wires, or a mesh, with the events and messages of both.

use des::Duration;
use mesh::LinkMessage;
use mesh_network::Port;
use offload_nic::WireMessage;

/// Event of a card, or of its port to a mesh.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Card(offload_nic::Event),
    Mesh(mesh_network::Event),
}

impl From<mesh_network::Event> for Event {
    fn from(event: mesh_network::Event) -> Event {
        Event::Mesh(event)
    }
}

/// Message between nodes: of cards, or of routers.
pub(crate) enum Message {
    Card(WireMessage),
    Link(LinkMessage),
}

impl From<LinkMessage> for Message {
    fn from(message: LinkMessage) -> Message {
        Message::Link(message)
    }
}

/// A card's way to others.
pub(crate) enum Network {
    /// A wire to each, on which a byte takes this time.
    Wire(Duration),
    /// Routers.
    Mesh(Box<Port>),
}

impl Network {
    /// True if a message to `target` does not leave the node `nid`: its router gives it back.
    pub fn stays_here(&self, target: u32, nid: u32) -> bool {
        target == nid && matches!(self, Network::Mesh(_))
    }

    /// No window of a run in which nothing moves is longer.
    pub fn window(&self) -> Duration {
        match self {
            Network::Wire(delay) => *delay * 2,
            Network::Mesh(port) => port.window(),
        }
    }
}
