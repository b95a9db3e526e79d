//! Commands of the library to the firmware, some of which it answers.

use super::*;

/// A match entry that was made beside another, or at an end of its list.
#[derive(Clone, Copy)]
pub(crate) struct NewEntry {
    pub(crate) me: MeHandle,
    pub(crate) criteria: Criteria,
    pub(crate) unlink: Unlink,
    pub(crate) position: Position,
}

impl Accelerated {
    /// Commands written so far.
    pub(super) fn written(&self) -> u32 {
        self.driver.mailbox.commands.get() as u32
    }

    pub(super) fn write(&self, cpu: &Cpu, bytes: &[u8]) {
        cpu.spend(self.driver.config.costs.command_build);
        self.driver.mailbox.command(cpu, bytes);
    }

    fn command(&self, cpu: &Cpu, command: EntryCommand) {
        let command = EntryCommand { process_index: self.driver.process as u8, ..command };
        let mut bytes = [0; EntryCommand::SIZE];
        command.emit(&mut bytes);
        let bytes = match command.op {
            command_op::SYNC | command_op::UNLINK => &bytes[..8],
            _ => &bytes[..ENTRY_BYTES],
        };
        self.write(cpu, bytes);
    }

    /// The same; its result, when the firmware has given it. The ring is empty then.
    fn ask(&self, kernel: &Kernel, cpu: &Cpu, command: EntryCommand) -> u16 {
        self.result.set(None);
        self.command(cpu, command);
        self.await_result(kernel, cpu)
    }

    /// The result of the last command, when the firmware has given it.
    pub(super) fn await_result(&self, kernel: &Kernel, cpu: &Cpu) -> u16 {
        let poll = cpu.costs().poll_period;
        loop {
            self.drain(kernel, cpu);
            if let Some(result) = self.result.take() {
                return result;
            }
            cpu.wait_until(poll, des::Time::NEVER);
        }
    }

    /// Waits until the firmware has taken every command.
    pub(crate) fn sync(&self, kernel: &Kernel, cpu: &Cpu) {
        let entry = ENTRY_NONE as u16;
        self.ask(kernel, cpu, EntryCommand { op: command_op::SYNC, entry, ..Default::default() });
    }

    fn entry(op: u8, me: MeHandle) -> EntryCommand {
        EntryCommand { op, entry: me.index() as u16, ..EntryCommand::default() }
    }

    fn attach_of(portal: u32, entry: NewEntry) -> EntryCommand {
        let NewEntry { me, criteria, unlink, position } = entry;
        let Criteria { match_id: ProcessId { nid, pid }, match_bits, ignore_bits } = criteria;
        let mut flags = 0;
        for (set, flag) in [
            (unlink == Unlink::Unlink, entry_flag::UNLINK_ENTRY),
            (nid == NID_ANY, entry_flag::ANY_NID),
            (pid == PID_ANY, entry_flag::ANY_PID),
            (position == Position::After, entry_flag::AFTER),
        ] {
            flags |= if set { flag } else { 0 };
        }
        EntryCommand {
            base: ENTRY_NONE as u16,
            portal: portal as u8,
            flags,
            match_bits,
            ignore_bits,
            nid: nid as u16,
            pid: pid as u16,
            eq: EQ_NONE as u8,
            test: EQ_NONE as u8,
            ..Accelerated::entry(command_op::ATTACH, me)
        }
    }

    /// Puts the description of a descriptor into a command.
    fn describe(&self, kernel: &Kernel, cpu: &Cpu, md: MdHandle, command: &mut EntryCommand) {
        let look = kernel.with(self.slot, |interface| interface.look(md)).flatten();
        let look = look.expect("the descriptor was just made");
        let span = kernel.with(self.slot, |interface| interface.whole(md)).flatten();
        let extents = span.and_then(|span| kernel.extents(cpu, self.slot, &span));
        if extents.as_ref().is_some_and(|extents| extents.len() > 1) {
            cpu.fault(
                "a memory descriptor of an accelerated process crosses a segment of its memory",
            );
        }
        // Memory that a process does not have is not written: its operations fail.
        let first = extents.as_ref().and_then(|extents| extents.first().copied());
        let first = first.unwrap_or(Extent { phys: 0, len: 0 });
        if let Some(extents) = extents {
            kernel.keep_extents(extents);
        }
        if look.unlink == Unlink::Unlink {
            command.flags |= entry_flag::UNLINK;
        }
        command.options = look.user.options as u16;
        if look.user.options & option::MANAGE_REMOTE != 0 {
            command.options &= !(option::MAX_SIZE as u16);
        }
        command.eq = look.user.eq.map_or(EQ_NONE as u8, |eq| eq.index() as u8);
        command.threshold = look.user.threshold as u32;
        command.addr_lo = first.phys as u32;
        command.addr_hi = (first.phys >> 32) as u16;
        command.length = u32::try_from(look.bytes).unwrap_or(u32::MAX);
        command.max_size = u32::try_from(look.user.max_size).unwrap_or(u32::MAX);
        command.handle = md.raw();
    }

