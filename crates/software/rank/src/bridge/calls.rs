//! Every function. Arguments are as in `abi/portals/functions.toml`; those written by hand in the library
//! have others, as `libportals/calls.c` says.

use super::memory::{queue, word};
use super::{number, Answer, Bridge, Handler, NI_HANDLE};
use abi::portals::{ack, any, code, handle, interface, position, register, unlink, Function};
use des::Duration;
use portals::{
    AccessEntry, AckRequest, Atomic, Criteria, EqHandle, MdHandle, MeHandle, Next, Ni, Polled,
    Position, ProcessId, Region, StatusRegister, Target, Unlink,
};
use std::rc::Rc;

/// More queues than any interface has: such a PtlEQPoll is a mistake.
const POLLED_MAX: i32 = 1 << 16;

fn id(arg: u64) -> ProcessId {
    ProcessId { nid: arg as u32, pid: (arg >> 32) as u32 }
}
fn md(arg: u64) -> MdHandle {
    MdHandle::from_raw(arg as u32)
}
fn me(arg: u64) -> MeHandle {
    MeHandle::from_raw(arg as u32)
}
fn eq(arg: u64) -> EqHandle {
    EqHandle::from_raw(arg as u32)
}

fn when_used_up(arg: u64) -> Unlink {
    match arg as u32 {
        unlink::RETAIN => Unlink::Retain,
        _ => Unlink::Unlink,
    }
}

fn place(arg: u64) -> Position {
    match arg as u32 {
        position::INS_BEFORE => Position::Before,
        _ => Position::After,
    }
}

fn wanted(arg: u64) -> AckRequest {
    match arg as u32 {
        ack::ACK_REQ => AckRequest::Ack,
        _ => AckRequest::NoAck,
    }
}

/// Match id, match bits, ignore bits.
fn criteria(args: &[u64]) -> Criteria {
    Criteria { match_id: id(args[0]), match_bits: args[1], ignore_bits: args[2] }
}

/// Target, portal, access control entry, match bits, offset.
fn target(args: &[u64]) -> Target {
    Target {
        id: id(args[0]),
        pt_index: args[1] as u32,
        ac_index: args[2] as u32,
        match_bits: args[3],
        offset: args[4],
    }
}

fn region(offset: u64, length: u64) -> Region {
    Region { offset, length }
}

impl Bridge {
    pub(super) fn dispatch(&self, function: Function, a: &[u64]) -> Answer {
        use Function as F;
        match function {
            F::Init => self.init(a),
            F::Fini => {
                self.close();
                Ok(())
            }
            F::NiInit => self.ni_init(a),
            F::NiFini | F::NiStatus | F::NiDist | F::NiHandle | F::NiEqDump => {
                self.kernel.charge_call(&self.cpu);
                self.of_interface(function, a)
            }
            F::GetUid | F::GetId | F::GetJid => {
                self.kernel.charge_call(&self.cpu);
                self.of_process(function, a)
            }
            F::GetRank | F::GetRankId | F::GetNidMap | F::GetPidMap => {
                self.kernel.charge_call(&self.cpu);
                self.of_run(function, a)
            }
            F::MeAttach | F::MeAttachAny | F::MeInsert | F::MeUnlink | F::MeMdPost => {
                self.of_entry(function, a)
            }
            F::MdAttach | F::MdBind | F::MdUnlink | F::MdUpdate => self.of_descriptor(function, a),
            F::EqAlloc => self.eq_alloc(a),
            F::EqFree => {
                let ni = self.open(code::EQ_INVALID)?;
                ni.eq_free(eq(a[0])).map_err(number)?;
                self.state.borrow_mut().handlers.retain(|handler| handler.queue != a[0] as u32);
                Ok(())
            }
            F::EqGet => self.take(&[eq(a[0])], Some(Duration::ZERO), function, a[1], None, a[2]),
            F::EqWait | F::EqWaitTimeout => {
                self.take(&[eq(a[0])], None, function, a[1], None, a[2])
            }
            F::EqPoll => self.eq_poll(a),
            F::AcEntry => {
                let match_id = id(a[2]);
                let (uid, jid, pt_index) = (a[3] as u32, a[4] as u32, a[5] as u32);
                let entry = AccessEntry { match_id, uid, jid, pt_index };
                self.ni(a[0])?.ac_entry(a[1] as u32, entry).map_err(number)
            }
            F::Put | F::PutRegion | F::Get | F::GetRegion | F::GetPut | F::CGetPut | F::GetAdd => {
                self.movement(function, a)
            }
        }
    }

