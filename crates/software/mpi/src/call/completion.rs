//! Requests: waiting, testing, cancelling, freeing.

use super::arguments::count;
use super::handler::Answer;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::request::waiting::Whose;
use crate::request::{RequestId, Status};
use abi::mpi::args;

/// Handles of an array of requests, and the requests that are not null, by index.
struct Array {
    va: u64,
    handles: Vec<u64>,
    live: Vec<(usize, RequestId)>,
}

impl Array {
    fn read(mpi: &Process, number: i32, va: u64) -> Result<Array> {
        let handles = mpi.numbers::<8>(va, count(number, "count")?, "the requests")?;
        let handles: Vec<u64> = handles.into_iter().map(|handle| handle as u64).collect();
        let mut live = Vec::with_capacity(handles.len());
        for (index, &handle) in handles.iter().enumerate() {
            let request = mpi.request_of(handle).map_err(|error| {
                Error::new(error.class, format!("entry {index} of the array: {error}"))
            })?;
            live.extend(request.map(|request| (index, request)));
        }
        let array = Array { va, handles, live };
        array.check_distinct().map(|()| array)
    }
    /// A request can end only once: an error if one is in the array twice.
    fn check_distinct(&self) -> Result<()> {
        let mut order: Vec<(u64, usize)> =
            self.live.iter().map(|&(index, _)| (self.handles[index], index)).collect();
        order.sort_unstable();
        let Some(same) = order.windows(2).find(|pair| pair[0].0 == pair[1].0) else {
            return Ok(());
        };
        let (one, other) = (same[0].1, same[1].1);
        let text = format!("entries {one} and {other} of the array are the same request");
        Err(Error::new(constant::ERR_REQUEST, text))
    }
    fn ids(&self) -> Vec<RequestId> {
        self.live.iter().map(|&(_, id)| id).collect()
    }
    /// The request at `index` is no more.
    fn forget(&mut self, mpi: &mut Process, index: usize) {
        self.handles[index] = ended(mpi, self.handles[index]);
    }
    /// Stores the handles as they are now.
    fn write(&self, mpi: &Process) -> Result<()> {
        let bytes: Vec<u8> = self.handles.iter().flat_map(|handle| handle.to_le_bytes()).collect();
        mpi.write(self.va, &bytes)
    }
}

/// New handle of a request that is complete: that of a persistent request stays.
fn ended(mpi: &mut Process, handle: u64) -> u64 {
    mpi.side.handles.remove(handle);
    if mpi.side.persistent.has(handle) {
        handle
    } else {
        constant::REQUEST_NULL
    }
}

fn is_complete(mpi: &Process, id: RequestId) -> bool {
    mpi.p2p.requests.get(id).is_complete()
}

/// Takes the one request of a call; its handle becomes null, its status is stored.
fn end_one(
    mpi: &mut Process,
    id: RequestId,
    handle: u64,
    handle_va: u64,
    status_va: u64,
) -> Answer {
    mpi.side.blame = mpi.p2p.requests.get(id).comm;
    let (status, result) = mpi.p2p.take(id);
    let handle = ended(mpi, handle);
    mpi.put_word(handle_va, "the request", handle)?;
    mpi.put_status(status_va, &status)?;
    result
}

pub(super) fn wait(mpi: &mut Process, args: &args::Wait) -> Answer {
    let handle = mpi.get_word(args.request, "the request")?;
    let Some(id) = mpi.request_of(handle)? else {
        return mpi.put_status(args.status, &Status::EMPTY);
    };
    mpi.wait_all(&[id], Whose::Earlier)?;
    end_one(mpi, id, handle, args.request, args.status)
}

pub(super) fn test(mpi: &mut Process, args: &args::Test) -> Answer {
    let handle = mpi.get_word(args.request, "the request")?;
    mpi.progress();
    let Some(id) = mpi.request_of(handle)? else {
        mpi.put_int(args.flag, "the flag", 1)?;
        return mpi.put_status(args.status, &Status::EMPTY);
    };
    let done = is_complete(mpi, id);
    mpi.put_int(args.flag, "the flag", i32::from(done))?;
    if done {
        end_one(mpi, id, handle, args.request, args.status)
    } else {
        Ok(())
    }
}

/// Takes the requests at `which`; statuses in that order. One that failed makes the call fail.
fn end_some(
    mpi: &mut Process,
    array: &mut Array,
    which: &[(usize, RequestId)],
) -> (Vec<Status>, Answer) {
    let mut statuses = Vec::with_capacity(which.len());
    let mut answer = Ok(());
    for &(index, id) in which {
        let comm = mpi.p2p.requests.get(id).comm;
        let (status, result) = mpi.p2p.take(id);
        array.forget(mpi, index);
        statuses.push(status);
        if let (Ok(()), Err(error)) = (&answer, result) {
            mpi.side.blame = comm;
            answer = Err(Error::new(constant::ERR_IN_STATUS, error.text));
        }
    }
    (statuses, answer)
}

