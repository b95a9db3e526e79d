//! Verbs of a program, and its calls of forth.h: what its library asks of kernel module and card.
//!
//! A region's pages are pinned below 4 GB, where descriptors reach. Its key names it to all nodes: who writes
//! there asks the owner's kernel once, over the administration network, where the region's pages are.

use super::library::{Buffer, Library, Source};
use super::memory::PAGE;
use super::module::{notify_addr, pages};
use super::settings::Settings;
use abi::forth::{register, table, QUEUE_SIZE, REGION_SIZE};
use abi::rank::verbs_call;
use des::{Duration, Time};
use host::{Cpu, SpaceId};
use rank::VerbsAnswer;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Numbers of the operating system's errors (errno(3)).
const ENOENT: i32 = 2;
const ENOMEM: i32 = 12;
const EACCES: i32 = 13;
const EFAULT: i32 = 14;
const EBUSY: i32 = 16;
const EINVAL: i32 = 22;
const EOPNOTSUPP: i32 = 95;
/// Statuses of completions, as libibverbs has them.
const PROTECTION: i32 = 4;
const REMOTE_ACCESS: i32 = 10;
/// Access flag: other nodes may write.
const REMOTE_WRITE: u64 = 2;

/// Bytes of a word of the card.
const WORD: u64 = 8;
/// Bytes that an instruction stores at most.
const STORE_MAX: u64 = 64;
/// Bytes of a transfer at most.
const TRANSFER_MAX: u64 = 16 << 20;
/// Slots for payload that is taken when it is posted: more than there are transfers under way.
const SLOTS: u64 = 512;
/// Bytes of a slot.
const SLOT: u64 = 256;

/// A registered region.
#[derive(Clone, Copy, Debug)]
struct Region {
    buffer: Buffer,
    va: u64,
    bytes: u64,
    access: u64,
    /// Others may write whole words only.
    whole_words: bool,
    /// While it is registered.
    from: Time,
    until: Time,
}

impl Region {
    fn holds(&self, va: u64, bytes: u64) -> bool {
        va >= self.va && bytes <= self.bytes && va - self.va <= self.bytes - bytes
    }
    /// Buffer from an address of the region on.
    fn at(&self, va: u64) -> Buffer {
        Buffer { offset: self.buffer.offset + (va - self.va), ..self.buffer }
    }
}

/// Arguments of a transfer: whatever stands in the channel, not what the library lets pass.
struct Transfer {
    lkey: u32,
    va: u64,
    bytes: u64,
    node: u32,
    rkey: u32,
    to: u64,
    /// Bytes are taken now.
    taken: bool,
    /// The program is to see that it is complete.
    signalled: bool,
}

impl Transfer {
    fn read(words: &[u64]) -> Transfer {
        let [lkey, va, bytes, node, rkey, to, taken, signalled] =
            *words.first_chunk().expect("a record has a word for each argument");
        Transfer {
            lkey: lkey as u32,
            va,
            bytes,
            node: node as u32,
            rkey: rkey as u32,
            to,
            taken: taken != 0,
            signalled: signalled != 0,
        }
    }
}

/// Name of a region in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RegionName {
    node: u32,
    key: u32,
}

/// All regions of a run.
///
/// Nodes share it, as they do the sockets' network: whoever asks sees what was so a latency ago, and no node
/// is simulated further behind than the notice of a failure takes, which is less (0061).
#[derive(Debug, Default)]
pub(super) struct Directory {
    regions: Mutex<BTreeMap<RegionName, Region>>,
}

