//! A process with match lists, told the same as the firmware: its library in as far as it makes commands, and
//! the specification.

mod operations;

use crate::firmware::{Answer, Differs, Firmware, ENTRIES};
use abi::seastar::{command_op, entry_flag, entry_result, EntryCommand, ENTRY_NONE, EQ_NONE};
use abi::MessageId;
use spec::{
    option, Access, Call, Criteria, Descriptor, Id, Key, Kind, Limits, Md, Process, Role, Value,
    ANY,
};
use std::collections::VecDeque;

/// Of the queue of all descriptors with events: its handle, and its number in commands.
const QUEUE: u32 = 0x3000_0003;
const QUEUE_NUMBER: u8 = 3;
const NOT_NOW: &str = "PTL_MD_NO_UPDATE";
pub const OWN: Id = Id { nid: 7, pid: 42 };

const fn me(slot: usize) -> u32 {
    0x1000_0000 | slot as u32
}

/// A memory descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub length: u32,
    /// -1: unlimited.
    pub threshold: i32,
    pub max_size: u32,
    pub options: u32,
    pub unlink: bool,
    pub eventful: bool,
}

/// A match entry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub from: Id,
    pub bits: u64,
    pub ignore: u64,
    pub unlink: bool,
    pub memory: Option<Memory>,
}

/// A message that comes.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub kind: Kind,
    pub from: Id,
    pub uid: u32,
    pub portal: u32,
    pub access: u32,
    pub bits: u64,
    pub length: u32,
    pub offset: u64,
}

/// Place for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Head,
    Tail,
    /// Before the last one.
    Before,
    /// Behind the first one.
    After,
}

/// Something that happens.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// PtlMEAttach or PtlMEInsert, and PtlMDAttach if it has memory.
    Attach(Entry, Place),
    /// PtlMDAttach to the first entry that has none.
    Describe(Memory),
    /// PtlMEMDPost.
    Post(Entry, Place),
    /// PtlMDUpdate of the first descriptor, if nothing has happened (true) or anyhow.
    Update(Memory, bool),
    /// PtlMEUnlink of the first or (true) the last entry.
    UnlinkEntry(bool),
    /// PtlMDUnlink of the first descriptor.
    UnlinkMemory,
    Arrive(Message),
    /// The oldest operation under way ends, or (true) the newest.
    End(bool),
    /// The process takes all its events.
    Look,
    /// PtlPut of the first descriptor, with an acknowledgement.
    Send,
    /// The oldest acknowledgement comes.
    Ack,
    /// PtlACEntry.
    Admit(u32, Access),
    /// The process leaves.
    Leave,
}

#[derive(Clone)]
struct Running {
    key: Key,
    slot: usize,
    /// Its END is for the queue.
    queued: bool,
}

#[derive(Clone)]
pub struct World {
    spec: Process,
    /// Entries in the order of their list.
    order: Vec<usize>,
    /// Handle of each entry's last descriptor.
    mds: [u32; ENTRIES],
    /// It goes when it is used up.
    unlink: [bool; ENTRIES],
    made: u32,
    serial: u32,
    running: Vec<Running>,
    acks_due: VecDeque<(Descriptor, MessageId)>,
    /// Messages of the queue that have ended and that the process has not seen, and those that it has seen.
    ended: u16,
    seen: u16,
    /// Acknowledgements that came, and those that it knows of.
    acks: u16,
    acks_seen: u16,
    /// Events of the process's own operations wait in the queue.
    own_events: bool,
}

impl World {
    pub fn new() -> World {
        let limits = Limits {
            max_mes: ENTRIES as u32,
            max_mds: ENTRIES as u32,
            max_eqs: 4,
            max_ac_index: 7,
            max_pt_index: 63,
            max_md_iovecs: 1,
            max_me_list: ENTRIES as u32,
            max_getput_md: 64,
        };
        let mut spec = Process::new(OWN, 0, 0, limits);
        let call = Call::EqAlloc { count: 64, grows: false };
        spec.called(&call, Ok(&Value::Handle(QUEUE))).expect("it is the first");
        World {
            spec,
            order: Vec::new(),
            mds: [0; ENTRIES],
            unlink: [false; ENTRIES],
            made: 0,
            serial: 0,
            running: Vec::new(),
            acks_due: VecDeque::new(),
            ended: 0,
            seen: 0,
            acks: 0,
            acks_seen: 0,
            own_events: false,
        }
    }

