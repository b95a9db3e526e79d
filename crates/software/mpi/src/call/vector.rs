//! Parts that calls name with arrays: counts, displacements, and sometimes datatypes.

use crate::constant;
use crate::datatype::items::Items;
use crate::error::Result;
use crate::process::Process;
use abi::mpi::args;

/// Addresses of a buffer and of arrays with an entry for each part.
#[derive(Clone, Copy)]
pub(super) struct Vector {
    buffer: u64,
    counts: u64,
    places: u64,
    /// The datatype of all parts, or the address of an array of datatypes.
    datatype: u64,
}

impl Vector {
    /// The parts; the displacements are in items. Each number has `W` bytes.
    pub fn items<const W: usize>(self, mpi: &Process, parts: u64) -> Result<Vec<Items>> {
        let counts = mpi.counts::<W>(self.counts, parts, "the counts")?;
        let places = mpi.numbers::<W>(self.places, parts, "the displacements")?;
        let extent = mpi.datatype(self.datatype)?.extent;
        let parts = counts.iter().zip(places).map(|(&count, place)| {
            let va = self.buffer.wrapping_add_signed(place.wrapping_mul(extent));
            mpi.items(va, count as i64, self.datatype)
        });
        parts.collect()
    }

    /// The parts, each of its own datatype; the displacements are in bytes, and have `P` of them.
    pub fn items_of_types<const W: usize, const P: usize>(
        self,
        mpi: &Process,
        parts: u64,
    ) -> Result<Vec<Items>> {
        let counts = mpi.counts::<W>(self.counts, parts, "the counts")?;
        let places = mpi.numbers::<P>(self.places, parts, "the displacements")?;
        let types = mpi.numbers::<8>(self.datatype, parts, "the datatypes")?;
        let parts = counts.iter().zip(places).zip(types).map(|((&count, place), datatype)| {
            // A type that is not used need not be one.
            let datatype = if count == 0 { constant::BYTE } else { datatype as u64 };
            mpi.items(self.buffer.wrapping_add_signed(place), count as i64, datatype)
        });
        parts.collect()
    }
}

/// Arguments with parts to send.
pub(super) trait Sends {
    /// These parts.
    fn sent(&self) -> Vector;
}

/// Arguments with parts to receive.
pub(super) trait Receives {
    /// These parts.
    fn received(&self) -> Vector;
}

macro_rules! vectors {
    ($($side:ident::$name:ident of $args:ident: $($field:ident)*;)*) => {$(
        impl $side for args::$args {
            fn $name(&self) -> Vector {
                vectors!(@ self $($field)*)
            }
        }
    )*};
    (@ $args:ident $buffer:ident $counts:ident $places:ident $datatype:ident) => {
        Vector {
            buffer: $args.$buffer,
            counts: $args.$counts,
            places: $args.$places,
            datatype: $args.$datatype,
        }
    };
}

vectors! {
    Sends::sent of Scatterv: sendbuf sendcounts displs sendtype;
    Sends::sent of Alltoallv: sendbuf sendcounts sdispls sendtype;
    Sends::sent of Alltoallw: sendbuf sendcounts sdispls sendtypes;
    Receives::received of Gatherv: recvbuf recvcounts displs recvtype;
    Receives::received of Allgatherv: recvbuf recvcounts displs recvtype;
    Receives::received of Alltoallv: recvbuf recvcounts rdispls recvtype;
    Receives::received of Alltoallw: recvbuf recvcounts rdispls recvtypes;
}
