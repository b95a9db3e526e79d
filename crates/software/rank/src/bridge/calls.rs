//! Every function. Arguments are as in `abi/portals/functions.toml`, with the words that the library adds to
//! those of functions written by hand (`abi/portals/words.toml`).

use super::memory::{queue, word};
use super::words::{eq, id, md, me, place, when_used_up};
use super::{number, Answer, Bridge, Handler, NI_HANDLE};
use abi::arguments::Arguments;
use abi::portals::args;
use abi::portals::{any, code, handle, interface, register, Function};
use des::Duration;
use portals::{
    AccessEntry, Criteria, EqHandle, Error, Next, Ni, Polled, ProcessId, StatusRegister,
};
use std::rc::Rc;

/// More queues than any interface has: such a PtlEQPoll is a mistake.
const POLLED_MAX: i32 = 1 << 16;

/// Criteria among arguments.
macro_rules! criteria {
    ($args:ident) => {
        Criteria {
            match_id: id($args.match_id),
            match_bits: $args.match_bits,
            ignore_bits: $args.ignore_bits,
        }
    };
}

/// Does a function with the arguments that its words are.
macro_rules! dispatch {
    ($bridge:ident, $function:expr, $words:expr; $($name:ident => $method:ident,)*) => {
        match $function {
            $(Function::$name => $bridge.$method(&args::$name::read($words)),)*
        }
    };
}

/// True for a function that asks nothing of the network interface: the library charges for none of these.
fn is_charged_here(function: Function) -> bool {
    use Function::*;
    matches!(
        function,
        Init | NiFini
            | NiStatus
            | NiDist
            | NiHandle
            | NiEqDump
            | GetUid
            | GetId
            | GetJid
            | GetRank
            | GetRankId
            | GetNidMap
            | GetPidMap
    )
}

/// Looks at one queue, in which there is nothing.
pub(super) fn look(ni: &Ni, queue: u32) -> Answer {
    ni.eq_get(eq(queue)).map(|_| ()).map_err(number)
}

/// Addresses for what is told of an event that is taken.
struct Taken {
    event: u64,
    /// Of the index of its queue.
    which: Option<u64>,
    /// Of the function that shall see it, if there is one.
    handler: u64,
    /// True if a look that finds nothing may let time pass.
    waits: bool,
}

impl Bridge {
    pub(super) fn dispatch(&self, function: Function, words: &[u64]) -> Answer {
        if is_charged_here(function) {
            self.kernel.charge_call(&self.cpu);
        }
        dispatch! { self, function, words;
            Init => init,
            Fini => fini,
            NiInit => ni_init,
            NiFini => ni_fini,
            NiStatus => ni_status,
            NiDist => ni_dist,
            NiHandle => ni_handle,
            NiEqDump => ni_eq_dump,
            GetUid => get_uid,
            GetId => get_id,
            GetJid => get_jid,
            GetRank => get_rank,
            GetRankId => get_rank_id,
            GetNidMap => get_nid_map,
            GetPidMap => get_pid_map,
            MeAttach => me_attach,
            MeAttachAny => me_attach_any,
            MeInsert => me_insert,
            MeMdPost => me_md_post,
            MeUnlink => me_unlink,
            MdAttach => md_attach,
            MdBind => md_bind,
            MdUpdate => md_update,
            MdUnlink => md_unlink,
            EqAlloc => eq_alloc,
            EqFree => eq_free,
            EqGet => eq_get,
            EqWait => eq_wait,
            EqWaitTimeout => eq_wait_timeout,
            EqPoll => eq_poll,
            AcEntry => ac_entry,
            Put => put,
            PutRegion => put_region,
            Get => get,
            GetRegion => get_region,
            GetPut => get_put,
            CGetPut => compare_get_put,
            GetAdd => get_add,
        }
    }

    fn init(&self, args: &args::Init) -> Answer {
        self.write_word(args.max_interfaces, 1)?;
        self.state.borrow_mut().initialized = true;
        Ok(())
    }

    fn fini(&self, _: &args::Fini) -> Answer {
        self.close();
        Ok(())
    }

