//! Collective operations, which the firmware performs (firmware/seastar/core/collective.h).

use super::*;
use crate::api::{GroupStep, Reduced};
use abi::seastar::{
    group_flag, CollectCommand, GroupCommand, COLLECT_ENTRIES, GROUP_STEPS, REDUCE_ENTRIES,
};

/// Bytes of results that the firmware stores behind what belongs to the pendings.
pub(in crate::nal::seastar) const RESULTS: u32 = REDUCE_ENTRIES * 8;
/// Bytes of a group_command that have a meaning.
const GROUP_BYTES: usize = 12;
/// Bytes that a look at memory that the firmware has just written brings.
const LINE: u32 = 64;

impl Accelerated {
    fn group(&self, cpu: &Cpu, command: GroupCommand) {
        let command = GroupCommand {
            op: command_op::GROUP,
            process_index: self.driver.process as u8,
            ..command
        };
        let mut bytes = [0; GroupCommand::SIZE];
        command.emit(&mut bytes);
        self.write(cpu, &bytes[..GROUP_BYTES]);
    }

    pub(crate) fn open_group(
        &self,
        kernel: &Kernel,
        cpu: &Cpu,
        group: u16,
        steps: &[GroupStep],
        reduces: bool,
    ) -> bool {
        if !self.driver.config.collectives || steps.len() > GROUP_STEPS as usize {
            return false;
        }
        let (flags, step) = (group_flag::OPEN, steps.len() as u8);
        let open =
            GroupCommand { group, step, flags, reduces: reduces.into(), ..Default::default() };
        self.result.set(None);
        self.group(cpu, open);
        if self.await_result(kernel, cpu) != entry_result::DONE {
            return false;
        }
        for (step, GroupStep { tells, awaits, replaces }) in (0..).zip(steps) {
            let mut flags = 0;
            for (set, flag) in [
                (tells.is_some(), group_flag::SEND),
                (*awaits, group_flag::AWAIT),
                (*replaces, group_flag::REPLACE),
            ] {
                flags |= if set { flag } else { 0 };
            }
            let (nid, pid) = tells.map_or((0, 0), |to| (to.nid as u16, to.pid as u16));
            self.group(cpu, GroupCommand { group, step, flags, nid, pid, ..Default::default() });
        }
        true
    }

    pub(crate) fn close_group(&self, cpu: &Cpu, group: u16) {
        self.group(cpu, GroupCommand { group, flags: group_flag::CLOSE, ..Default::default() });
    }

    pub(crate) fn collect(&self, cpu: &Cpu, group: u16, reduced: Option<Reduced>) {
        let Reduced { kind, entries } =
            reduced.unwrap_or_else(|| Reduced { kind: 0, entries: Vec::new() });
        let mut first = 0;
        loop {
            let mut command = CollectCommand {
                op: command_op::COLLECT,
                process_index: self.driver.process as u8,
                group,
                first: first as u8,
                entries: entries.len() as u8,
                kind,
                ..Default::default()
            };
            let these = entries[first..].iter().take(COLLECT_ENTRIES as usize);
            let words = these.flat_map(|entry| [*entry as u32, (entry >> 32) as u32]);
            let used = command.values.iter_mut().zip(words).map(|(to, word)| *to = word).count();
            let mut bytes = [0; CollectCommand::SIZE];
            command.emit(&mut bytes);
            self.write(cpu, &bytes[..8 + 4 * used]);
            first += used / 2;
            if first == entries.len() {
                return;
            }
        }
    }

    pub(crate) fn has_collected(&self) -> bool {
        !self.collected.borrow().is_empty()
    }

    pub(crate) fn next_collected(&self) -> Option<u16> {
        self.collected.borrow_mut().pop_front()
    }

    pub(crate) fn reduced(&self, cpu: &Cpu, count: u32) -> Vec<u64> {
        cpu.spend(self.driver.config.costs.header_read * u64::from((count * 8).div_ceil(LINE)));
        self.driver.region.read_results(count as usize)
    }
}
