//! Arrays of 5-tuples, and keys of them.

use crate::error::{AnabranchError, plan};
use anabranch_split::FiveTuple;
use anabranch_split::hash::Hash;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

const _: () = assert!(size_of::<FiveTuple>() == FiveTuple::SIZE && align_of::<FiveTuple>() == 1);

/// The rows of a contiguous array of shape (n, 38), seen as tuples.
pub(crate) fn rows<'a>(tuples: &'a PyReadonlyArray2<'_, u8>) -> PyResult<&'a [FiveTuple]> {
    let contiguous = tuples.as_slice().ok().filter(|_| tuples.shape()[1] == FiveTuple::SIZE);
    let bytes = contiguous.ok_or_else(|| {
        AnabranchError::new_err("tuples: not a contiguous array of FIVE_TUPLE; make one with five_tuples")
    })?;
    let (rows, _) = bytes.as_chunks::<{ FiveTuple::SIZE }>();
    // SAFETY: FiveTuple is repr(C), made of bytes only, of the same size and alignment as [u8; 38] (asserted
    // above), and every pattern of bytes is a value of it.
    Ok(unsafe { std::slice::from_raw_parts(rows.as_ptr().cast(), rows.len()) })
}

/// Keys of tuples given as bytes of shape (n, 38).
#[pyfunction]
pub(crate) fn flow_keys<'py>(
    py: Python<'py>,
    tuples: PyReadonlyArray2<'py, u8>,
    hash_name: &str,
    seed: u32,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let hash: Hash = hash_name.parse().map_err(plan)?;
    let rows = rows(&tuples)?;
    let keys = PyArray1::zeros(py, rows.len(), false);
    {
        let mut writable = keys.readwrite();
        let out = writable.as_slice_mut()?;
        py.detach(|| hash.keys(rows, seed, out));
    }
    Ok(keys)
}

/// Name, width in bits, and factor from result to key of every hash.
#[pyfunction]
pub(crate) fn hashes() -> Vec<(&'static str, u32, u32)> {
    Hash::ALL.iter().map(|hash| (hash.name(), hash.bits(), hash.factor())).collect()
}
