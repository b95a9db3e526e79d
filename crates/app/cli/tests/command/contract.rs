//! The contract of Portals (`tests/contract/portals/*.toml`) on the whole machine: the same cases that judge
//! the library, done by C programs over the real firmware. Cases that need features of the library's own test
//! (an operation that ends when the test says so, other limits) are only run there;
//! `portals/tests/library/contract.rs` runs all.

use crate::clause::{self, Buffer, Case, Entry, Event, Outcome, Request, Step, Table};
use crate::runner::{command, ended, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Ranks: the initiators' nodes that cases name, and the subject.
const RANKS: u32 = 4;
const SUBJECT: u32 = 1;
/// Process id of MPI on every node.
const TAKEN_PID: u32 = 1;
/// As in `machine.c`.
const ARENAS: usize = 8;
const ARENA: u64 = 0x5000;
const ANSWERS: u64 = 0x200;
/// Tables' indices that the library's test has; the machine has more.
const INDEX_MAX: u32 = 3;
const AC_INDEX_MAX: u32 = 7;

/// Reason for which a case cannot be run here.
type Unfit = &'static str;

fn in_use(error: &Option<String>) -> bool {
    let codes = ["PTL_MD_IN_USE", "PTL_ME_IN_USE", "PTL_MD_NO_UPDATE"];
    error.as_ref().is_some_and(|error| codes.contains(&&**error))
}

/// The memory descriptor of a step, and whether the step fails because an operation is under way.
fn buffer(step: &Step) -> Option<&Buffer> {
    match step {
        Step::MdAttach { buffer, .. }
        | Step::MdBind { buffer, .. }
        | Step::MdUpdate { buffer, .. }
        | Step::MeMdPost { buffer, .. } => Some(buffer),
        _ => None,
    }
}

fn request_fits(kind: &str, r: &Request) -> Result<(), Unfit> {
    let sizes = match kind {
        "put" | "get" => 0..=ANSWERS,
        "swap" => 0..=64,
        _ if [4, 8].contains(&r.length) => 0..=8,
        _ => return Err("its initiator would not get so far"),
    };
    if !sizes.contains(&r.length) {
        return Err("it is too long");
    }
    if r.nid >= RANKS || r.nid == SUBJECT || r.pid == TAKEN_PID || r.uid != 0 {
        return Err("its initiator does not exist");
    }
    if r.pt > INDEX_MAX || r.ac > AC_INDEX_MAX {
        return Err("it needs other limits");
    }
    Ok(())
}

/// Checks that the machine can do what the case wants.
fn fits(case: &Case) -> Result<(), Unfit> {
    let limits = [case.max_mes, case.max_mds, case.max_me_list, case.max_eqs];
    let limits = limits.into_iter().chain([case.max_md_iovecs, case.max_getput_md]);
    if limits.flatten().next().is_some() {
        return Err("it needs other limits");
    }
    let watched = case.steps.iter().any(|step| {
        let told = |b: &Buffer| {
            b.unlink || (b.eq.is_some() && !b.options.iter().any(|o| o == "event_end_disable"))
        };
        let refused = match step {
            Step::MeUnlink { error, .. }
            | Step::MdUnlink { error, .. }
            | Step::MdUpdate { error, .. } => in_use(error),
            _ => false,
        };
        refused || buffer(step).is_some_and(told)
    });
    let mut steps = case.steps.iter().peekable();
    while let Some(step) = steps.next() {
        if let Some(op) = step.operation() {
            match (op, steps.peek()) {
                (Some(op), Some(Step::Complete { op: ended, fail: false })) if ended == op => {
                    steps.next();
                }
                (None, _) if !watched || step.comes_to_nothing() => {}
                _ => return Err("an operation does not end at once"),
            }
        }
        let extent = |b: &Buffer| {
            let spread = b.regions.iter().all(|[start, length]| start + length <= ARENA);
            spread && (!b.regions.is_empty() || b.start.saturating_add(b.length) <= ARENA)
        };
        if buffer(step).is_some_and(|buffer| !extent(buffer)) {
            return Err("its memory is not there");
        }
        match step {
            Step::Arrive { kind, request, .. } => request_fits(kind, request)?,
            Step::Reply { .. } | Step::Ack { .. } | Step::Complete { .. } => {
                return Err("an answer comes out of nowhere")
            }
            Step::AcEntry { index, pt, .. }
                if *index > INDEX_MAX || (*pt > INDEX_MAX && *pt != u32::MAX) =>
            {
                return Err("it needs other limits")
            }
            Step::MeAttach { pt, .. } if *pt > INDEX_MAX => return Err("it needs other limits"),
            Step::MeAttachAny { error: Some(_), .. } => return Err("it needs other limits"),
            _ => {}
        }
    }
    Ok(())
}

/// True if its descriptors are in one piece, where the firmware knows no others.
fn fits_firmware(case: &Case) -> bool {
    let whole = |step: &Step| buffer(step).is_none_or(|buffer| buffer.regions.len() < 2);
    case.steps.iter().all(whole)
}

/// A case as a C function.
#[derive(Default)]
struct Writer {
    text: String,
    /// Declared names: `eq_q`, `me_a`, `md_a`.
    names: BTreeSet<String>,
    /// Each descriptor's arena, and its first byte as far as it is contiguous.
    descriptors: BTreeMap<String, (usize, Option<u64>)>,
}

fn code(error: &Option<String>) -> &str {
    error.as_deref().unwrap_or("PTL_OK")
}

fn unlink(yes: bool) -> &'static str {
    if yes {
        "PTL_UNLINK"
    } else {
        "PTL_RETAIN"
    }
}