    fn init(&self, a: &[u64]) -> Answer {
        self.kernel.charge_call(&self.cpu);
        self.write_word(a[0], 1)?;
        self.state.borrow_mut().initialized = true;
        Ok(())
    }

    fn ni_init(&self, a: &[u64]) -> Answer {
        self.is_initialized()?;
        self.writable(&[a[4]])?;
        const KBRIDGE: u32 = interface::IFACE_SS | interface::BRIDGE_KERN;
        let in_kernel = match a[0] as u32 {
            interface::IFACE_DEFAULT | interface::IFACE_SS => None,
            named if named == interface::IFACE_SS | interface::BRIDGE_QK => None,
            named if named == interface::IFACE_SS | interface::BRIDGE_UK => None,
            KBRIDGE => Some(self.in_kernel.ok_or(code::IFACE_INVALID)?),
            _ => return Err(code::IFACE_INVALID),
        };
        let present = self.state.borrow().ni.clone();
        let ni = match present {
            Some(ni) => {
                self.kernel.charge_call(&self.cpu);
                ni
            }
            None => {
                let chosen = self.party.map[self.party.rank as usize].pid;
                let pid = if a[1] as u32 == any::PID_ANY { chosen } else { a[1] as u32 };
                let ni = match in_kernel {
                    Some(space) => Ni::init_in_kernel(&self.cpu, &self.kernel, pid, space),
                    None => Ni::init(&self.cpu, &self.kernel, pid, self.space),
                };
                let ni = Rc::new(ni.map_err(number)?);
                self.state.borrow_mut().ni = Some(ni.clone());
                ni
            }
        };
        if a[3] != 0 {
            self.write_limits(a[3], ni.limits())?;
        }
        self.write_word(a[4], NI_HANDLE)
    }

    fn of_interface(&self, function: Function, a: &[u64]) -> Answer {
        match function {
            Function::NiFini => {
                self.ni(a[0])?;
                self.close();
                self.state.borrow_mut().initialized = true;
                Ok(())
            }
            Function::NiStatus => {
                let ni = self.ni(a[0])?;
                let counter = match a[1] as u32 {
                    register::SR_DROP_COUNT => StatusRegister::DropCount,
                    register::SR_DROP_LENGTH => StatusRegister::DropLength,
                    register::SR_RECV_COUNT => StatusRegister::RecvCount,
                    register::SR_RECV_LENGTH => StatusRegister::RecvLength,
                    register::SR_SEND_COUNT => StatusRegister::SendCount,
                    register::SR_SEND_LENGTH => StatusRegister::SendLength,
                    _ => return Err(code::SR_INDEX_INVALID),
                };
                self.write(a[2], &ni.ni_status(counter).to_le_bytes())
            }
            Function::NiDist => {
                let (ni, process) = (self.ni(a[0])?, id(a[1]));
                if process.nid > u32::from(u16::MAX) {
                    return Err(code::PROCESS_INVALID);
                }
                self.write(a[2], &u64::from(ni.ni_dist(process)).to_le_bytes())
            }
            Function::NiEqDump => {
                let queue = self.ni(a[0])?.eq_dump(a[1] as usize).ok_or(code::EQ_EMPTY)?;
                let words = [u64::from(queue.0.raw()), queue.1, queue.2];
                self.write(a[2], &words.map(u64::to_le_bytes).concat())
            }
            _ => {
                let ni = self.open(code::HANDLE_INVALID)?;
                match a[0] as u32 {
                    NI_HANDLE => {}
                    raw if ni.owns(raw) => {}
                    _ => return Err(code::HANDLE_INVALID),
                }
                self.write_word(a[1], NI_HANDLE)
            }
        }
    }

