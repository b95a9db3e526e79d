//! Data phases: who drives which bytes, who takes them, and when a transaction ends.

use super::*;

/// Contents of a data phase.
struct Moved {
    ad: u64,
    lanes: u8,
    last: bool,
}

impl<M: HostMemory> Bus<M> {
    /// A data phase.
    pub(super) fn data(&mut self, t: &mut Transaction, ports: &mut Ports) -> Cycle {
        let config = matches!(t.command(), Command::ConfigRead | Command::ConfigWrite);
        // Configuration is 32 bits wide on every bus.
        let width = if config { 4 } else { self.params.width };
        let addr = t.addr & !u64::from(width - 1);
        let Moved { ad, lanes, last } = match t.kind {
            Kind::HostWrite => self.host_write(t, ports),
            Kind::HostRead { enables, token } => self.host_read(t, enables, token, ports),
            Kind::ConfigRead { offset, token } => self.config_read(t, offset, token),
            Kind::ConfigWrite { offset, value, enables } => {
                self.config_write(t, offset, value, enables)
            }
            Kind::Completion => self.device_read(t, t.tag, 0, ports),
            Kind::DeviceRead { tag } => self.device_read(t, tag, t.place, ports),
            Kind::DeviceWrite => self.device_write(t, ports),
        };
        t.phases += 1;
        t.addr = addr + u64::from(width);
        if last {
            t.step = Step::TurnAround;
        }
        let cycle = self.cycle(Phase::Data { addr, last }, ad, lanes);
        if parity(cycle.ad, cycle.cbe) != cycle.parity {
            self.counters.parity_errors += 1;
            let taker = if t.command().is_write() { t.target } else { Some(t.master) };
            if let Some(Agent::Device(slot)) = taker {
                self.cores[usize::from(slot)].config.parity_error();
            }
        }
        cycle
    }

    /// Data that arrive if `ad` is driven in this cycle.
    fn received(&self, ad: u64) -> u64 {
        self.cycle(Phase::Idle, ad, 0).ad
    }
    /// Lanes of a whole data phase, at the place of `addr` in its word.
    fn lanes(&self, addr: u64) -> u8 {
        match self.params.width {
            8 => 0xFF,
            _ => 0x0F << (addr & 4),
        }
    }
    /// True if conventional PCI's bridge ends a burst with this data phase: the next unit, a word of a
    /// device's transfer or a phase of the host's, does not fit as a whole any more.
    fn is_burst_over(&self, t: &Transaction, unit: u64) -> bool {
        let phases = (unit / u64::from(self.params.width)) as u16;
        self.params.burst_words != 0 && t.phases + phases >= self.params.burst_words
    }
    /// Lanes of a device's transfer that this data phase moves, and whether more of the word follows in the
    /// next, as on a 32-bit bus.
    fn run_lanes(&self, t: &mut Transaction) -> (u8, bool) {
        let (word, phase) = (lanes::of_run(t.addr, t.left), self.lanes(t.addr));
        let lanes = word & phase;
        t.left -= lanes.count_ones() as u16;
        (lanes, word > phase)
    }

    fn host_write(&mut self, t: &Transaction, ports: &mut Ports) -> Moved {
        let Some(HostOp::Write { addr, data, enables, .. }) = self.bridge.pop_host() else {
            unreachable!("the bridge keeps what it has begun to write")
        };
        let Some(Agent::Device(slot)) = t.target else {
            unreachable!("the host's memory is not written over the bus")
        };
        let slot = usize::from(slot);
        let follows = matches!(self.bridge.host_head(), Some(HostOp::Write { joined: true, .. }));
        let next = addr + u64::from(self.params.width);
        let inside = self.cores[slot].config.decode(next).is_some();
        let last = !follows || !inside || self.is_burst_over(t, u64::from(self.params.width));
        if let Some(offset) = self.cores[slot].config.decode(addr & !(WORD - 1)) {
            let data = self.received(data);
            ports.ins[slot].write = Some(TargetWrite { offset, data, enables });
        }
        Moved { ad: data, lanes: enables, last }
    }

    fn host_read(&mut self, t: &mut Transaction, enables: u8, token: u64, p: &Ports) -> Moved {
        let Some(Agent::Device(slot)) = t.target else {
            unreachable!("memory is not read over it")
        };
        // A device keeps the word until another is requested: a 32-bit bus takes it in two halves.
        let word = p.outs[usize::from(slot)].read_word;
        let data = self.received(word);
        let both = self.params.width == 4 && enables & 0x0F != 0 && enables & 0xF0 != 0;
        if both && t.half.is_none() {
            t.half = Some((data as u32, 0x0F));
            return Moved { ad: word, lanes: enables & 0x0F, last: false };
        }
        let data = t.half.map_or(data, |(low, _)| data & !0xFFFF_FFFF | u64::from(low));
        self.bridge.pop_host();
        self.bridge.push_answer(ReadValue { token, data, aborted: false });
        Moved { ad: word, lanes: enables & self.lanes(t.addr), last: true }
    }

    fn config_read(&mut self, t: &Transaction, offset: u8, token: u64) -> Moved {
        let Some(Agent::Device(slot)) = t.target else { unreachable!("slots are devices") };
        let value = u64::from(self.cores[usize::from(slot)].config.read(offset));
        let data = self.received(value);
        self.bridge.pop_host();
        self.bridge.push_answer(ReadValue { token, data, aborted: false });
        Moved { ad: value, lanes: 0x0F, last: true }
    }