/// Takes all requests of an array that are complete: `waitall` and `testall`.
fn end_all(mpi: &mut Process, mut array: Array, statuses_va: u64) -> Answer {
    let live = std::mem::take(&mut array.live);
    let (ended, answer) = end_some(mpi, &mut array, &live);
    let mut statuses = vec![Status::EMPTY; array.handles.len()];
    for (&(index, _), status) in live.iter().zip(ended) {
        statuses[index] = status;
    }
    array.write(mpi)?;
    mpi.put_statuses(statuses_va, &statuses)?;
    answer
}

pub(super) fn waitall(mpi: &mut Process, args: &args::Waitall) -> Answer {
    let array = Array::read(mpi, args.count, args.array_of_requests)?;
    mpi.wait_all(&array.ids(), Whose::Earlier)?;
    end_all(mpi, array, args.array_of_statuses)
}

pub(super) fn testall(mpi: &mut Process, args: &args::Testall) -> Answer {
    let array = Array::read(mpi, args.count, args.array_of_requests)?;
    mpi.progress();
    let done = array.live.iter().all(|&(_, id)| is_complete(mpi, id));
    mpi.put_int(args.flag, "the flag", i32::from(done))?;
    if done {
        end_all(mpi, array, args.array_of_statuses)
    } else {
        Ok(())
    }
}

/// Takes the first complete request: `waitany` and `testany`. False if there is none.
fn end_any(mpi: &mut Process, array: &Array, index_va: u64, status_va: u64) -> Result<bool> {
    let Some(&(index, id)) = array.live.iter().find(|&&(_, id)| is_complete(mpi, id)) else {
        return Ok(false);
    };
    mpi.put_int(index_va, "the index", index as i32)?;
    let (handle, handle_va) = (array.handles[index], array.va.wrapping_add(8 * index as u64));
    end_one(mpi, id, handle, handle_va, status_va).map(|()| true)
}

pub(super) fn waitany(mpi: &mut Process, args: &args::Waitany) -> Answer {
    let array = Array::read(mpi, args.count, args.array_of_requests)?;
    if array.live.is_empty() {
        mpi.put_int(args.indx, "the index", constant::UNDEFINED)?;
        return mpi.put_status(args.status, &Status::EMPTY);
    }
    mpi.wait_some(&array.ids())?;
    end_any(mpi, &array, args.indx, args.status).map(|_| ())
}

pub(super) fn testany(mpi: &mut Process, args: &args::Testany) -> Answer {
    let array = Array::read(mpi, args.count, args.array_of_requests)?;
    mpi.progress();
    if array.live.is_empty() {
        mpi.put_int(args.indx, "the index", constant::UNDEFINED)?;
        mpi.put_int(args.flag, "the flag", 1)?;
        return mpi.put_status(args.status, &Status::EMPTY);
    }
    let any = array.live.iter().any(|&(_, id)| is_complete(mpi, id));
    mpi.put_int(args.flag, "the flag", i32::from(any))?;
    if !any {
        mpi.put_int(args.indx, "the index", constant::UNDEFINED)?;
    }
    end_any(mpi, &array, args.indx, args.status).map(|_| ())
}

/// Takes every complete request: `waitsome` and `testsome`.
fn take_some(mpi: &mut Process, mut array: Array, args: &args::Waitsome) -> Answer {
    let live = std::mem::take(&mut array.live);
    let which: Vec<_> = live.into_iter().filter(|&(_, id)| is_complete(mpi, id)).collect();
    let (statuses, answer) = end_some(mpi, &mut array, &which);
    array.write(mpi)?;
    mpi.put_int(args.outcount, "the number completed", which.len() as i32)?;
    let indices: Vec<u8> = which.iter().flat_map(|w| (w.0 as i32).to_le_bytes()).collect();
    mpi.write(args.array_of_indices, &indices)?;
    mpi.put_statuses(args.array_of_statuses, &statuses)?;
    answer
}

pub(super) fn waitsome(mpi: &mut Process, args: &args::Waitsome) -> Answer {
    let array = Array::read(mpi, args.incount, args.array_of_requests)?;
    if array.live.is_empty() {
        return mpi.put_int(args.outcount, "the number completed", constant::UNDEFINED);
    }
    mpi.wait_some(&array.ids())?;
    take_some(mpi, array, args)
}

pub(super) fn testsome(mpi: &mut Process, args: &args::Testsome) -> Answer {
    let array = Array::read(mpi, args.incount, args.array_of_requests)?;
    mpi.progress();
    if array.live.is_empty() {
        return mpi.put_int(args.outcount, "the number completed", constant::UNDEFINED);
    }
    take_some(mpi, array, args)
}

