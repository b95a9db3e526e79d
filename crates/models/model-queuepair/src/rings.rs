//! The driver's end of the rings.

use crate::entries::{Command, Completion, Layout, Submission, BASE, COMPLETION, HEAD, TAIL};
use crate::settings::Params;
use abi::wire::PortalsHeader;
use host::{Cpu, Extent, SharedMemory};
use portals::messages::{Channel, Deposit, Incoming, Notice, Outgoing};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

#[derive(Debug)]
enum Request {
    Send(Outgoing),
    Place(Deposit),
    Release(PortalsHeader),
}

/// The rings, as the driver keeps them.
pub(crate) struct Rings {
    layout: Layout,
    memory: SharedMemory,
    /// Index of the next submission, and of the next completion; that which the card knows.
    tail: Cell<u32>,
    head: Cell<u32>,
    told: Cell<u32>,
    /// Requests under way, by tag. There are as many tags as submissions, so a tag is room in the ring.
    under_way: RefCell<Vec<Option<Request>>>,
    tags: RefCell<Vec<u32>>,
    /// Memory for the list of pieces of each tag.
    lists: RefCell<Vec<Extent>>,
    waiting: RefCell<VecDeque<Request>>,
}

const OWN: &str = "the kernel's own memory is there";

impl Rings {
    pub fn new(memory: &SharedMemory, params: Params) -> Rings {
        let size = Layout { base: 0, params }.size();
        let base = memory.borrow_mut().alloc_kernel(size, 4096);
        let tags = 0..params.submissions;
        Rings {
            layout: Layout { base, params },
            memory: memory.clone(),
            tail: Cell::default(),
            head: Cell::default(),
            told: Cell::default(),
            under_way: RefCell::new(tags.clone().map(|_| None).collect()),
            lists: RefCell::new(tags.clone().map(|_| Extent { phys: 0, len: 0 }).collect()),
            tags: RefCell::new(tags.rev().collect()),
            waiting: RefCell::default(),
        }
    }

    fn store(&self, at: u64, bytes: &[u8]) {
        self.memory.borrow_mut().write_phys(at, bytes).expect(OWN);
    }

    /// Writes a list for a tag; its address.
    fn store_list(&self, tag: u32, bytes: &[u8]) -> u64 {
        let list = &mut self.lists.borrow_mut()[tag as usize];
        let len = bytes.len() as u64;
        if list.len < len {
            let len = len.next_power_of_two();
            *list = Extent { phys: self.memory.borrow_mut().alloc_kernel(len, 64), len };
        }
        self.store(list.phys, bytes);
        list.phys
    }

    /// Puts requests into the ring that have room there.
    fn submit(&self, cpu: &Cpu) {
        loop {
            let tag = self.tags.borrow().last().copied();
            let Some(tag) = tag.filter(|_| !self.waiting.borrow().is_empty()) else { return };
            self.tags.borrow_mut().pop();
            let request = self.waiting.borrow_mut().pop_front().expect("one waits");
            cpu.spend(self.layout.params.post);
            let entry = self.submission(tag, &request);
            self.store(self.layout.submission(self.tail.get()), &entry.emit());
            self.under_way.borrow_mut()[tag as usize] = Some(request);
            self.tail.set(self.tail.get().wrapping_add(1));
            cpu.mmio_write(TAIL, &self.tail.get().to_le_bytes());
        }
    }

    fn submission(&self, tag: u32, request: &Request) -> Submission {
        let (command, header) = match request {
            Request::Send(message) => (Command::Send, *message.header()),
            Request::Place(deposit) => (Command::Place, *deposit.header()),
            Request::Release(header) => (Command::Release, *header),
        };
        let copied;
        let extents = match request {
            Request::Send(message) => match message.source() {
                Ok(extents) => extents,
                Err(bytes) => {
                    // The kernel's own bytes stand where the list would.
                    let phys = self.store_list(tag, bytes);
                    copied = [Extent { phys, len: bytes.len() as u64 }];
                    &copied
                }
            },
            Request::Place(deposit) => deposit.extents(),
            Request::Release(_) => &[],
        };
        let address = match extents {
            [] => 0,
            [one] => one.phys,
            _ => {
                let words = extents.iter().flat_map(|piece| [piece.phys, piece.len]);
                let list: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
                self.store_list(tag, &list)
            }
        };
        let bytes = extents.iter().map(|extent| extent.len).sum();
        Submission { command, tag, pieces: extents.len() as u32, address, bytes, header }
    }

    /// The completion that the card has written last, if the driver has not read it.
    fn completion(&self) -> Option<Completion> {
        let mut entry = [0; COMPLETION];
        let at = self.layout.completion(self.head.get());
        self.memory.borrow_mut().read_phys(at, &mut entry).expect(OWN);
        (entry[0] == self.layout.phase(self.head.get())).then(|| Completion::parse(&entry))
    }

    fn request(&self, cpu: &Cpu, request: Request) {
        self.waiting.borrow_mut().push_back(request);
        self.submit(cpu);
    }
}

impl Channel for Rings {
    fn start(&self, cpu: &Cpu) {
        cpu.mmio_write(BASE, &self.layout.base.to_le_bytes());
    }
    fn send(&self, cpu: &Cpu, message: Outgoing) {
        self.request(cpu, Request::Send(message));
    }
    fn deposit(&self, cpu: &Cpu, deposit: Deposit) {
        self.request(cpu, Request::Place(deposit));
    }
    fn release(&self, cpu: &Cpu, header: &PortalsHeader) {
        self.request(cpu, Request::Release(*header));
    }

    fn next(&self, cpu: &Cpu) -> Option<Notice> {
        while let Some(completion) = self.completion() {
            self.head.set(self.head.get().wrapping_add(1));
            cpu.spend(self.layout.params.reap);
            let (tag, failed) = match completion {
                Completion::Arrived(Incoming { header, data }) => {
                    return Some(Notice::Arrived(Incoming { header, data }))
                }
                Completion::Ended { tag, failed } => (tag, failed),
            };
            let request = self.under_way.borrow_mut()[tag as usize].take();
            self.tags.borrow_mut().push(tag);
            self.submit(cpu);
            match request.expect("a completion has the tag of a request") {
                Request::Send(message) => return Some(Notice::Sent(message)),
                Request::Place(mut deposit) => {
                    if failed {
                        deposit.lost();
                    }
                    return Some(Notice::Deposited(deposit));
                }
                Request::Release(_) => {}
            }
        }
        if self.told.replace(self.head.get()) != self.head.get() {
            cpu.mmio_write(HEAD, &self.head.get().to_le_bytes());
        }
        None
    }

    fn has_events(&self) -> bool {
        self.completion().is_some()
    }
}