    fn config_write(&mut self, t: &Transaction, offset: u8, value: u32, enables: u8) -> Moved {
        let Some(Agent::Device(slot)) = t.target else { unreachable!("slots are devices") };
        let received = self.received(u64::from(value)) as u32;
        self.cores[usize::from(slot)].config.write(offset, received, enables);
        self.bridge.pop_host();
        Moved { ad: u64::from(value), lanes: enables, last: true }
    }

    /// A word, or half of one, of a read at `place` in the bridge goes to the device.
    fn device_read(&mut self, t: &mut Transaction, tag: u8, place: usize, p: &mut Ports) -> Moved {
        let slot = match t.kind {
            Kind::Completion => t.requester,
            _ => t.master,
        };
        let Agent::Device(slot) = slot else { unreachable!("devices read") };
        let (lanes, follows) = self.run_lanes(t);
        if follows {
            let low = self.bridge.peek_word(place);
            t.half = Some((self.received(low) as u32, lanes));
            return Moved { ad: low & 0xFFFF_FFFF, lanes, last: false };
        }
        let boundary = (t.addr & !(WORD - 1)) % BLOCK == BLOCK - WORD;
        let (word, done) = self.bridge.read_word(place);
        let low = t.half.take();
        let data = self.received(word);
        let data = low.map_or(data, |(low, _)| data & !0xFFFF_FFFF | u64::from(low));
        let data = self.taken(usize::from(slot), data, place, done);
        p.ins[usize::from(slot)].completion = Some(Completion { tag, data, last: done });
        t.words += 1;
        let blocks = u64::from(self.params.completion_blocks);
        let cut = match t.kind {
            Kind::Completion => blocks != 0 && boundary && (t.addr / BLOCK + 1) % blocks == 0,
            _ => self.is_burst_over(t, WORD),
        };
        let core = &mut self.cores[usize::from(slot)];
        if let Some(read) = &mut core.delayed {
            read.bytes -= lanes::of_run(read.addr, read.bytes).count_ones() as u16;
            read.addr = (read.addr & !(WORD - 1)) + WORD;
        }
        core.slipped = (core.slipped || cut) && !done;
        if done {
            core.delayed = None;
        } else if cut {
            self.counters.disconnects += 1;
        }
        Moved { ad: word, lanes, last: done || cut }
    }

    /// Word that the core takes for a read's: another one, if it has a bug.
    fn taken(&mut self, slot: usize, data: u64, place: usize, done: bool) -> u64 {
        if self.params.bug.is_none() {
            return data;
        }
        let slipped = self.cores[slot].slipped;
        let before = std::mem::replace(&mut self.cores[slot].last_word, data);
        if slipped && self.params.has(Bug::WordsDoubled) {
            return before;
        }
        if slipped && self.params.has(Bug::WordsOmitted) && !done {
            return self.bridge.peek_word(place);
        }
        let Some(bit) = self.params.unstable_bit(self.now) else { return data };
        self.counters.parity_errors += 1;
        self.cores[slot].config.parity_error();
        data ^ 1 << bit
    }

    /// Behind the end of a write that the core has not noticed.
    pub(super) fn ignore_stop(&mut self, t: &Transaction, ports: &mut Ports) {
        let (Agent::Device(slot), true) = (t.master, t.ignores_stop) else { return };
        let slot = usize::from(slot);
        // It is the device's next word, if there is one, that nobody takes.
        ports.ins[slot].took_word = ports.outs[slot].write_on;
        ports.ins[slot].ended = Some(Ended { words: t.words, aborted: false });
    }

    fn device_write(&mut self, t: &mut Transaction, ports: &mut Ports) -> Moved {
        let Agent::Device(slot) = t.master else { unreachable!("devices write") };
        let slot = usize::from(slot);
        let word = ports.outs[slot].write_word;
        let (lanes, follows) = self.run_lanes(t);
        if follows {
            t.half = Some((self.received(word) as u32, lanes));
            return Moved { ad: word, lanes, last: false };
        }
        let (low, before) = t.half.take().unzip();
        let data = self.received(word);
        let data = low.map_or(data, |low| data & !0xFFFF_FFFF | u64::from(low));
        let enables = lanes | before.unwrap_or(0);
        self.bridge.push_posted(t.addr & !(WORD - 1), data, enables);
        ports.ins[slot].took_word = true;
        t.words += 1;
        let done = t.left == 0;
        let boundary = (t.addr & !(WORD - 1)) % BLOCK == BLOCK - WORD;
        let held = !ports.outs[slot].write_on || !self.bridge.takes_block();
        let cut = boundary && held || self.is_burst_over(t, WORD);
        if cut && !done {
            self.counters.disconnects += 1;
        }
        let stopped = boundary && !self.bridge.takes_block() || self.is_burst_over(t, WORD);
        t.ignores_stop = stopped && !done && self.params.has(Bug::StopIgnored);
        if (done || cut) && !t.ignores_stop {
            ports.ins[slot].ended = Some(Ended { words: t.words, aborted: false });
        }
        Moved { ad: word, lanes, last: done || cut }
    }
}
