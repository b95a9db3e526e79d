//! Translation, gathering of small device writes, and reads of devices.

use bus::BusError;
use host::{AddressSpace, Extent, Memory, SpaceId, LIBRARY_BASE, SEGMENT_SIZE};
use std::cell::RefCell;
use std::rc::Rc;

/// A process with memory at `0x1000 ..`, and a log of its accesses.
#[derive(Clone, Default)]
struct Process(Rc<RefCell<Inner>>);
#[derive(Default)]
struct Inner {
    bytes: Vec<u8>,
    accesses: Vec<(char, u64, usize)>,
}
const BASE: u64 = 0x1000;

impl Process {
    fn new(len: usize) -> Process {
        let process = Process::default();
        process.0.borrow_mut().bytes = vec![0; len];
        process
    }
    fn range(&self, va: u64, len: usize, write: bool) -> Result<std::ops::Range<usize>, BusError> {
        let why = "not mapped";
        let error = BusError { addr: va, len, write, why };
        let start = va.checked_sub(BASE).ok_or(error)? as usize;
        (start + len <= self.0.borrow().bytes.len()).then_some(start..start + len).ok_or(error)
    }
    fn accesses(&self) -> Vec<(char, u64, usize)> {
        std::mem::take(&mut self.0.borrow_mut().accesses)
    }
}

impl AddressSpace for Process {
    fn read(&self, va: u64, buf: &mut [u8]) -> Result<(), BusError> {
        let range = self.range(va, buf.len(), false)?;
        let mut inner = self.0.borrow_mut();
        inner.accesses.push(('r', va, buf.len()));
        buf.copy_from_slice(&inner.bytes[range]);
        Ok(())
    }
    fn write(&self, va: u64, data: &[u8]) -> Result<(), BusError> {
        let range = self.range(va, data.len(), true)?;
        let mut inner = self.0.borrow_mut();
        inner.accesses.push(('w', va, data.len()));
        inner.bytes[range].copy_from_slice(data);
        Ok(())
    }
    fn read_pieces(&self, pieces: &[(u64, usize)], buf: &mut [u8]) -> Result<(), BusError> {
        host::read_each(pieces, buf, |va, piece| self.read(va, piece))
    }
    fn write_pieces(&self, pieces: &[(u64, usize)], data: &[u8]) -> Result<(), BusError> {
        host::write_each(pieces, data, |va, piece| self.write(va, piece))
    }
}

/// Offset in its frame of the memory that a segment is used for first.
const MIDDLE: u64 = SEGMENT_SIZE / 2;

fn extents(memory: &mut Memory, space: SpaceId, va: u64, len: u64) -> Vec<(u64, u64)> {
    let extents = memory.translate(space, va, len).expect("the space has it");
    extents.into_iter().map(|Extent { phys, len }| (phys, len)).collect()
}

#[test]
fn frames_are_given_in_order_of_first_use() {
    let memory = Memory::shared();
    let mut memory = memory.borrow_mut();
    let a = memory.add_space(Box::new(Process::new(64)));
    let b = memory.add_space(Box::new(Process::new(64)));
    let heap = 0x5555_5555_9000;
    assert_eq!(extents(&mut memory, b, heap + 8, 8), [(SEGMENT_SIZE + MIDDLE + 8, 8)]);
    assert_eq!(extents(&mut memory, a, heap + 8, 8), [(2 * SEGMENT_SIZE + MIDDLE + 8, 8)]);
    assert_eq!(extents(&mut memory, b, heap + 9, 8), [(SEGMENT_SIZE + MIDDLE + 9, 8)]);
    assert_eq!(extents(&mut memory, b, heap - 4096, 8), [(SEGMENT_SIZE + MIDDLE - 4096, 8)]);
    assert!(memory.translate(a, 0x1000, 0).unwrap().is_empty());
}

/// The places of libraries and stack do not matter: libraries of other sizes move the memory mapped below
/// them, another environment moves the stack.
#[test]
fn where_libraries_and_stack_stand_does_not_matter() {
    let places = |libraries: u64, environment: u64| {
        let memory = Memory::shared();
        let mut memory = memory.borrow_mut();
        let space = memory.add_space(Box::new(Process::new(64)));
        let (mapped, stack) = (0x7fff_f7c9_c000 - libraries, 0x7fff_ffff_e3e8 - environment);
        let mut of = |va: u64| {
            let [Extent { phys, len: 8 }] = memory.translate(space, va, 8).unwrap()[..] else {
                panic!("one extent")
            };
            assert_eq!(memory.owner_of(phys), Some((space, va)));
            phys
        };
        [mapped + 16, stack, 0x5555_5555_92a0, mapped - 0x10_0000, stack - 72, stack + 800]
            .map(&mut of)
    };
    let usual = places(0, 0);
    assert_eq!(places(0x7000, 0), usual);
    assert_eq!(places(0x20_0000, 0x3450), usual);
}