impl Directory {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<RegionName, Region>> {
        // A panic elsewhere ends the run.
        self.regions.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// A region as it was at that time.
    fn find(&self, name: RegionName, then: Time) -> Option<Region> {
        let region = self.lock().get(&name).copied();
        region.filter(|region| region.from <= then && then < region.until)
    }
    fn add(&self, name: RegionName, region: Region) {
        self.lock().insert(name, region);
    }
    fn end(&self, name: RegionName, now: Time) {
        if let Some(region) = self.lock().get_mut(&name) {
            region.until = region.until.min(now);
        }
    }
}

/// Shared state of the verbs programs of a run.
#[derive(Clone)]
pub(super) struct Shared {
    pub directory: Arc<Directory>,
    pub nodes: u32,
    pub lanes: u8,
    /// Of the administration network: to another node, and a call.
    pub latency: Duration,
    pub call: Duration,
}

impl Shared {
    pub fn new(settings: &Settings, agent: &rank::Costs) -> Shared {
        let sockets = agent.sockets;
        Shared {
            directory: Arc::default(),
            nodes: settings.nodes,
            lanes: settings.nic(0).lanes,
            latency: sockets.latency,
            call: sockets.call,
        }
    }
}

/// The verbs of a program.
pub(super) struct Verbs {
    cpu: Cpu,
    nid: u32,
    space: SpaceId,
    library: Rc<Library>,
    shared: Shared,
    /// Own regions, by their keys.
    regions: RefCell<BTreeMap<u32, Region>>,
    keys: Cell<u32>,
    /// Regions of other nodes that their owners have been asked for.
    known: RefCell<BTreeMap<RegionName, Region>>,
    /// Words of events that were asked for.
    tokens: RefCell<BTreeMap<(u32, u64), u64>>,
    /// Pages with slots, once there are any.
    slots: Cell<Option<Buffer>>,
    taken: Cell<u64>,
    /// Address of the word of notifications in a program with the request queue.
    notified: Cell<Option<u64>>,
}

impl Verbs {
    pub fn new(nid: u32, space: SpaceId, library: Rc<Library>, shared: Shared) -> Rc<Verbs> {
        Rc::new(Verbs {
            cpu: library.cpu().clone(),
            nid,
            space,
            library,
            shared,
            regions: RefCell::default(),
            keys: Cell::new(0),
            known: RefCell::default(),
            tokens: RefCell::default(),
            slots: Cell::default(),
            taken: Cell::default(),
            notified: Cell::default(),
        })
    }

    fn register(&self, va: u64, bytes: u64, access: u64) -> VerbsAnswer {
        let memory = self.cpu.memory();
        let (first, offset) = (va - va % PAGE, va % PAGE);
        let Some(end) = va.checked_add(bytes).filter(|_| bytes > 0) else {
            return VerbsAnswer::error(EINVAL);
        };
        if pages(offset + bytes) > self.library.free_pages() {
            return VerbsAnswer::error(ENOMEM);
        }
        let mut each = (first..end).step_by(PAGE as usize);
        if each.any(|page| memory.borrow_mut().probe(self.space, page).is_err()) {
            return VerbsAnswer::error(EFAULT);
        }
        let buffer = self.library.register(offset, bytes);
        for page in 0..pages(offset + bytes) {
            let (phys, va) = (buffer.page_at(page), first + page * PAGE);
            memory.borrow_mut().bind(phys, self.space, va);
        }
        let key = self.keys.get() + 1;
        self.keys.set(key);
        let (from, until) = (self.cpu.now(), Time::NEVER);
        // Who has the request queue himself could not be interrupted there by the module's own descriptors.
        let whole_words = self.library.is_mapped();
        if access & REMOTE_WRITE != 0 && !whole_words {
            self.library.module().inbox.serves.set(true);
        }
        let region = Region { buffer, va, bytes, access, whole_words, from, until };
        self.regions.borrow_mut().insert(key, region);
        self.shared.directory.add(RegionName { node: self.nid, key }, region);
        VerbsAnswer::word(key.into())
    }

    fn deregister(&self, key: u32) -> VerbsAnswer {
        let Some(region) = self.regions.borrow_mut().remove(&key) else {
            return VerbsAnswer::error(EINVAL);
        };
        self.release(key, &region);
        VerbsAnswer::default()
    }

    fn release(&self, key: u32, region: &Region) {
        self.shared.directory.end(RegionName { node: self.nid, key }, self.cpu.now());
        for page in 0..pages(region.buffer.offset + region.bytes) {
            self.cpu.memory().borrow_mut().unbind(region.buffer.page_at(page));
        }
    }

    /// A region of another node's, if it is registered. The first time its owner is asked.
    fn remote(&self, name: RegionName) -> Option<Region> {
        if !self.known.borrow().contains_key(&name) {
            let asked = self.shared.call + self.shared.latency * 2;
            self.cpu.kernel(|| self.cpu.spend(asked));
        }
        let then = Time(self.cpu.now().0.saturating_sub(self.shared.latency.0));
        let region = self.shared.directory.find(name, then)?;
        self.known.borrow_mut().insert(name, region);
        Some(region)
    }

    /// Pages with slots. The error is an error number.
    fn slots(&self) -> Result<Buffer, i32> {
        if let Some(slots) = self.slots.get() {
            return Ok(slots);
        }
        if pages(SLOTS * SLOT) > self.library.free_pages() {
            return Err(ENOMEM);
        }
        let slots = self.library.register(0, SLOTS * SLOT);
        self.slots.set(Some(slots));
        Ok(slots)
    }