fn position(name: &str) -> &'static str {
    match name {
        "before" => "PTL_INS_BEFORE",
        _ => "PTL_INS_AFTER",
    }
}

fn criteria(entry: &Entry) -> String {
    let Entry { bits, ignore, nid, pid, unlink: yes } = entry;
    format!("(ptl_process_id_t){{{nid}u, {pid}u}}, {bits}ull, {ignore}ull, {}", unlink(*yes))
}

impl Writer {
    fn name(&mut self, kind: &str, name: &str) -> String {
        let variable = format!("{kind}_{}", name.replace(|c: char| !c.is_alphanumeric(), "_"));
        self.names.insert(variable.clone());
        variable
    }

    /// Writes a call of the subject, with the code that it must return.
    fn call(&mut self, call: &str, error: &Option<String>) {
        let code = code(error);
        let _ = writeln!(self.text, "    if (rank == SUBJECT)\n        EXPECT({call}, {code});");
    }

    fn subject(&mut self, statement: &str) {
        let _ = writeln!(self.text, "    if (rank == SUBJECT)\n        {statement};");
    }

    /// A memory descriptor in C; `md` is its name.
    fn buffer(&mut self, md: &str, b: &Buffer) -> String {
        let arenas = self.descriptors.len();
        let first = b.regions.is_empty().then_some(b.start);
        let entry = self.descriptors.entry(md.to_owned()).or_insert((arenas, None));
        entry.1 = first;
        let arena = entry.0;
        let start = match b.regions.as_slice() {
            [] => format!("arenas[{arena}] + {}", b.start),
            regions => {
                let each = regions
                    .iter()
                    .map(|[start, length]| format!("{{arenas[{arena}] + {start}, {length}}}"));
                format!("(ptl_md_iovec_t[]){{{}}}", each.collect::<Vec<_>>().join(", "))
            }
        };
        let options: u32 = b.options.iter().map(|name| clause::option(name)).sum();
        let eq = b.eq.as_ref().map_or("PTL_EQ_NONE".into(), |eq| self.name("eq", eq));
        format!(
            "(ptl_md_t){{{start}, {}, {}, {}, {options}, NULL, {eq}}}",
            b.length, b.threshold, b.max_size
        )
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::EqAlloc { eq, count, error } => {
                let eq = self.name("eq", eq);
                self.call(&format!("PtlEQAlloc(ni, {count}, PTL_EQ_HANDLER_NONE, &{eq})"), error);
            }
            Step::EqFree { eq, error } => {
                let eq = self.name("eq", eq);
                self.call(&format!("PtlEQFree({eq})"), error);
            }
            Step::Events { eq, kinds } => {
                let eq = self.name("eq", eq);
                for kind in kinds {
                    let any = [", ANY"; 12].concat();
                    self.subject(&format!(
                        "event({eq}, (struct expected){{PTL_EVENT_{kind}, 0{any}}})"
                    ));
                }
                self.subject(&format!("nothing({eq})"));
            }
            Step::Event(event) => self.event(event),
            Step::Status { register, value } => {
                let register = register.to_uppercase();
                self.subject(&format!("status(PTL_SR_{register}, {value})"));
            }
            Step::AcEntry { index, nid, pid, uid, jid, pt, error } => {
                let id = format!("(ptl_process_id_t){{{nid}u, {pid}u}}");
                self.call(&format!("PtlACEntry(ni, {index}, {id}, {uid}u, {jid}u, {pt}u)"), error);
            }
            Step::Arrive { kind, request, outcome, .. } => self.arrive(kind, request, outcome),
            Step::Complete { .. } => {}
            Step::Put { md, region, error, .. } => {
                let md = self.name("md", md);
                let sent = match region {
                    Some([offset, length]) => format!("PtlPutRegion({md}, {offset}, {length}"),
                    None => format!("PtlPut({md}"),
                };
                self.sent(&format!("{sent}, PTL_NO_ACK_REQ, nobody, 0, 0, 0, 0, 0)"), error);
            }
            Step::Get { md, region, error, .. } => {
                let md = self.name("md", md);
                let sent = match region {
                    Some([offset, length]) => format!("PtlGetRegion({md}, {offset}, {length}"),
                    None => format!("PtlGet({md}"),
                };
                self.sent(&format!("{sent}, nobody, 0, 0, 0, 0)"), error);
            }
            Step::Atomic { kind, get, put, error, .. } => {
                let function = match kind.as_str() {
                    "swap" => "PtlGetPut",
                    "cswap" => "PtlCGetPut",
                    _ => "PtlGetAdd",
                };
                let (get, put) = (self.name("md", get), self.name("md", put));
                self.sent(&format!("{function}({get}, {put}, nobody, 0, 0, 0, 0, 0)"), error);
            }
            _ => self.object(step),
        }
    }

    /// Writes an operation of the subject that nobody takes.
    fn sent(&mut self, call: &str, error: &Option<String>) {
        self.call(call, error);
        self.subject("usleep(QUIET_US)");
    }

    fn event(&mut self, e: &Event) {
        let eq = self.name("eq", &e.eq);
        if e.error.is_some() {
            return self.subject(&format!("nothing({eq})"));
        }
        let md = e.md.as_ref().map_or("ANY".into(), |md| self.name("md", md));
        let word = |value: Option<u64>| value.map_or("ANY".into(), |value| format!("{value}ull"));
        let words = [
            word(e.rlength),
            word(e.mlength),
            word(e.offset),
            word(e.match_bits),
            word(e.hdr_data),
            word(e.link),
            word(e.sequence),
            word(e.nid),
            word(e.pid),
            word(e.pt),
            md,
            word(e.threshold.map(|threshold| u64::from(threshold as u32))),
        ];
        let kind = e.kind.as_deref().expect("an event has a kind");
        let (dropped, words) = (u8::from(e.dropped), words.join(", "));
        self.subject(&format!(
            "event({eq}, (struct expected){{PTL_EVENT_{kind}, {dropped}, {words}}})"
        ));
    }

    fn object(&mut self, step: &Step) {
        match step {
            Step::MeAttach { me, pt, position: at, entry, error } => {
                let (me, at, entry) = (self.name("me", me), position(at), criteria(entry));
                self.call(&format!("PtlMEAttach(ni, {pt}, {entry}, {at}, &{me})"), error);
            }
            Step::MeAttachAny { me, pt, entry, error } => {
                let (me, entry) = (self.name("me", me), criteria(entry));
                self.call(&format!("PtlMEAttachAny(ni, &portal, {entry}, &{me})"), error);
                if let Some(pt) = pt {
                    self.subject(&format!("chosen(portal, {pt})"));
                }
            }
            Step::MeInsert { me, base, position: at, entry, error } => {
                let (me, base) = (self.name("me", me), self.name("me", base));
                let (at, entry) = (position(at), criteria(entry));
                self.call(&format!("PtlMEInsert({base}, {entry}, {at}, &{me})"), error);
            }
            Step::MeUnlink { me, error } => {
                let me = self.name("me", me);
                self.call(&format!("PtlMEUnlink({me})"), error);
            }
            Step::MeMdPost { me, md, base, position: at, test, entry, buffer, error } => {
                let (me, base, test) =
                    (self.name("me", me), self.name("me", base), self.name("eq", test));
                let described = self.buffer(md, buffer);
                let (md, at, entry) = (self.name("md", md), position(at), criteria(entry));
                let call = format!(
                    "PtlMEMDPost(ni, {base}, {entry}, {at}, {described}, PTL_RETAIN, &{me}, &{md}, \
                     {test})"
                );
                self.call(&format!("({call})"), error);
            }
            Step::MdAttach { md, me, buffer, error } => {
                let (described, me) = (self.buffer(md, buffer), self.name("me", me));
                let (md, op) = (self.name("md", md), unlink(buffer.unlink));
                self.call(&format!("(PtlMDAttach({me}, {described}, {op}, &{md}))"), error);
            }
            Step::MdBind { md, buffer, error } => {
                let described = self.buffer(md, buffer);
                let (md, op) = (self.name("md", md), unlink(buffer.unlink));
                self.call(&format!("(PtlMDBind(ni, {described}, {op}, &{md}))"), error);
            }
            Step::MdUnlink { md, error } => {
                let md = self.name("md", md);
                self.call(&format!("PtlMDUnlink({md})"), error);
            }
            Step::MdUpdate { md, test, old_length, read_only, buffer, error } => {
                let test = test.as_ref().map_or("PTL_EQ_NONE".into(), |eq| self.name("eq", eq));
                let new = match read_only {
                    true => "NULL".into(),
                    false => format!("&{}", self.buffer(md, buffer)),
                };
                let md = self.name("md", md);
                self.call(&format!("(PtlMDUpdate({md}, &old, {new}, {test}))"), error);
                if let (Some(length), None) = (old_length, error) {
                    self.subject(&format!("was(&old, {length})"));
                }
            }
            _ => unreachable!("no step about objects"),
        }
    }

    fn arrive(&mut self, kind: &str, r: &Request, o: &Outcome) {
        let kind = kind.to_uppercase();
        let Request { pt, ac, bits, nid, pid, length, offset, hdr_data, ack, .. } = r;
        let request = format!(
            "{{{kind}, {{{nid}, {pid}}}, {pt}, {ac}, {bits}ull, {length}, {offset}, {hdr_data}ull, \
             {ack}}}",
            ack = u8::from(*ack)
        );
        let taker = o.into.as_ref().map(|md| self.descriptors[md]);
        let first = taker.and_then(|(_, first)| first);
        let pieces = match (&o.pieces, o.start, o.at, first, o.moved) {
            (Some(pieces), ..) => Some(pieces.clone()),
            (None, _, _, _, Some(0)) => Some(Vec::new()),
            (None, Some(start), _, _, Some(moved)) => Some(vec![[start, moved]]),
            (None, None, Some(at), Some(first), Some(moved)) => Some(vec![[first + at, moved]]),
            _ => None,
        };
        let count = pieces.as_ref().map_or(-1, |pieces| pieces.len() as i32);
        let each = pieces.unwrap_or_default();
        let each = each.iter().map(|[start, length]| format!("{{{start}, {length}}}"));
        let each = each.collect::<Vec<_>>().join(", ");
        let into = taker.map_or(-1, |(arena, _)| arena as i32);
        let acked = u8::from(o.acked);
        let _ = writeln!(
            self.text,
            "    arrive((struct request){request},\n           (struct outcome){{{into}, {count}, \
             {{{each}}}, {acked}}});"
        );
    }
}