    fn has_entry(&self, slot: usize) -> bool {
        self.spec.has(me(slot))[0]
    }
    fn has_memory(&self, slot: usize) -> bool {
        self.spec.has(self.mds[slot])[1]
    }
    fn free(&self) -> Option<usize> {
        (0..ENTRIES).find(|slot| !self.has_entry(*slot))
    }
    fn first(&self, described: bool) -> Option<usize> {
        self.order.iter().copied().find(|slot| self.has_memory(*slot) == described)
    }
    fn eventful(&self, slot: usize) -> bool {
        self.spec.described(self.mds[slot]).is_some_and(|md| md.eq.is_some())
    }

    /// State that the specification expects.
    pub fn state(&self) -> Answer {
        let bits = |is: &dyn Fn(usize) -> bool| {
            (0..ENTRIES).fold(0, |bits, slot| bits | u32::from(is(slot)) << slot)
        };
        let threshold =
            |slot: usize| self.spec.described(self.mds[slot]).map_or(0, |md| md.threshold as u32);
        Answer {
            listed: bits(&|slot| self.has_entry(slot)),
            described: bits(&|slot| self.has_memory(slot)),
            thresholds: std::array::from_fn(threshold),
            ..Answer::NOTHING
        }
    }

    /// True if a step means something now that no other step means.
    pub fn can(&self, step: &Step) -> bool {
        let place = |place: Place| match place {
            Place::Head => true,
            Place::Tail => !self.order.is_empty(),
            Place::Before | Place::After => self.order.len() > 1,
        };
        match step {
            Step::Attach(_, at) => self.free().is_some() && place(*at),
            Step::Describe(_) => self.first(false).is_some(),
            Step::Post(..) => self.free().is_some() && !self.order.is_empty(),
            Step::Update(memory, _) => {
                self.first(true).is_some_and(|slot| self.eventful(slot) == memory.eventful)
            }
            Step::UnlinkEntry(last) => self.order.len() > usize::from(*last),
            Step::UnlinkMemory | Step::Send => self.first(true).is_some(),
            Step::End(newest) => self.running.len() > usize::from(*newest),
            Step::Look => self.ended > 0 || self.own_events || self.acks != self.acks_seen,
            Step::Ack => !self.acks_due.is_empty(),
            Step::Arrive(_) | Step::Admit(..) | Step::Leave => true,
        }
    }

    pub fn step(&mut self, step: &Step, firmware: &mut Firmware) -> Result<(), Differs> {
        match step {
            Step::Attach(entry, place) => self.attach(entry, *place, firmware)?,
            Step::Describe(memory) => {
                let slot = self.first(false).expect("there is one");
                self.describe(slot, memory, firmware)?;
            }
            Step::Post(entry, place) => self.post(entry, *place, firmware)?,
            Step::Update(memory, conditional) => self.update(memory, *conditional, firmware)?,
            Step::UnlinkEntry(last) => {
                let ends = (self.order.first(), self.order.last());
                let slot = *(if *last { ends.1 } else { ends.0 }).expect("there is one");
                let call = Call::MeUnlink { me: me(slot) };
                self.unlink(slot, &call, "PTL_ME_IN_USE", 0, firmware)?;
            }
            Step::UnlinkMemory => {
                let slot = self.first(true).expect("there is one");
                let call = Call::MdUnlink { md: self.mds[slot] };
                self.unlink(slot, &call, "PTL_MD_IN_USE", entry_flag::DESCRIPTOR, firmware)?;
            }
            Step::Arrive(message) => self.arrive(message, firmware)?,
            Step::End(newest) => self.end(*newest, firmware)?,
            Step::Look => self.look(),
            Step::Send => self.send(firmware)?,
            Step::Ack => self.ack(firmware)?,
            Step::Admit(index, access) => self.admit(*index, access, firmware)?,
            Step::Leave => {
                self.spec.leave();
                let command = command(command_op::ADMIT, ENTRY_NONE as usize);
                firmware.command(&command, self.state())?;
            }
        }
        let spec = &self.spec;
        self.order.retain(|slot| spec.has(me(*slot))[0]);
        Ok(())
    }

    fn called(&mut self, call: &Call, value: Value) {
        self.spec.called(call, Ok(&value)).expect("nothing is wrong with it");
    }