#[test]
fn a_buffer_across_a_segment_is_split() {
    let memory = Memory::shared();
    let mut memory = memory.borrow_mut();
    let space = memory.add_space(Box::new(Process::new(64)));
    let edge = 5 * SEGMENT_SIZE;
    let [first, second] = [1, 2].map(|frame| frame * SEGMENT_SIZE + MIDDLE);
    assert_eq!(extents(&mut memory, space, edge - 16, 48), [(first + 4080, 16), (second, 32)]);
    // The stack has its own segment.
    let stack = (1 << 47) - (128 << 20);
    let [third, fourth] = [3, 4].map(|frame| frame * SEGMENT_SIZE + MIDDLE);
    assert_eq!(extents(&mut memory, space, stack - 16, 48), [(third + 4080, 16), (fourth, 32)]);
    // A frame holds what is half as large as it on either side of what was used first.
    let far = edge - SEGMENT_SIZE / 2 - 4096;
    assert_eq!(
        extents(&mut memory, space, far - 8, 16),
        [(2 * SEGMENT_SIZE - 8, 8), (SEGMENT_SIZE, 8)]
    );
    assert_eq!(memory.owner_of(SEGMENT_SIZE), Some((space, far)));
    assert_eq!(memory.owner_of(2 * SEGMENT_SIZE - 1), Some((space, far - 1)));
}

/// Up to three processes have segments of 64 GB, more have segments of 4 GB, so that sixteen have room for
/// more than they use.
#[test]
fn many_processes_have_smaller_segments() {
    let places = |processes: u32, segments: u64| {
        let memory = Memory::shared();
        let mut memory = memory.borrow_mut();
        memory.make_room(processes);
        let mut places = Vec::new();
        for process in 0..processes {
            let space = memory.add_space(Box::new(Process::new(64)));
            for segment in (1..=segments).map(|number| number << 40) {
                let extents = memory.translate(space, segment + 16, 64)?;
                let [Extent { phys, len: 64 }] = extents[..] else { panic!("{extents:?}") };
                assert!(phys + 64 <= 1 << host::PHYSICAL_BITS);
                assert_eq!(memory.owner_of(phys), Some((space, segment + 16)), "process {process}");
                places.push(phys);
            }
        }
        Ok::<_, BusError>(places)
    };
    let of = |size: u64, count: u64| {
        (0..count).map(|n| SEGMENT_SIZE + n * size + size / 2 + 16).collect()
    };
    assert_eq!(places(3, 4), Ok(of(SEGMENT_SIZE, 12)));
    assert_eq!(places(4, 4), Ok(of(4 << 30, 16)));
    assert_eq!(places(16, 15), Ok(of(4 << 30, 240)));
    assert!(places(16, 16).is_err());
}

#[test]
fn physical_space_ends() {
    let memory = Memory::shared();
    let mut memory = memory.borrow_mut();
    let space = memory.add_space(Box::new(Process::new(64)));
    for segment in 0..15 {
        memory.translate(space, segment * SEGMENT_SIZE, 1).unwrap();
    }
    let error = memory.translate(space, 15 * SEGMENT_SIZE, 1).unwrap_err();
    assert!(error.why.contains("used up"));
    assert!(memory.translate(space, u64::MAX, 2).is_err());
    assert!(memory.read_phys(1 << 40, &mut [0]).is_err());
}

#[test]
fn contiguous_device_writes_reach_the_process_together() {
    let process = Process::new(8192);
    let memory = Memory::shared();
    let mut memory = memory.borrow_mut();
    let space = memory.add_space(Box::new(process.clone()));
    let phys = memory.translate(space, BASE, 4096).unwrap()[0].phys;
    for packet in 0..4u8 {
        memory.write_phys(phys + u64::from(packet) * 64, &[packet + 1; 64]).unwrap();
    }
    assert!(process.accesses().is_empty());
    // Elsewhere: the gathered ones go first.
    memory.write_phys(phys + 1024, &[9; 64]).unwrap();
    assert_eq!(process.accesses(), [('w', BASE, 256)]);
    // Whoever looks sees everything.
    let mut seen = [0; 2];
    memory.read(space, BASE + 1023, &mut seen).unwrap();
    assert_eq!(seen, [0, 9]);
    memory.write_phys(phys + 1024, &[8; 64]).unwrap();
    let mut byte = [0];
    memory.read_phys(phys + 1024, &mut byte).unwrap();
    assert_eq!(byte, [8]);
    memory.write_phys(phys, &[7]).unwrap();
    memory.write(space, BASE, &[6]).unwrap();
    memory.settle().unwrap();
    memory.read_phys(phys, &mut byte).unwrap();
    assert_eq!(byte, [6], "the later write wins");
}