/// The program, and the number of its cases.
fn program(cases: &[Case], interface: &str) -> (String, usize) {
    let prelude = root().join("tests/contract/machine.c");
    let prelude = prelude.display();
    let mut out = format!("#define SUBJECTS {interface}\n#include \"{prelude}\"\n");
    let mut calls = String::new();
    for (number, case) in cases.iter().enumerate() {
        let mut writer = Writer::default();
        case.steps.iter().for_each(|step| writer.step(step));
        assert!(writer.descriptors.len() <= ARENAS, "{} has too many descriptors", case.name);
        let _ = writeln!(out, "\nstatic void case_{number}(void)\n{{");
        out += "    ptl_pt_index_t portal = 0;\n    ptl_md_t old;\n";
        for name in &writer.names {
            let _ = writeln!(out, "    ptl_handle_any_t {name} = 0;");
        }
        let _ = writeln!(out, "    begin(\"{}\");\n{}    end();\n}}", case.name, writer.text);
        let _ = writeln!(calls, "    case_{number}();");
    }
    let _ = write!(
        out,
        "\nint main(int argc, char **argv)\n{{\n    int interfaces, all[2];\n    \
         MPI_Init(&argc, &argv);\n    \
         MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    EXPECT(PtlInit(&interfaces), PTL_OK);\n{calls}    \
         MPI_Reduce((int[]){{failures, on_nic}}, all, 2, MPI_INT, MPI_SUM, 0, \
         MPI_COMM_WORLD);\n    \
         if (rank == 0)\n        \
         printf(\"%d failures, %d cases on the network interface\\n\", all[0], all[1]);\n    \
         PtlFini();\n    MPI_Finalize();\n    return 0;\n}}\n"
    );
    (out, cases.len())
}