    fn refuses(&mut self, call: &Call, code: &'static str) -> bool {
        self.spec.called(call, Err(code)).is_ok()
    }

    /// A new handle for the descriptor of an entry.
    fn new_handle(&mut self, slot: usize) -> u32 {
        self.made += 1;
        self.made << 20 | (slot as u32 * 8 + self.made % 8)
    }

    fn md(slot: usize, memory: &Memory) -> Md {
        Md {
            start: (slot as u64 + 1) << 32,
            length: memory.length.into(),
            threshold: memory.threshold,
            max_size: memory.max_size.into(),
            options: memory.options,
            user_ptr: 0,
            eq: memory.eventful.then_some(QUEUE),
            regions: Vec::new(),
        }
    }

    /// The place in the list, and the place beside another entry in a command.
    fn place(&self, place: Place) -> (usize, Option<usize>, u8) {
        let count = self.order.len();
        match place {
            Place::Head => (0, None, 0),
            Place::Tail => (count, None, entry_flag::AFTER),
            Place::Before => (count - 1, self.order.last().copied(), 0),
            Place::After => (1, self.order.first().copied(), entry_flag::AFTER),
        }
    }

    fn attach(&mut self, entry: &Entry, at: Place, firmware: &mut Firmware) -> Result<(), Differs> {
        let slot = self.free().expect("there is one");
        let (index, base, after) = self.place(at);
        let criteria = criteria(entry);
        let unlink = entry.unlink;
        let call = match base {
            None => Call::MeAttach { portal: 0, criteria, unlink, at_head: after == 0 },
            Some(base) => Call::MeInsert { base: me(base), criteria, unlink, before: after == 0 },
        };
        self.called(&call, Value::Handle(me(slot)));
        self.order.insert(index, slot);
        let mut command = attaching(command_op::ATTACH, slot, entry);
        command.base = base.map_or(ENTRY_NONE as u16, |base| base as u16);
        command.flags |= after;
        firmware.command(&command, self.state())?;
        match &entry.memory {
            Some(memory) => self.describe(slot, memory, firmware),
            None => Ok(()),
        }
    }

    fn describe(
        &mut self,
        slot: usize,
        memory: &Memory,
        firmware: &mut Firmware,
    ) -> Result<(), Differs> {
        let handle = self.new_handle(slot);
        let md = World::md(slot, memory);
        let call = Call::MdAttach { me: me(slot), md, unlink: memory.unlink };
        self.called(&call, Value::Handle(handle));
        (self.mds[slot], self.unlink[slot]) = (handle, memory.unlink);
        let mut command = command(command_op::DESCRIBE, slot);
        describing(&mut command, memory, handle);
        firmware.command(&command, self.state())
    }

    /// True if the process knows by itself that its queue is not quiet.
    fn knows_better(&self) -> bool {
        let sends = |running: &Running| running.key.role == Role::Sender && running.queued;
        self.own_events || self.running.iter().any(sends)
    }

    fn post(&mut self, entry: &Entry, at: Place, firmware: &mut Firmware) -> Result<(), Differs> {
        let slot = self.free().expect("there is one");
        let memory = entry.memory.expect("a post has memory");
        let before = at != Place::After;
        let base = *(if before { self.order.last() } else { self.order.first() }).expect("one");
        let handle = self.new_handle(slot);
        let call = Call::MeMdPost {
            base: me(base),
            criteria: criteria(entry),
            unlink_me: entry.unlink,
            before,
            md: World::md(slot, &memory),
            unlink_md: memory.unlink,
            test: QUEUE,
        };
        let refused = self.refuses(&call, NOT_NOW);
        if self.knows_better() {
            assert!(refused, "the specification knows it, too");
            return Ok(());
        }
        if !refused && self.acks == self.acks_seen {
            self.called(&call, Value::Pair(me(slot), handle));
            let index = self.order.iter().position(|other| *other == base).expect("it is there");
            self.order.insert(index + usize::from(!before), slot);
            (self.mds[slot], self.unlink[slot]) = (handle, memory.unlink);
        }
        let mut command = attaching(command_op::POST, slot, entry);
        command.base = base as u16;
        command.flags |= if before { 0 } else { entry_flag::AFTER };
        describing(&mut command, &memory, handle);
        (command.test, command.seen) = self.test();
        firmware.command(&command, self.state())
    }

    fn test(&self) -> (u8, u16) {
        (QUEUE_NUMBER, self.seen.wrapping_add(self.acks_seen))
    }