/// The request whose address is given; null is not allowed.
fn named(mpi: &mut Process, va: u64) -> Result<(u64, RequestId)> {
    let handle = mpi.get_word(va, "the request")?;
    let id = mpi
        .request_of(handle)?
        .ok_or_else(|| Error::new(constant::ERR_REQUEST, "the request is MPI_REQUEST_NULL"))?;
    Ok((handle, id))
}

pub(super) fn cancel(mpi: &mut Process, args: &args::Cancel) -> Answer {
    let (_, id) = named(mpi, args.request)?;
    mpi.p2p.withdraw(id);
    Ok(())
}

pub(super) fn test_cancelled(mpi: &mut Process, args: &args::TestCancelled) -> Answer {
    let (_, cancelled) = mpi.get_status(args.status)?;
    mpi.put_int(args.flag, "the flag", i32::from(cancelled))
}

pub(super) fn status_set_cancelled(mpi: &mut Process, args: &args::StatusSetCancelled) -> Answer {
    mpi.set_status_cancelled(args.status, args.flag != 0)
}

pub(super) fn request_free(mpi: &mut Process, args: &args::RequestFree) -> Answer {
    let handle = mpi.get_word(args.request, "the request")?;
    let active = mpi.request_of(handle)?;
    if !mpi.free_persistent(handle)? && active.is_none() {
        return Err(Error::new(constant::ERR_REQUEST, "the request is MPI_REQUEST_NULL"));
    }
    if let Some(id) = active {
        mpi.side.handles.remove(handle);
        mpi.p2p.abandon(id);
    }
    mpi.put_word(args.request, "the request", constant::REQUEST_NULL)
}

pub(super) fn request_get_status(mpi: &mut Process, args: &args::RequestGetStatus) -> Answer {
    mpi.progress();
    let status = match mpi.request_of(args.request)? {
        None => Some(Status::EMPTY),
        Some(id) => {
            let request = mpi.p2p.requests.get(id);
            request.is_complete().then_some(request.status)
        }
    };
    mpi.put_int(args.flag, "the flag", i32::from(status.is_some()))?;
    status.map_or(Ok(()), |status| mpi.put_status(args.status, &status))
}

/// The status of a request that is complete; a null one is.
fn status_of(mpi: &Process, handle: u64) -> Result<Option<Status>> {
    let Some(id) = mpi.request_of(handle)? else { return Ok(Some(Status::EMPTY)) };
    let request = mpi.p2p.requests.get(id);
    Ok(request.is_complete().then_some(request.status))
}

pub(super) fn request_get_status_all(
    mpi: &mut Process,
    args: &args::RequestGetStatusAll,
) -> Answer {
    mpi.progress();
    let array = Array::read(mpi, args.count, args.array_of_requests)?;
    let statuses = array.handles.iter().map(|&handle| status_of(mpi, handle));
    let statuses: Option<Vec<Status>> = statuses.collect::<Result<Vec<_>>>()?.into_iter().collect();
    mpi.put_int(args.flag, "the flag", i32::from(statuses.is_some()))?;
    statuses.map_or(Ok(()), |statuses| mpi.put_statuses(args.array_of_statuses, &statuses))
}

pub(super) fn request_get_status_any(
    mpi: &mut Process,
    args: &args::RequestGetStatusAny,
) -> Answer {
    mpi.progress();
    let array = Array::read(mpi, args.count, args.array_of_requests)?;
    let done = array.live.iter().find(|&&(_, id)| is_complete(mpi, id));
    let (index, flag, status) = match done {
        Some(&(index, id)) => (index as i32, true, mpi.p2p.requests.get(id).status),
        None => (constant::UNDEFINED, array.live.is_empty(), Status::EMPTY),
    };
    mpi.put_int(args.indx, "the index", index)?;
    mpi.put_int(args.flag, "the flag", i32::from(flag))?;
    if flag {
        mpi.put_status(args.status, &status)?;
    }
    Ok(())
}

pub(super) fn request_get_status_some(
    mpi: &mut Process,
    args: &args::RequestGetStatusSome,
) -> Answer {
    mpi.progress();
    let array = Array::read(mpi, args.incount, args.array_of_requests)?;
    if array.live.is_empty() {
        return mpi.put_int(args.outcount, "the number completed", constant::UNDEFINED);
    }
    let done: Vec<_> = array.live.iter().filter(|&&(_, id)| is_complete(mpi, id)).collect();
    let indices: Vec<i64> = done.iter().map(|live| live.0 as i64).collect();
    let statuses: Vec<Status> =
        done.iter().map(|live| mpi.p2p.requests.get(live.1).status).collect();
    mpi.put_int(args.outcount, "the number completed", indices.len() as i32)?;
    mpi.put_numbers::<4>(args.array_of_indices, "the indices", &indices)?;
    mpi.put_statuses(args.array_of_statuses, &statuses)
}