    /// Bytes of the program's, if it has such memory.
    fn bytes_at(&self, va: u64, bytes: u64) -> Option<Vec<u8>> {
        let mut data = vec![0; bytes as usize];
        let read = self.cpu.memory().borrow_mut().read(self.space, va, &mut data);
        read.ok().map(|()| data)
    }

    /// Payload that is taken now: where it stands until it is sent; none if the program has no such memory.
    fn slot(&self, va: u64, bytes: u64) -> Result<Option<Buffer>, i32> {
        let slots = self.slots()?;
        let Some(data) = self.bytes_at(va, bytes) else { return Ok(None) };
        self.cpu.spend(self.cpu.copy_cost(bytes));
        let number = self.taken.get();
        self.taken.set(number + 1);
        let slot = Buffer { offset: number % SLOTS * SLOT, ..slots };
        let written = self.cpu.memory().borrow_mut().write_phys(slot.phys(0), &data);
        written.expect("it is a pinned page");
        Ok(Some(slot))
    }

    fn write(&self, transfer: &Transfer) -> VerbsAnswer {
        let Transfer { lkey, va, bytes, node, rkey, to, taken, signalled } = *transfer;
        if self.library.is_mapped() {
            return VerbsAnswer::error(EBUSY);
        }
        let most = if taken { SLOT } else { TRANSFER_MAX };
        if bytes == 0 || bytes > most || node >= self.shared.nodes || node == self.nid {
            return VerbsAnswer::error(EINVAL);
        }
        let whole = [bytes, to, if taken { 0 } else { va }].iter().all(|part| part % WORD == 0);
        let source = match (taken, whole) {
            (true, true) => match self.slot(va, bytes) {
                Ok(slot) => slot.map(Source::Registered),
                Err(number) => return VerbsAnswer::error(number),
            },
            (true, false) => self.bytes_at(va, bytes).map(Source::Taken),
            (false, _) => {
                let own = self.regions.borrow().get(&lkey).copied();
                let own = own.filter(|own| own.holds(va, bytes));
                own.map(|own| Source::Registered(own.at(va)))
            }
        };
        let Some(source) = source else {
            return VerbsAnswer { code: PROTECTION, ..VerbsAnswer::default() };
        };
        let writable = |region: &Region| region.access & REMOTE_WRITE != 0;
        let target = self
            .remote(RegionName { node, key: rkey })
            .filter(writable)
            .filter(|r| r.holds(to, bytes));
        let Some(target) = target else {
            return VerbsAnswer { code: REMOTE_ACCESS, ..VerbsAnswer::default() };
        };
        let library = &self.library;
        match &source {
            Source::Registered(from) if whole => {
                VerbsAnswer::word(library.post_write(*from, target.at(to), bytes, signalled))
            }
            _ if target.whole_words => VerbsAnswer::error(EINVAL),
            _ => library
                .post_partial(&source, target.at(to), bytes, signalled)
                .map_or(VerbsAnswer::error(ENOMEM), VerbsAnswer::word),
        }
    }

    /// The program loads a word of the card's region: the bus has 32 bits for a load.
    fn load(&self, offset: u64) -> VerbsAnswer {
        if offset % WORD != 0 || offset >= REGION_SIZE.into() {
            return VerbsAnswer::error(EINVAL);
        }
        VerbsAnswer::word(self.library.load(offset as u32))
    }

    /// It stores bytes: a register, or to the request queue if that is its own.
    fn store(&self, offset: u64, bytes: u64, words: &[u64]) -> VerbsAnswer {
        let registers = u64::from(register::CONTROL)..u64::from(table::LIMITS);
        let is_register = registers.contains(&offset) && offset % WORD == 0 && bytes == WORD;
        let queued = self.library.is_mapped() && offset < QUEUE_SIZE.into();
        let fits =
            (1..=STORE_MAX).contains(&bytes) && (!queued || offset + bytes <= QUEUE_SIZE.into());
        if !fits || !(is_register || queued) {
            return VerbsAnswer::error(EINVAL);
        }
        let stored: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.library.store(offset as u32, &stored[..bytes as usize]);
        VerbsAnswer::default()
    }

    /// The request queue becomes the program's, and the page at `va` that of the word of notifications.
    fn map_queue(&self, va: u64) -> VerbsAnswer {
        let memory = self.cpu.memory();
        if va % PAGE != 0 || memory.borrow_mut().probe(self.space, va).is_err() {
            return VerbsAnswer::error(EFAULT);
        }
        let page = notify_addr(self.nid);
        if !self.cpu.kernel(|| self.library.map()) {
            return VerbsAnswer::error(EBUSY);
        }
        memory.borrow_mut().bind(page, self.space, va);
        self.notified.set(Some(va));
        VerbsAnswer::default()
    }