    fn of_process(&self, function: Function, a: &[u64]) -> Answer {
        let identity = self.ni(a[0])?.identity();
        match function {
            Function::GetUid => self.write_word(a[1], identity.uid),
            Function::GetJid => self.write_word(a[1], identity.jid),
            _ => self.write_id(a[1], identity.id),
        }
    }

    /// Rank, number of processes, and who they are.
    fn of_run(&self, function: Function, a: &[u64]) -> Answer {
        self.ni(a[0])?;
        let map = &self.party.map;
        let listed = |part: fn(&ProcessId) -> u32| {
            if a[2] as usize != map.len() {
                return Err(code::FAIL);
            }
            let bytes: Vec<u8> = map.iter().flat_map(|id| part(id).to_le_bytes()).collect();
            self.write(a[1], &bytes)
        };
        match function {
            Function::GetRank => {
                self.write_word(a[1], self.party.rank)?;
                self.write_word(a[2], map.len() as u32)
            }
            Function::GetNidMap => listed(|id| id.nid),
            Function::GetPidMap => listed(|id| id.pid),
            _ => {
                let process = map.get(a[1] as usize).ok_or(code::PROCESS_INVALID)?;
                self.write_id(a[2], *process)
            }
        }
    }

    fn of_entry(&self, function: Function, a: &[u64]) -> Answer {
        match function {
            Function::MeAttach => {
                let ni = self.ni(a[0])?;
                self.writable(&[a[7]])?;
                let (pt, unlink, position) = (a[1] as u32, when_used_up(a[5]), place(a[6]));
                let me = ni.me_attach(pt, criteria(&a[2..]), unlink, position).map_err(number)?;
                self.write_word(a[7], me.raw())
            }
            Function::MeAttachAny => {
                let ni = self.ni(a[0])?;
                self.writable(&[a[1], a[6]])?;
                let made = ni.me_attach_any(criteria(&a[2..]), when_used_up(a[5]));
                let (pt, me) = made.map_err(number)?;
                self.write_word(a[1], pt)?;
                self.write_word(a[6], me.raw())
            }
            Function::MeInsert => {
                let ni = self.open(code::ME_INVALID)?;
                self.writable(&[a[6]])?;
                let (unlink, position) = (when_used_up(a[4]), place(a[5]));
                let made = ni.me_insert(me(a[0]), criteria(&a[1..]), unlink, position);
                self.write_word(a[6], made.map_err(number)?.raw())
            }
            Function::MeMdPost => {
                let ni = self.ni(a[0])?;
                self.writable(&[a[9], a[10]])?;
                let described = self.read_md(a[7])?;
                let (unlink, position) = (when_used_up(a[5]), place(a[6]));
                let (base, criteria) = (me(a[1]), criteria(&a[2..]));
                let (unlink_md, test) = (when_used_up(a[8]), eq(a[11]));
                let made =
                    ni.me_md_post(base, criteria, unlink, position, described, unlink_md, test);
                let (me, md) = made.map_err(number)?;
                self.write_word(a[9], me.raw())?;
                self.write_word(a[10], md.raw())
            }
            _ => self.open(code::ME_INVALID)?.me_unlink(me(a[0])).map_err(number),
        }
    }

    fn of_descriptor(&self, function: Function, a: &[u64]) -> Answer {
        match function {
            Function::MdAttach => {
                let ni = self.open(code::ME_INVALID)?;
                self.writable(&[a[3]])?;
                let made = ni.md_attach(me(a[0]), self.read_md(a[1])?, when_used_up(a[2]));
                self.write_word(a[3], made.map_err(number)?.raw())
            }
            Function::MdBind => {
                let ni = self.ni(a[0])?;
                self.writable(&[a[3]])?;
                let made = ni.md_bind(self.read_md(a[1])?, when_used_up(a[2]));
                self.write_word(a[3], made.map_err(number)?.raw())
            }
            Function::MdUpdate => {
                let ni = self.open(code::MD_INVALID)?;
                let new = if a[2] == 0 { None } else { Some(self.read_md(a[2])?) };
                if a[1] != 0 {
                    self.writable(&[a[1]])?;
                }
                let old = ni.md_update(md(a[0]), new, queue(a[3] as u32)).map_err(number)?;
                if a[1] != 0 {
                    self.write_md(a[1], &old)?;
                }
                Ok(())
            }
            _ => self.open(code::MD_INVALID)?.md_unlink(md(a[0])).map_err(number),
        }
    }