    fn ni_init(&self, args: &args::NiInit) -> Answer {
        self.is_initialized()?;
        self.writable(&[args.ni_handle])?;
        const KBRIDGE: u32 = interface::IFACE_SS | interface::BRIDGE_KERN;
        let in_kernel = match args.interface {
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
                let pid = if args.pid == any::PID_ANY { chosen } else { args.pid };
                let ni = match in_kernel {
                    Some(space) => Ni::init_in_kernel(&self.cpu, &self.kernel, pid, space),
                    None => Ni::init(&self.cpu, &self.kernel, pid, self.space),
                };
                let ni = Rc::new(ni.map_err(number)?);
                self.state.borrow_mut().ni = Some(ni.clone());
                ni
            }
        };
        if args.actual != 0 {
            self.write_limits(args.actual, ni.limits())?;
        }
        self.write_word(args.ni_handle, NI_HANDLE)
    }

    fn ni_fini(&self, args: &args::NiFini) -> Answer {
        self.ni(args.ni_handle)?;
        self.close();
        self.state.borrow_mut().initialized = true;
        Ok(())
    }

    fn ni_status(&self, args: &args::NiStatus) -> Answer {
        let ni = self.ni(args.ni_handle)?;
        let counter = match args.register_index {
            register::SR_DROP_COUNT => StatusRegister::DropCount,
            register::SR_DROP_LENGTH => StatusRegister::DropLength,
            register::SR_RECV_COUNT => StatusRegister::RecvCount,
            register::SR_RECV_LENGTH => StatusRegister::RecvLength,
            register::SR_SEND_COUNT => StatusRegister::SendCount,
            register::SR_SEND_LENGTH => StatusRegister::SendLength,
            _ => return Err(code::SR_INDEX_INVALID),
        };
        self.write(args.status, &ni.ni_status(counter).to_le_bytes())
    }

    fn ni_dist(&self, args: &args::NiDist) -> Answer {
        let (ni, process) = (self.ni(args.ni_handle)?, id(args.process));
        if process.nid > u32::from(u16::MAX) {
            return Err(code::PROCESS_INVALID);
        }
        self.write(args.distance, &u64::from(ni.ni_dist(process)).to_le_bytes())
    }

    fn ni_eq_dump(&self, args: &args::NiEqDump) -> Answer {
        let ni = self.ni(args.ni_handle)?;
        let queue = ni.eq_dump(args.index as usize).ok_or(code::EQ_EMPTY)?;
        let words = [u64::from(queue.0.raw()), queue.1, queue.2];
        self.write(args.queue, &words.map(u64::to_le_bytes).concat())
    }

    fn ni_handle(&self, args: &args::NiHandle) -> Answer {
        let ni = self.open(code::HANDLE_INVALID)?;
        match args.handle {
            NI_HANDLE => {}
            raw if ni.owns(raw) => {}
            _ => return Err(code::HANDLE_INVALID),
        }
        self.write_word(args.ni_handle, NI_HANDLE)
    }

    fn get_uid(&self, args: &args::GetUid) -> Answer {
        let identity = self.ni(args.ni_handle)?.identity();
        self.write_word(args.uid, identity.uid)
    }

    fn get_jid(&self, args: &args::GetJid) -> Answer {
        let identity = self.ni(args.ni_handle)?.identity();
        self.write_word(args.jid, identity.jid)
    }

    fn get_id(&self, args: &args::GetId) -> Answer {
        let identity = self.ni(args.ni_handle)?.identity();
        self.write_id(args.id, identity.id)
    }

    fn get_rank(&self, args: &args::GetRank) -> Answer {
        self.ni(args.ni_handle)?;
        self.write_word(args.rank, self.party.rank)?;
        self.write_word(args.group_size, self.party.map.len() as u32)
    }

    fn get_rank_id(&self, args: &args::GetRankId) -> Answer {
        self.ni(args.ni_handle)?;
        let process = self.party.map.get(args.rank as usize).ok_or(code::PROCESS_INVALID)?;
        self.write_id(args.id, *process)
    }

    fn get_nid_map(&self, args: &args::GetNidMap) -> Answer {
        self.get_map(args, |id| id.nid)
    }

    fn get_pid_map(&self, args: &args::GetPidMap) -> Answer {
        self.get_map(args, |id| id.pid)
    }

    /// A part of the ids of all processes.
    fn get_map(&self, args: &args::GetNidMap, part: fn(&ProcessId) -> u32) -> Answer {
        self.ni(args.ni_handle)?;
        let map = &self.party.map;
        if args.group_size as usize != map.len() {
            return Err(code::FAIL);
        }
        let bytes: Vec<u8> = map.iter().flat_map(|id| part(id).to_le_bytes()).collect();
        self.write(args.map, &bytes)
    }

    fn me_attach(&self, args: &args::MeAttach) -> Answer {
        let ni = self.ni(args.ni_handle)?;
        self.writable(&[args.me_handle])?;
        let (unlink, position) = (when_used_up(args.unlink), place(args.position));
        let made = ni.me_attach(args.pt_index, criteria!(args), unlink, position);
        self.write_word(args.me_handle, made.map_err(number)?.raw())
    }

    fn me_attach_any(&self, args: &args::MeAttachAny) -> Answer {
        let ni = self.ni(args.ni_handle)?;
        self.writable(&[args.pt_index, args.me_handle])?;
        let made = ni.me_attach_any(criteria!(args), when_used_up(args.unlink));
        let made = made.map_err(number)?;
        self.write_word(args.pt_index, made.pt_index)?;
        self.write_word(args.me_handle, made.me.raw())
    }

    fn me_insert(&self, args: &args::MeInsert) -> Answer {
        let ni = self.open(code::ME_INVALID)?;
        self.writable(&[args.me_handle])?;
        let (unlink, position) = (when_used_up(args.unlink), place(args.position));
        let made = ni.me_insert(me(args.base), criteria!(args), unlink, position);
        self.write_word(args.me_handle, made.map_err(number)?.raw())
    }

    fn me_md_post(&self, args: &args::MeMdPost) -> Answer {
        let ni = self.ni(args.ni_handle)?;
        self.writable(&[args.me_handle, args.md_handle])?;
        let described = self.read_md(args.md)?;
        let (unlink, position) = (when_used_up(args.unlink), place(args.position));
        let (base, criteria) = (me(args.base), criteria!(args));
        let (unlink_md, test) = (when_used_up(args.unlink_op), eq(args.eq_handle));
        let made = ni.me_md_post(base, criteria, unlink, position, described, unlink_md, test);
        let made = made.map_err(number)?;
        self.write_word(args.me_handle, made.me.raw())?;
        self.write_word(args.md_handle, made.md.raw())
    }

    fn me_unlink(&self, args: &args::MeUnlink) -> Answer {
        self.open(code::ME_INVALID)?.me_unlink(me(args.me_handle)).map_err(number)
    }

    fn md_attach(&self, args: &args::MdAttach) -> Answer {
        let ni = self.open(code::ME_INVALID)?;
        self.writable(&[args.md_handle])?;
        let (entry, unlink) = (me(args.me_handle), when_used_up(args.unlink_op));
        let made = ni.md_attach(entry, self.read_md(args.md)?, unlink);
        self.write_word(args.md_handle, made.map_err(number)?.raw())
    }

    fn md_bind(&self, args: &args::MdBind) -> Answer {
        let ni = self.ni(args.ni_handle)?;
        self.writable(&[args.md_handle])?;
        let made = ni.md_bind(self.read_md(args.md)?, when_used_up(args.unlink_op));
        self.write_word(args.md_handle, made.map_err(number)?.raw())
    }

    fn md_update(&self, args: &args::MdUpdate) -> Answer {
        let ni = self.open(code::MD_INVALID)?;
        let new = if args.new_md == 0 { None } else { Some(self.read_md(args.new_md)?) };
        if args.old_md != 0 {
            self.writable(&[args.old_md])?;
        }
        let old = ni.md_update(md(args.md_handle), new, queue(args.eq_handle)).map_err(number)?;
        if args.old_md != 0 {
            self.write_md(args.old_md, &old)?;
        }
        Ok(())
    }

    fn md_unlink(&self, args: &args::MdUnlink) -> Answer {
        self.open(code::MD_INVALID)?.md_unlink(md(args.md_handle)).map_err(number)
    }

    fn eq_alloc(&self, args: &args::EqAlloc) -> Answer {
        let ni = self.ni(args.ni_handle)?;
        self.writable(&[args.eq_handle])?;
        if args.count == 0 {
            return self.write_word(args.eq_handle, handle::EQ_NONE);
        }
        let count = u32::try_from(args.count).map_err(|_| code::NO_SPACE)?;
        let eq = ni.eq_alloc(count).map_err(number)?.raw();
        if args.eq_handler != 0 {
            self.state.borrow_mut().handlers.push(Handler { queue: eq, function: args.eq_handler });
        }
        self.write_word(args.eq_handle, eq)
    }

    fn eq_free(&self, args: &args::EqFree) -> Answer {
        let ni = self.open(code::EQ_INVALID)?;
        ni.eq_free(eq(args.eq_handle)).map_err(number)?;
        self.state.borrow_mut().handlers.retain(|handler| handler.queue != args.eq_handle);
        Ok(())
    }

    fn eq_get(&self, args: &args::EqGet) -> Answer {
        let (waits, handler) = (args.waits != 0, args.handler);
        let taken = Taken { event: args.event, which: None, handler, waits };
        self.take(&[eq(args.eq_handle)], Some(Duration::ZERO), Function::EqGet, &taken)
    }

    fn eq_wait(&self, args: &args::EqWait) -> Answer {
        let taken = Taken { event: args.event, which: None, handler: args.handler, waits: false };
        self.take(&[eq(args.eq_handle)], None, Function::EqWait, &taken)
    }

    fn eq_wait_timeout(&self, args: &args::EqWaitTimeout) -> Answer {
        let (event, handler) = (args.event_out, args.handler);
        let taken = Taken { event, which: None, handler, waits: false };
        self.take(&[eq(args.eq_handle)], None, Function::EqWaitTimeout, &taken)
    }

    fn eq_poll(&self, args: &args::EqPoll) -> Answer {
        self.is_initialized()?;
        if args.size <= 0 || args.size > POLLED_MAX {
            return Err(code::EQ_INVALID);
        }
        let size = args.size as usize;
        let mut bytes = vec![0; size * 4];
        self.read(args.eq_handles, &mut bytes)?;
        let queues = (0..size).map(|index| EqHandle::from_raw(word(&bytes, index * 4)));
        let limit = match args.timeout {
            abi::portals::time::TIME_FOREVER => None,
            milliseconds => Some(Duration::from_us(u64::from(milliseconds) * 1000)),
        };
        let queues: Vec<_> = queues.collect();
        let (which, waits) = (Some(args.which_eq), args.waits != 0);
        let taken = Taken { event: args.event, which, handler: args.handler, waits };
        self.take(&queues, limit, Function::EqPoll, &taken)
    }

    /// Takes an event of the first queue that has one.
    fn take(
        &self,
        queues: &[EqHandle],
        limit: Option<Duration>,
        function: Function,
        into: &Taken,
    ) -> Answer {
        let ni = self.open(code::EQ_INVALID)?;
        self.writable(&[into.event])?;
        if let Some(which) = into.which {
            self.writable(&[which])?;
        }
        let mut taken = match (limit, queues) {
            (Some(Duration::ZERO), [queue]) => {
                ni.eq_get(*queue).map(|Next { event, dropped }| Polled { event, dropped, which: 0 })
            }
            _ => self.while_waiting(function.name(), || ni.eq_poll(queues, limit)),
        };
        if taken == Err(Error::EqEmpty) && limit == Some(Duration::ZERO) && into.waits {
            let most = self.watch_most.get();
            taken = self.while_waiting(function.name(), || ni.eq_watch(queues, most));
        }
        let taken = taken.map_err(number)?;
        self.write_event(into.event, &taken.event)?;
        if let Some(which) = into.which {
            self.write_word(which, taken.which as u32)?;
        }
        let state = self.state.borrow();
        let queue = queues[taken.which].raw();
        if let Some(found) = state.handlers.iter().find(|handler| handler.queue == queue) {
            self.write(into.handler, &found.function.to_le_bytes())?;
        }
        match taken.dropped {
            true => Err(code::EQ_DROPPED),
            false => Ok(()),
        }
    }

    fn ac_entry(&self, args: &args::AcEntry) -> Answer {
        let entry = AccessEntry {
            match_id: id(args.match_id),
            uid: args.user_id,
            jid: args.job_id,
            pt_index: args.pt_index,
        };
        self.ni(args.ni_handle)?.ac_entry(args.ac_index, entry).map_err(number)
    }
}