#[test]
fn device_reads_of_one_page_ask_the_process_once() {
    let process = Process::new(2 * 4096);
    process.0.borrow_mut().bytes[5] = 42;
    let memory = Memory::shared();
    let mut memory = memory.borrow_mut();
    let space = memory.add_space(Box::new(process.clone()));
    let phys = memory.translate(space, BASE, 8192).unwrap()[0].phys;
    let mut buf = [0; 64];
    for packet in 0..64 {
        memory.read_phys(phys + packet * 64, &mut buf).unwrap();
    }
    assert_eq!(process.accesses(), [('r', BASE, 4096)]);
    // The process may have run since.
    process.0.borrow_mut().bytes[5] = 43;
    memory.settle().unwrap();
    memory.read_phys(phys, &mut buf).unwrap();
    assert_eq!(buf[5], 43);
    // Across a page, and more than a page: directly.
    memory.read_phys(phys + 4090, &mut buf).unwrap();
    assert_eq!(process.accesses(), [('r', BASE, 4096), ('r', BASE + 4090, 64)]);
}

#[test]
fn writes_to_unmapped_memory_come_out_when_they_settle() {
    let memory = Memory::shared();
    let mut memory = memory.borrow_mut();
    let space = memory.add_space(Box::new(Process::new(16)));
    let phys = memory.translate(space, BASE + 8, 64).unwrap()[0].phys;
    memory.write_phys(phys, &[1; 64]).unwrap();
    let error = memory.settle().unwrap_err();
    assert_eq!((error.addr, error.len, error.write), (BASE + 8, 64, true));
    assert!(memory.settle().is_ok(), "reported once");
}

/// Only settling reports failed writes: neither the NIC's probe of memory nor a library's read hides them.
#[test]
fn only_settling_tells_of_writes_in_vain() {
    let memory = Memory::shared();
    let mut memory = memory.borrow_mut();
    let space = memory.add_space(Box::new(Process::new(16)));
    let [there, beyond] =
        [BASE, BASE + 8].map(|va| memory.translate(space, va, 16).unwrap()[0].phys);
    memory.write_phys(beyond, &[1; 16]).unwrap();
    memory.read_phys(there, &mut [0; 8]).unwrap();
    memory.read(space, BASE, &mut [0; 8]).unwrap();
    memory.write(space, BASE, &[2; 8]).unwrap();
    memory.write_phys(there, &[3; 8]).unwrap();
    assert_eq!(memory.settle().unwrap_err().addr, BASE + 8);
}

#[test]
fn kernel_and_library_memory_keep_to_their_allocations() {
    let memory = Memory::shared();
    let mut memory = memory.borrow_mut();
    let space = memory.add_space(Box::new(Process::new(16)));
    let table = memory.alloc_kernel(1000, 128);
    let next = memory.alloc_kernel(8, 4096);
    assert!(table % 128 == 0 && next % 4096 == 0 && next >= table + 1000);
    memory.write_phys(table + 996, &[1, 2, 3, 4]).unwrap();
    assert!(memory.write_phys(table + 997, &[1, 2, 3, 4]).is_err());
    let mut word = [0; 4];
    memory.read_phys(table + 996, &mut word).unwrap();
    assert_eq!(word, [1, 2, 3, 4]);
    assert!(memory.read_phys(0, &mut word).is_err());

    let buffer = memory.alloc_library(space, 100);
    assert!(buffer >= LIBRARY_BASE);
    let phys = memory.translate(space, buffer, 100).unwrap()[0].phys;
    memory.write_phys(phys + 10, &word).unwrap();
    let mut seen = [0; 4];
    memory.read(space, buffer + 10, &mut seen).unwrap();
    assert_eq!(seen, word);
    assert!(memory.write(space, buffer + 99, &[0; 2]).is_err());
}

