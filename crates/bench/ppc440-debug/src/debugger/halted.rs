//! Requests of gdb while the processor is halted, carried out on its node.

use super::{arch, Registers, Reply, Request, Watch};
use des::Time;
use machine::firmware::facts::Facts;
use ppc440::{Core, Located};

/// All of a node except its processor, as a debugger sees and changes it.
pub trait Surroundings {
    /// Reads from a real address, without an effect and unseen. False if not
    /// all of it answers.
    fn look(&mut self, now: Time, real: u64, bytes: &mut [u8]) -> bool;
    /// Writes to memory, or to a register, which does what it does when the processor writes it. False if
    /// nothing answers.
    fn write(&mut self, now: Time, real: u64, bytes: &[u8]) -> bool;
    /// The firmware may have something to do now that it had not.
    fn changed(&mut self);
    /// Failure that ends the run, if any: a sentence.
    fn failure(&self) -> Option<&str>;
}

/// A node whose processor is halted.
pub struct Halted<'a> {
    /// The processor.
    pub core: &'a mut Core,
    /// The rest of the node.
    pub around: &'a mut dyn Surroundings,
    /// Time of the halt.
    pub now: Time,
}

impl Halted<'_> {
    /// Does what was asked. All that only looks leaves everything as it was.
    pub(super) fn obey(&mut self, request: Request, watch: &mut Watch, facts: &Facts) -> Reply {
        match request {
            Request::Registers => Reply::Registers(Box::new(Registers::of(self.core))),
            Request::SetRegisters(registers) => {
                for (number, value) in registers.0.into_iter().enumerate() {
                    if arch::read(self.core, number) != Some(value) {
                        arch::write(self.core, number, value);
                    }
                }
                self.changed()
            }
            Request::Register(number) => {
                arch::read(self.core, number).map_or(Reply::Refused, Reply::Word)
            }
            Request::SetRegister(number, value) => match arch::write(self.core, number, value) {
                Some(()) => self.changed(),
                None => Reply::Refused,
            },
            Request::Read(addr, len) => Reply::Bytes(self.read(addr, len)),
            Request::Write(addr, bytes) => {
                let written = self.write(addr, &bytes);
                // Some of it may have been, also where the rest was not.
                let changed = self.changed();
                written.map_or(Reply::Refused, |()| changed)
            }
            Request::StopPoint(mark, add) => {
                watch.mark(mark, add);
                Reply::Done
            }
            Request::Monitor(words) => Reply::Text(self.monitor(&words, facts)),
            Request::Go(_) | Request::Detach | Request::Kill => Reply::Refused,
        }
    }

    /// The firmware may have something to do now that it had not.
    fn changed(&mut self) -> Reply {
        self.around.changed();
        Reply::Done
    }

    /// Bytes as the processor sees them; as many as there are before the end of its address space.
    fn read(&mut self, addr: u32, len: usize) -> Vec<u8> {
        let len = len.min((u32::MAX - addr) as usize + 1);
        let mut bytes = vec![0; len];
        let mut done = 0;
        while done < len {
            let Some(at) = self.core.locate(addr.wrapping_add(done as u32)) else { break };
            let part = at.len.min(len - done);
            let piece = &mut bytes[done..done + part];
            let there = self.read_piece(at, piece);
            done += there;
            if there < part {
                break;
            }
        }
        bytes.truncate(done);
        bytes
    }

    /// Within a page. Returns how many bytes there are.
    fn read_piece(&mut self, at: Located, piece: &mut [u8]) -> usize {
        let mut there = piece.len();
        if !self.around.look(self.now, at.real, piece) {
            // Some of it answers, perhaps: word by word, of those that a register has.
            let mut word = |from: usize| {
                let end = piece.len().min((from + 4) & !3);
                let real = at.real + from as u64;
                self.around.look(self.now, real, &mut piece[from..end]).then_some(end)
            };
            there = 0;
            while let Some(end) = word(there).filter(|end| *end > there) {
                there = end;
            }
        }
        self.core.overlay(at, &mut piece[..there]);
        there
    }

    /// Writes to memory, to what the processor holds of it, and to registers. `None` if nothing answers; what
    /// came before is written then.
    fn write(&mut self, addr: u32, bytes: &[u8]) -> Option<()> {
        let mut done = 0;
        while done < bytes.len() {
            let at = self.core.locate(addr.wrapping_add(done as u32))?;
            let part = at.len.min(bytes.len() - done);
            let piece = &bytes[done..done + part];
            self.around.write(self.now, at.real, piece).then_some(())?;
            self.core.store_held(at, piece);
            done += part;
        }
        Some(())
    }

    fn monitor(&self, words: &str, facts: &Facts) -> String {
        match words.trim() {
            "time" => facts.time(self.now),
            "machine" => facts.machine(),
            "fault" => match self.around.failure() {
                Some(sentence) => format!("{sentence}\n"),
                None => "nothing has gone wrong\n".into(),
            },
            "counters" => {
                let counters = self.core.counters();
                format!(
                    "{} instructions, {} cycles since reset\n",
                    counters.instructions, counters.cycles
                )
            }
            "tlb" => self.tlb(),
            _ => "monitor time: simulated time, since power on and since the launch\n\
                  monitor machine: what is simulated, and which node this is\n\
                  monitor counters: instructions and cycles of this processor\n\
                  monitor tlb: valid entries of the TLB\n\
                  monitor fault: what ends the run, if something does\n"
                .into(),
        }
    }

    fn tlb(&self) -> String {
        let entries = (0..64).map(|index| (index, self.core.tlb_entry(index)));
        let valid = entries.filter(|(_, entry)| entry.words[0] & ppc440::TLB_VALID != 0);
        let line = |(index, entry): (usize, ppc440::TlbEntry)| {
            let [page, real, attributes] = entry.words;
            let space = u32::from(page & ppc440::TLB_TS != 0);
            let size = 1u32 << (2 * (page >> 4 & 15));
            let flags = [
                (ppc440::TLB_W, 'W'),
                (ppc440::TLB_I, 'I'),
                (ppc440::TLB_G, 'G'),
                (ppc440::TLB_E, 'E'),
                (ppc440::TLB_SUPERVISOR[2], 'r'),
                (ppc440::TLB_SUPERVISOR[1], 'w'),
                (ppc440::TLB_SUPERVISOR[0], 'x'),
            ];
            let flag = |(bit, name)| if attributes & bit != 0 { name } else { '-' };
            let flags: String = flags.into_iter().map(flag).collect();
            format!(
                "{index:2}: space {space}, {:#010x} to {:#x}_{:08x}, {size} KB, {flags}\n",
                page & 0xffff_fc00,
                real & 15,
                real & 0xffff_fc00
            )
        };
        valid.map(line).collect()
    }
}
