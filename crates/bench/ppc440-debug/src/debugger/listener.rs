//! The port at which a debugger is waited for.

use super::conversation::Remote;
use super::session::{Session, BACKLOG};
use super::{Debugger, Watch};
use des::Time;
use machine::models::check_node;
use machine::parameters::Parameters;
use machine::{Options, UsageError};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// A port of this computer, at which the processor of one node waits for gdb.
#[derive(Debug)]
pub struct Listener {
    nid: u32,
    port: u16,
    /// Kept until the run has begun.
    listener: Mutex<Option<TcpListener>>,
}

impl Listener {
    /// Opens `port` (0: one that is free) for gdb on node `nid` of a machine for `ranks` ranks. Nobody
    /// outside of this computer can connect.
    pub fn open(
        parameters: &Parameters,
        ranks: u32,
        nid: u32,
        port: u16,
    ) -> Result<Listener, UsageError> {
        check_node(parameters, ranks, "--gdb", nid)?;
        let opened = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|listener| {
            // A thread that waits must be able to give up.
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?.port(), listener))
        });
        let failed =
            |why| UsageError::sentence(format!("cannot wait for gdb at port {port}: {why}"));
        let (port, listener) = opened.map_err(failed)?;
        Ok(Listener { nid, port, listener: Mutex::new(Some(listener)) })
    }

    /// The node whose processor waits.
    pub fn node(&self) -> u32 {
        self.nid
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits for gdb from now on, in threads of its own, on a machine of `nodes` nodes. The debugger belongs
    /// to the node.
    fn wait(
        &self,
        options: &Options,
        nodes: u32,
        launch: Time,
    ) -> Result<(Session, Debugger), UsageError> {
        let facts = options.facts(self.nid, nodes, launch);
        let (requests_in, requests) = channel();
        let (replies, replies_out) = channel();
        let (events, incoming) = sync_channel(BACKLOG);
        let interrupt = Arc::<AtomicBool>::default();
        let remote = Remote {
            requests: requests_in,
            replies: replies_out,
            interrupt: Arc::clone(&interrupt),
        };
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        let session = Session::start(listener, remote, incoming, events.clone())
            .map_err(|why| UsageError::sentence(format!("--gdb: cannot start a thread: {why}")))?;
        let debugger = Debugger {
            watch: Watch::new(Arc::clone(&interrupt)),
            facts,
            park: options.shortcuts.park,
            warned: false,
            requests,
            replies,
            events,
            interrupt,
            stop: Arc::clone(&options.stop),
        };
        Ok((session, debugger))
    }
}

/// gdb's visit to a run: who waits at the door, and for which node.
pub struct Visit {
    nid: u32,
    session: Session,
    /// Kept until the node is built.
    debugger: Mutex<Option<Debugger>>,
}

impl Visit {
    /// Waits from now on, if that was requested.
    pub fn expected(
        options: &Options,
        nodes: u32,
        launch: Time,
    ) -> Result<Option<Visit>, UsageError> {
        let listener =
            options.observers.inspector.as_ref().and_then(|inspector| inspector.of::<Listener>());
        let visit = |listener: Arc<Listener>| {
            let (session, debugger) = listener.wait(options, nodes, launch)?;
            Ok(Visit { nid: listener.node(), session, debugger: Mutex::new(Some(debugger)) })
        };
        listener.map(visit).transpose()
    }

    /// The debugger of node `nid`, once, if that is the one.
    pub fn debugger(&self, nid: u32) -> Option<Debugger> {
        let mut debugger = self.debugger.lock().unwrap_or_else(PoisonError::into_inner);
        debugger.take_if(|_| self.nid == nid)
    }

    /// Tells gdb how the run has ended.
    pub fn end(self, code: i32) {
        self.session.end(code);
    }
}