/// Pages of Linux are an extent each, joined only within a run; the process reads what devices write.
#[test]
fn pages_of_linux_are_scattered_and_hold_what_is_written_to_them() {
    const PAGE: u64 = host::PAGE_SIZE;
    for (run, extents) in [(1, 5), (4, 2)] {
        let mut memory = Memory::default();
        memory.set_paging(host::Paging::Pages { run });
        let process = Process::new(8 * PAGE as usize);
        let space = memory.add_space(Box::new(process.clone()));
        let (va, len) = (BASE + PAGE - 100, 3 * PAGE + 200);
        assert_eq!(memory.pages(space, va, len), 5);
        let found = memory.translate(space, va, len).unwrap();
        assert_eq!(found.iter().map(|extent| extent.len).sum::<u64>(), len);
        assert_eq!(found.len(), extents, "{found:?}");
        assert_eq!(memory.translate(space, va, len).unwrap(), found, "once mapped, it stays");
        let data: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
        let mut rest = &data[..];
        for extent in &found {
            let (part, after) = rest.split_at(extent.len as usize);
            memory.write_phys(extent.phys, part).unwrap();
            let mut back = vec![0; part.len()];
            memory.read_phys(extent.phys, &mut back).unwrap();
            assert_eq!(back, part);
            rest = after;
        }
        let mut read = vec![0; len as usize];
        memory.read(space, va, &mut read).unwrap();
        assert_eq!(read, data);
        // A user in the kernel has contiguous memory, and no page that must be looked at.
        let kernel = memory.add_kernel_space();
        let buffer = memory.alloc_library(kernel, 10 * PAGE);
        assert_eq!(memory.pages(kernel, buffer, 10 * PAGE), 0);
        assert_eq!(memory.translate(kernel, buffer, 10 * PAGE).unwrap().len(), 1);
    }
}

#[test]
fn what_was_found_lately_is_not_looked_for_again() {
    let memory = Memory::shared();
    let mut memory = memory.borrow_mut();
    let process = Process::new(0x2000);
    let space = memory.add_space(Box::new(process.clone()));
    assert!(memory.probe(space, BASE - 1).is_err() && memory.probe(space, BASE - 1).is_err());
    memory.probe(space, BASE + 8).unwrap();
    memory.probe(space, BASE + 0x1000).unwrap();
    assert_eq!(process.accesses(), [('r', BASE + 8, 1), ('r', BASE + 0x1000, 1)]);
    memory.probe(space, BASE + 0xfff).unwrap();
    memory.probe(space, BASE + 0x1fff).unwrap();
    assert!(process.accesses().is_empty());
    // What has gone is found out by who uses it.
    process.0.borrow_mut().bytes.clear();
    memory.probe(space, BASE + 8).unwrap();
    assert!(memory.read(space, BASE + 8, &mut [0]).is_err());
    assert!(memory.write(space, BASE + 8, &[0]).is_err());
    // Each process has pages of its own, and other pages take the places of known ones.
    let other = memory.add_space(Box::new(Process::default()));
    assert!(memory.probe(other, BASE + 8).is_err());
    let library = memory.alloc_library(space, 8);
    memory.probe(space, library).unwrap();
    assert!(memory.probe(space, library + 0x1000).is_err());
}

#[test]
fn a_page_of_the_kernels_stands_for_a_processs_while_it_is_bound() {
    let (process, mut memory) = (Process::new(0x2000), Memory::default());
    let phys = memory.alloc_kernel(0x2000, 0x1000);
    let space = memory.add_space(Box::new(process.clone()));
    memory.write_phys(phys + 8, &[1; 8]).unwrap();
    memory.bind(phys, space, BASE + 0x1000);
    memory.write_phys(phys + 8, &[2; 8]).unwrap();
    memory.write_phys(phys + 0x1008, &[3; 8]).unwrap();
    let read = |memory: &mut Memory, at: u64| {
        let mut bytes = [0; 8];
        memory.read_phys(at, &mut bytes).unwrap();
        bytes
    };
    // What a device has written reaches the process, and what the process has there the device.
    assert_eq!(read(&mut memory, phys + 8), [2; 8]);
    memory.settle().unwrap();
    assert_eq!(process.0.borrow().bytes[0x1008..0x1010], [2; 8]);
    process.0.borrow_mut().bytes[0x1008] = 7;
    memory.settle().unwrap();
    assert_eq!(read(&mut memory, phys + 8)[0], 7);
    // The next page is the kernel's own, and so is this one again.
    assert_eq!(read(&mut memory, phys + 0x1008), [3; 8]);
    memory.unbind(phys);
    assert_eq!(read(&mut memory, phys + 8), [1; 8]);
}

#[test]
fn a_bound_page_that_its_process_has_not_is_the_kernels_frame() {
    let (process, mut memory) = (Process::new(0x1000), Memory::default());
    let phys = memory.alloc_kernel(0x2000, 0x1000);
    let space = memory.add_space(Box::new(process.clone()));
    // The second page follows the first for the process, and for the kernel does not.
    memory.bind(phys + 0x1000, space, BASE);
    memory.bind(phys, space, BASE + 0x1000);
    memory.write_phys(phys + 0x1ff8, &[4; 8]).unwrap();
    memory.write_phys(phys, &[9; 8]).unwrap();
    memory.settle().unwrap();
    assert_eq!(process.0.borrow().bytes[0xff8..], [4; 8]);
    let mut bytes = [0; 8];
    memory.read_phys(phys, &mut bytes).unwrap();
    assert_eq!(bytes, [9; 8]);
}