/// The combinations of brightwell2007: a user on Catamount with the library in the kernel or on the network
/// interface, atomic operations included; beside MPI there, which has the only place; a user on Linux, in
/// the kernel, also if it asked for the network interface. There a process has no lists of regions.
#[test]
fn the_whole_machine_keeps_the_contract() {
    keep_the_contract(&COMBINATIONS[..3]);
}

#[test]
#[ignore = "twenty seconds: make soak"]
fn every_combination_keeps_the_contract() {
    keep_the_contract(&COMBINATIONS[3..]);
    of_the_kernel(&IN_THE_KERNEL[2..]);
}

fn keep_the_contract(all: &[(&str, bool)]) {
    all.iter().for_each(|(options, on)| keeps_the_contract(options, "PTL_IFACE_DEFAULT", *on));
}

/// Options of the combinations, and whether matching is on the network interface.
const COMBINATIONS: [(&str, bool); 7] = [
    ("--machine redstorm", false),
    ("--machine redstorm-accelerated", true),
    ("--machine redstorm --set host.os=linux", false),
    ("--machine redstorm-accelerated --set firmware.overflow=panic", true),
    ("--machine redstorm-accelerated --set firmware.accelerated=1", false),
    ("--machine redstorm-accelerated --set host.os=linux", false),
    ("--machine redstorm-accelerated --set host.linux_nodes=1", true),
];