    /// A match entry was made: at the head or tail of its list, or beside `base`.
    pub(crate) fn attach(&self, cpu: &Cpu, portal: u32, entry: NewEntry, base: Option<MeHandle>) {
        let mut command = Accelerated::attach_of(portal, entry);
        command.base = base.map_or(ENTRY_NONE as u16, |base| base.index() as u16);
        self.command(cpu, command);
    }

    /// It was given its descriptor.
    pub(crate) fn attach_md(&self, kernel: &Kernel, cpu: &Cpu, me: MeHandle, md: MdHandle) {
        let mut command = Accelerated::entry(command_op::DESCRIBE, me);
        self.describe(kernel, cpu, md, &mut command);
        self.command(cpu, command);
    }

    /// Both at once, unless queue `test` gets a message before.
    pub(crate) fn post(
        &self,
        kernel: &Kernel,
        cpu: &Cpu,
        entry: NewEntry,
        md: MdHandle,
        base: MeHandle,
        test: EqHandle,
    ) {
        let me = entry.me;
        let portal = kernel.with(self.slot, |interface| interface.place_of(me)).flatten();
        let portal = portal.expect("the entry was just made").0;
        let mut command = Accelerated::attach_of(portal, entry);
        command.op = command_op::POST;
        command.base = base.index() as u16;
        self.describe(kernel, cpu, md, &mut command);
        (command.test, command.seen) = self.test(test);
        self.command(cpu, command);
        self.posts.borrow_mut().push_back(Post { command: self.written(), me, test });
    }

    fn test(&self, eq: EqHandle) -> (u8, u16) {
        let index = eq.index();
        let seen = self.seen.borrow()[index as usize % 64];
        (index as u8, seen.wrapping_add(self.acks.get()))
    }

    pub(crate) fn has_refused(&self) -> bool {
        !self.refused.borrow().is_empty()
    }

    /// The oldest post that the firmware has refused and nobody has asked about.
    pub(crate) fn next_refused(&self) -> Option<MeHandle> {
        self.refused.borrow_mut().pop_front()
    }

    /// True if this post was refused; it is not reported again.
    pub(crate) fn was_refused(&self, me: MeHandle) -> bool {
        let mut refused = self.refused.borrow_mut();
        let at = refused.iter().position(|other| *other == me);
        at.is_some_and(|at| refused.remove(at).is_some())
    }

    /// A match entry, or only its descriptor, is removed. Returns the firmware's answer.
    pub(crate) fn unlink(
        &self,
        kernel: &Kernel,
        cpu: &Cpu,
        me: MeHandle,
        md_only: bool,
        call: ObjectCall,
    ) -> Result<(), Error> {
        let mut command = Accelerated::entry(command_op::UNLINK, me);
        if md_only {
            command.flags = entry_flag::DESCRIPTOR;
        }
        *self.asking.borrow_mut() = Some(call);
        match self.ask(kernel, cpu, command) {
            entry_result::IN_USE if md_only => Err(Error::MdInUse),
            entry_result::IN_USE => Err(Error::MeInUse),
            _ => Ok(()),
        }
    }

    /// A descriptor of no match entry is to get the answer to a get: the firmware knows its memory then, if
    /// it does not already. Waits for an entry if none is free.
    pub(crate) fn expect_answer(&self, kernel: &Kernel, cpu: &Cpu, md: MdHandle) {
        let poll = cpu.costs().poll_period;
        let look = kernel.with(self.slot, |interface| interface.look(md)).flatten();
        let stays = look.filter(|look| look.unlink != Unlink::Unlink);
        let described = stays.map(|look| look.user).filter(|md| md.threshold == THRESH_INF);
        let span = loop {
            let mut getters = self.getters.borrow_mut();
            let known = getters.iter().position(|getter| getter.is_some_and(|g| g.md == md));
            if let Some(known) = known
                && let Some(getter) = &mut getters[known]
            {
                let knows = described.is_some() && getter.described == described;
                getter.due += 1;
                if getter.due > 1 || knows {
                    return;
                }
                getter.described = described;
                break known;
            }
            let free = getters.iter().position(Option::is_none);
            let idle = || getters.iter().position(|getter| getter.is_some_and(|g| g.due == 0));
            if let Some(span) = free.or_else(idle) {
                getters[span] = Some(Getter { md, due: 1, described });
                break span;
            }
            drop(getters);
            cpu.wait_until(poll, des::Time::NEVER);
            self.drain(kernel, cpu);
        };
        let entry = (MATCH_ENTRIES + span as u32) as u16;
        let mut command =
            EntryCommand { op: command_op::DESCRIBE, entry, ..EntryCommand::default() };
        self.describe(kernel, cpu, md, &mut command);
        self.command(cpu, command);
    }