    /// The physical address of a byte of a region, and how many follow in its page.
    fn locate(&self, node: u64, key: u32, byte: u64) -> VerbsAnswer {
        if node >= self.shared.nodes.into() {
            return VerbsAnswer::error(EINVAL);
        }
        let region = if node == self.nid.into() {
            self.cpu.kernel(|| self.regions.borrow().get(&key).copied())
        } else {
            self.remote(RegionName { node: node as u32, key })
        };
        let Some(region) = region.filter(|region| byte < region.bytes) else {
            return VerbsAnswer::error(ENOENT);
        };
        if node != self.nid.into() && region.access & REMOTE_WRITE == 0 {
            return VerbsAnswer::error(EACCES);
        }
        let physical = region.buffer.phys(byte);
        let follow = (PAGE - physical % PAGE).min(region.bytes - byte);
        VerbsAnswer { code: 0, words: [physical, follow, 0, 0, 0, 0] }
    }

    /// The program wants an event when what it has posted to a node is over.
    fn arm(&self, node: u32, token: u64) -> VerbsAnswer {
        let known = self.known.borrow();
        // Only the module of a program without the request queue answers.
        if !known.iter().any(|(name, region)| name.node == node && !region.whole_words) {
            return VerbsAnswer::error(EOPNOTSUPP);
        }
        let count = self.library.ask(node);
        self.tokens.borrow_mut().insert((node, count), token);
        VerbsAnswer::default()
    }

    fn event(&self, limit: Duration) -> VerbsAnswer {
        let Some(event) = self.library.await_event(limit) else { return VerbsAnswer::default() };
        let token = self.tokens.borrow_mut().remove(&event).unwrap_or_default();
        VerbsAnswer { code: 0, words: [1, token, 0, 0, 0, 0] }
    }

    /// The program looks at a word for the second time.
    fn look(&self, va: u64) -> VerbsAnswer {
        let va = va - va % WORD;
        if self.notified.get() == Some(va) {
            self.library.look(notify_addr(self.nid));
            return VerbsAnswer::default();
        }
        let region = self.regions.borrow().values().find(|region| region.holds(va, WORD)).copied();
        match region {
            Some(region) => {
                self.library.look(region.at(va).phys(0));
                VerbsAnswer::default()
            }
            // The rest of a page that a region has a part of: nobody writes there.
            None => {
                self.cpu.spend(self.cpu.costs().poll_period);
                VerbsAnswer::default()
            }
        }
    }
}

impl rank::Verbs for Verbs {
    fn call(&self, call: u32, arguments: &[u64]) -> VerbsAnswer {
        match (call, arguments) {
            (verbs_call::DEVICE, _) => {
                let Shared { nodes, lanes, .. } = self.shared;
                let pages = self.library.free_pages();
                let words = [self.nid.into(), nodes.into(), lanes.into(), pages, 0, 0];
                VerbsAnswer { code: 0, words }
            }
            (verbs_call::REGISTER, &[va, bytes, access, ..]) => self.register(va, bytes, access),
            (verbs_call::DEREGISTER, &[key, ..]) => self.deregister(key as u32),
            (verbs_call::WRITE, words) => self.write(&Transfer::read(words)),
            (verbs_call::COMPLETED, &[waits, beyond, ..]) => {
                VerbsAnswer::word(self.library.over((waits != 0).then_some(beyond)))
            }
            (verbs_call::LOOK, &[va, ..]) => self.look(va),
            (verbs_call::LOAD, &[offset, ..]) => self.load(offset),
            (verbs_call::STORE, &[offset, bytes, ref words @ ..]) => {
                self.store(offset, bytes, words)
            }
            (verbs_call::QUEUE, &[va, ..]) => self.map_queue(va),
            (verbs_call::WHERE, &[node, key, byte, ..]) => self.locate(node, key as u32, byte),
            (verbs_call::ARM, &[node, token, ..]) => self.arm(node as u32, token),
            (verbs_call::EVENT, &[limit, ..]) => self.event(Duration(limit)),
            (verbs_call::FENCE, _) => {
                self.library.fence();
                VerbsAnswer::default()
            }
            _ => VerbsAnswer::error(EINVAL),
        }
    }

    fn close(&self) {
        for (key, region) in std::mem::take(&mut *self.regions.borrow_mut()) {
            self.release(key, &region);
        }
        if self.notified.take().is_some() {
            self.cpu.memory().borrow_mut().unbind(notify_addr(self.nid));
        }
    }
}