    fn eq_alloc(&self, a: &[u64]) -> Answer {
        let ni = self.ni(a[0])?;
        self.writable(&[a[3]])?;
        if a[1] == 0 {
            return self.write_word(a[3], handle::EQ_NONE);
        }
        let count = u32::try_from(a[1]).map_err(|_| code::NO_SPACE)?;
        let eq = ni.eq_alloc(count).map_err(number)?.raw();
        if a[2] != 0 {
            self.state.borrow_mut().handlers.push(Handler { queue: eq, function: a[2] });
        }
        self.write_word(a[3], eq)
    }

    fn eq_poll(&self, a: &[u64]) -> Answer {
        self.is_initialized()?;
        let size = a[1] as i32;
        if size <= 0 || size > POLLED_MAX {
            return Err(code::EQ_INVALID);
        }
        let mut bytes = vec![0; size as usize * 4];
        self.read(a[0], &mut bytes)?;
        let queues = (0..size as usize).map(|index| EqHandle::from_raw(word(&bytes, index * 4)));
        let limit = match a[2] as u32 {
            abi::portals::time::TIME_FOREVER => None,
            milliseconds => Some(Duration::from_us(u64::from(milliseconds) * 1000)),
        };
        let queues: Vec<_> = queues.collect();
        self.take(&queues, limit, Function::EqPoll, a[3], Some(a[4]), a[5])
    }

    /// Takes an event of the first queue that has one into `event`, the queue's index into `which`, and into
    /// `handler` the address of the function that shall see it, if any.
    fn take(
        &self,
        queues: &[EqHandle],
        limit: Option<Duration>,
        function: Function,
        event: u64,
        which: Option<u64>,
        handler: u64,
    ) -> Answer {
        let ni = self.open(code::EQ_INVALID)?;
        self.writable(&[event])?;
        if let Some(which) = which {
            self.writable(&[which])?;
        }
        let taken = match (limit, queues) {
            (Some(Duration::ZERO), [queue]) => {
                ni.eq_get(*queue).map(|Next { event, dropped }| Polled { event, dropped, which: 0 })
            }
            _ => self.while_waiting(function.name(), || ni.eq_poll(queues, limit)),
        };
        let taken = taken.map_err(number)?;
        self.write_event(event, &taken.event)?;
        if let Some(which) = which {
            self.write_word(which, taken.which as u32)?;
        }
        let state = self.state.borrow();
        let queue = queues[taken.which].raw();
        if let Some(found) = state.handlers.iter().find(|handler| handler.queue == queue) {
            self.write(handler, &found.function.to_le_bytes())?;
        }
        match taken.dropped {
            true => Err(code::EQ_DROPPED),
            false => Ok(()),
        }
    }

    /// Operations that move data.
    fn movement(&self, function: Function, a: &[u64]) -> Answer {
        let ni = self.open(code::MD_INVALID)?;
        let done = match function {
            Function::Put => ni.put(md(a[0]), wanted(a[1]), target(&a[2..]), a[7]),
            Function::PutRegion => {
                let region = region(a[1], a[2]);
                ni.put_region(md(a[0]), region, wanted(a[3]), target(&a[4..]), a[9])
            }
            Function::Get => ni.get(md(a[0]), target(&a[1..])),
            Function::GetRegion => ni.get_region(md(a[0]), region(a[1], a[2]), target(&a[3..])),
            _ => {
                let atomic = match function {
                    Function::GetPut => Atomic::Swap,
                    Function::CGetPut => Atomic::CompareSwap,
                    _ => Atomic::Add,
                };
                ni.atomic(atomic, md(a[0]), md(a[1]), target(&a[2..]), a[7])
            }
        };
        done.map_err(number)
    }
}