    pub(super) fn answered(&self, md: MdHandle) {
        let mut getters = self.getters.borrow_mut();
        let own = getters.iter_mut().flatten().find(|getter| getter.md == md);
        if let Some(getter) = own {
            getter.due = getter.due.saturating_sub(1);
        }
    }

    /// An operation begins on a descriptor that a match entry has: the firmware counts it. False if the
    /// descriptor is used up.
    pub(crate) fn count(&self, kernel: &Kernel, cpu: &Cpu, me: MeHandle, md: MdHandle) -> bool {
        let command =
            EntryCommand { handle: md.raw(), ..Accelerated::entry(command_op::COUNT, me) };
        let counted = self.ask(kernel, cpu, command) == entry_result::DONE;
        self.driver.counted.set(if counted { me.index() as u16 + 1 } else { 0 });
        counted
    }

    /// Replaces a descriptor that a match entry has.
    pub(crate) fn update(
        &self,
        kernel: &Kernel,
        cpu: &Cpu,
        EntryPair { me, md }: EntryPair,
        new: &Md,
        test: Option<EqHandle>,
        call: ObjectCall,
    ) -> u16 {
        let mut command = Accelerated::entry(command_op::UPDATE, me);
        let mut extents = kernel.no_extents();
        let memory = cpu.memory();
        let space = kernel.space(self.slot);
        let found = memory.borrow_mut().translate_into(space, new.start, new.length, &mut extents);
        let first = found.ok().and_then(|()| extents.first().copied());
        let first = first.unwrap_or(Extent { phys: 0, len: 0 });
        kernel.keep_extents(extents);
        let look = kernel.with(self.slot, |interface| interface.look(md)).flatten();
        if look.is_some_and(|look| look.unlink == Unlink::Unlink) {
            command.flags |= entry_flag::UNLINK;
        }
        command.options = new.options as u16;
        command.eq = new.eq.map_or(EQ_NONE as u8, |eq| eq.index() as u8);
        command.threshold = new.threshold as u32;
        (command.addr_lo, command.addr_hi) = (first.phys as u32, (first.phys >> 32) as u16);
        command.length = u32::try_from(new.length).unwrap_or(u32::MAX);
        command.max_size = u32::try_from(new.max_size).unwrap_or(u32::MAX);
        command.handle = md.raw();
        command.test = EQ_NONE as u8;
        if let Some(test) = test {
            command.flags |= entry_flag::CONDITIONAL;
            (command.test, command.seen) = self.test(test);
        }
        *self.asking.borrow_mut() = Some(call);
        self.ask(kernel, cpu, command)
    }

    /// An access control entry was set.
    pub(crate) fn admit(&self, cpu: &Cpu, index: u32, entry: AccessEntry, jid: u32) {
        let AccessEntry { match_id: ProcessId { nid, pid }, uid, jid: wanted, pt_index } = entry;
        // The wire does not carry a job: an entry for another one admits nobody.
        let nobody = wanted != crate::library::JID_ANY && wanted != jid;
        let mut flags = 0;
        for (set, flag) in [
            (nid == NID_ANY, entry_flag::ANY_NID),
            (pid == PID_ANY, entry_flag::ANY_PID),
            (uid == UID_ANY, entry_flag::CONDITIONAL),
        ] {
            flags |= if set { flag } else { 0 };
        }
        let portal = match (nobody, pt_index) {
            (true, _) => 0xfe,
            (_, PT_INDEX_ANY) => 0xff,
            (_, portal) => portal as u8,
        };
        self.command(
            cpu,
            EntryCommand {
                op: command_op::ADMIT,
                entry: index as u16,
                portal,
                flags,
                match_bits: uid.into(),
                nid: nid as u16,
                pid: pid as u16,
                ..EntryCommand::default()
            },
        );
    }

    /// The process leaves: nobody is admitted any more.
    pub(crate) fn leave(&self, cpu: &Cpu) {
        let entry = ENTRY_NONE as u16;
        self.command(cpu, EntryCommand { op: command_op::ADMIT, entry, ..Default::default() });
    }

    /// An event of a message has been read. The firmware is told of many at once.
    pub(super) fn has_read(&self, cpu: &Cpu) {
        let count = self.read.get() + 1;
        let receives = self.driver.pendings() - self.driver.config.tx_pendings;
        let many = CREDIT_MANY.min(receives / 2).max(1);
        self.read.set(count % many);
        if count < many {
            return;
        }
        let process_index = self.driver.process as u8;
        let command = CreditCommand { op: command_op::CREDIT, process_index, count };
        let mut bytes = [0; CreditCommand::SIZE];
        command.emit(&mut bytes);
        self.write(cpu, &bytes[..CREDIT_BYTES]);
    }
}
