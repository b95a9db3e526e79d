//! Buffered sends. The message is copied into library memory; the buffer that the program attaches
//! says how much may be on its way at a time, and nothing is stored in it.

use super::arguments::count;
use super::handler::{Answer, Begun};
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::request::point_to_point::Envelope;
use crate::request::waiting::Whose;
use crate::request::Direction;
use crate::transport::Mode;
use abi::mpi::args;

impl Process {
    /// Forgets the buffered sends that are over; the bytes that the others take.
    fn prune_buffered(&mut self) -> u64 {
        self.side.attached.prune(&mut self.p2p.requests)
    }

    fn wait_for_buffered(&mut self) -> Result<()> {
        let ids: Vec<_> = self.side.attached.pending.iter().map(|&(id, _)| id).collect();
        self.wait_all(&ids, Whose::Earlier)?;
        self.prune_buffered();
        Ok(())
    }

    fn room_for(&mut self, bytes: u64) -> Result<u64> {
        let need = bytes + constant::BSEND_OVERHEAD as u64;
        let used = self.prune_buffered();
        let size = match self.side.attached.buffer {
            Some((constant::BUFFER_AUTOMATIC, _)) => return Ok(need),
            Some((_, size)) => size,
            None => 0,
        };
        if used + need <= size {
            return Ok(need);
        }
        self.progress();
        if self.prune_buffered() + need <= size {
            return Ok(need);
        }
        let text =
            format!("a message of {bytes} bytes does not fit in the attached buffer of {size}");
        Err(Error::new(constant::ERR_BUFFER, text))
    }
}

/// It is over for the program at once.
pub(super) fn begin(mpi: &mut Process, args: &args::Ibsend) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let items = mpi.items(args.buf, args.count, args.datatype)?;
    let (peer, tag) = (args.dest, args.tag);
    if mpi.p2p.may_send(peer, tag, comm)? {
        let need = mpi.room_for(items.bytes())?;
        let to = Envelope { comm, collective: false, peer, tag };
        let id = mpi.p2p.send_copy(to, &items, Mode::Standard)?;
        mpi.side.attached.pending.push((id, need));
    }
    Ok(mpi.p2p.nothing(Direction::Send, comm))
}

pub(super) fn bsend(mpi: &mut Process, args: &args::Bsend) -> Answer {
    let id = begin(mpi, args)?;
    mpi.finish(id, Whose::Own).map(|_| ())
}

pub(super) fn attach(mpi: &mut Process, args: &args::BufferAttach) -> Answer {
    if mpi.side.attached.buffer.is_some() {
        let text = "a buffer is attached already (MPI_Buffer_detach)";
        return Err(Error::new(constant::ERR_BUFFER, text));
    }
    mpi.side.attached.buffer = Some((args.buffer, count(args.size, "size")?));
    Ok(())
}

pub(super) fn detach<const W: usize>(mpi: &mut Process, args: &args::BufferDetach) -> Answer {
    mpi.wait_for_buffered()?;
    let Some((va, size)) = mpi.side.attached.buffer.take() else {
        return Err(Error::new(constant::ERR_BUFFER, "no buffer is attached"));
    };
    mpi.put_word(args.buffer_addr, "the buffer", va)?;
    mpi.put_numbers::<W>(args.size, "the size", &[size as i64])
}

pub(super) fn flush(mpi: &mut Process, _: &args::BufferFlush) -> Answer {
    mpi.wait_for_buffered()?;
    Ok(())
}