    fn update(&mut self, m: &Memory, conditional: bool, fw: &mut Firmware) -> Result<(), Differs> {
        let slot = self.first(true).expect("there is one");
        let handle = self.mds[slot];
        let test = conditional.then_some(QUEUE);
        let call = Call::MdUpdate { md: handle, new: Some(World::md(slot, m)), test };
        let refused = conditional && self.refuses(&call, NOT_NOW);
        if conditional && self.knows_better() {
            assert!(refused, "the specification knows it, too");
            return Ok(());
        }
        let result = match (refused, self.acks == self.acks_seen) {
            (true, _) if self.running.iter().any(|running| running.slot == slot) => {
                entry_result::IN_USE
            }
            (true, _) => entry_result::REFUSED,
            (_, false) if conditional => match self.running.iter().any(|r| r.slot == slot) {
                true => entry_result::IN_USE,
                false => entry_result::REFUSED,
            },
            _ => {
                self.called(&call, Value::Unseen);
                entry_result::DONE
            }
        };
        let mut command = command(command_op::UPDATE, slot);
        // The library knows whether the descriptor goes when it is used up.
        describing(&mut command, &Memory { unlink: self.unlink[slot], ..*m }, handle);
        if conditional {
            command.flags |= entry_flag::CONDITIONAL;
            (command.test, command.seen) = self.test();
        }
        fw.command(&command, Answer { result: result.into(), ..self.state() })
    }

    fn unlink(
        &mut self,
        slot: usize,
        call: &Call,
        in_use: &'static str,
        flags: u8,
        firmware: &mut Firmware,
    ) -> Result<(), Differs> {
        let result = match self.refuses(call, in_use) {
            true => entry_result::IN_USE,
            false => {
                self.called(call, Value::Nothing);
                entry_result::DONE
            }
        };
        let command = EntryCommand { flags, ..command(command_op::UNLINK, slot) };
        firmware.command(&command, Answer { result: result.into(), ..self.state() })
    }

    fn admit(&mut self, index: u32, entry: &Access, fw: &mut Firmware) -> Result<(), Differs> {
        self.called(&Call::AcEntry { index, entry: *entry }, Value::Nothing);
        let mut command = command(command_op::ADMIT, index as usize);
        (command.nid, command.pid) = (entry.from.nid as u16, entry.from.pid as u16);
        command.match_bits = entry.uid.into();
        command.portal = entry.portal as u8;
        command.flags = wildcards(entry.from);
        command.flags |= if entry.uid == ANY { entry_flag::CONDITIONAL } else { 0 };
        fw.command(&command, self.state())
    }
}

fn criteria(entry: &Entry) -> Criteria {
    Criteria { from: entry.from, bits: entry.bits, ignore: entry.ignore }
}

fn wildcards(id: Id) -> u8 {
    let nid = if id.nid == ANY { entry_flag::ANY_NID } else { 0 };
    nid | if id.pid == ANY { entry_flag::ANY_PID } else { 0 }
}

fn command(op: u8, slot: usize) -> EntryCommand {
    let (none, eq) = (ENTRY_NONE as u16, EQ_NONE as u8);
    EntryCommand { op, entry: slot as u16, base: none, eq, test: eq, ..EntryCommand::default() }
}

fn attaching(op: u8, slot: usize, entry: &Entry) -> EntryCommand {
    EntryCommand {
        flags: wildcards(entry.from) | if entry.unlink { entry_flag::UNLINK_ENTRY } else { 0 },
        match_bits: entry.bits,
        ignore_bits: entry.ignore,
        nid: entry.from.nid as u16,
        pid: entry.from.pid as u16,
        ..command(op, slot)
    }
}

/// The description as the library writes it: a descriptor that the initiator manages has no max_size.
fn describing(command: &mut EntryCommand, memory: &Memory, handle: u32) {
    let managed = memory.options & option::MANAGE_REMOTE != 0;
    let options = memory.options & if managed { !option::MAX_SIZE } else { !0 };
    command.options = options as u16;
    command.flags |= if memory.unlink { entry_flag::UNLINK } else { 0 };
    command.eq = if memory.eventful { QUEUE_NUMBER } else { EQ_NONE as u8 };
    command.threshold = memory.threshold as u32;
    command.length = memory.length;
    command.max_size = memory.max_size;
    command.handle = handle;
}