/// The same of users in the kernel, whose memory is contiguous under both systems.
#[test]
fn users_in_the_kernel_have_the_same_contract() {
    of_the_kernel(&IN_THE_KERNEL[..2]);
}

const IN_THE_KERNEL: [(&str, bool); 5] = [
    ("--machine redstorm", false),
    ("--machine redstorm-accelerated", true),
    ("--machine redstorm-accelerated --set firmware.accelerated=1", false),
    ("--machine redstorm --set host.os=linux", false),
    ("--machine redstorm-accelerated --set host.os=linux", false),
];

fn of_the_kernel(all: &[(&str, bool)]) {
    let kbridge = "IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_KERN, PTL_IFACE_SS)";
    for (options, on_nic) in all {
        keeps_the_contract(&format!("{options} --set host.kernel_programs=on"), kbridge, *on_nic);
    }
}

fn keeps_the_contract(options: &str, interface: &str, on_nic: bool) {
    let least = if on_nic { 45 } else { 58 };
    let folder = root().join("tests/contract/portals");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let tables = files
        .iter()
        .map(|file| -> Table { toml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap() });
    let all: Vec<Case> = tables.flat_map(|table| table.case).collect();
    let (fitting, others): (Vec<Case>, Vec<Case>) =
        all.into_iter().partition(|case| fits(case).is_ok() && (!on_nic || fits_firmware(case)));
    for case in &others {
        let why = fits(case).err().unwrap_or("it has a list of regions");
        println!("not here: {}: {why}", case.name);
    }
    let (text, count) = program(&fitting, interface);
    println!("{count} cases of {}", count + others.len());
    assert!(count >= least, "{count} cases");
    let place = tempfile::tempdir().unwrap();
    let source = place.path().join("contract.c");
    std::fs::write(&source, text).unwrap();
    let mut run = command();
    run.args(["run", "--judge", "--quiet", "-n", &RANKS.to_string()]);
    run.args(options.split(' ')).arg(&source);
    let run = ended(&mut run);
    let there = if on_nic { count } else { 0 };
    let expected = format!("0 failures, {there} cases on the network interface\n");
    assert_eq!(run.went_well().stdout, expected, "{options}");
}
