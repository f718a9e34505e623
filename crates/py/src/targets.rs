//! Weights as targets use them, and Open vSwitch's own choice: for `anabranch plan` and `anabranch explain`.

use crate::error::{AnabranchError, plan};
use crate::splitter::members;
use crate::tuples::rows;
use anabranch_split::apportion::dp_hash::{Sizing, slots};
use anabranch_split::apportion::gravity::{gravity, quantise};
use anabranch_split::apportion::{linux_resilient, webster};
use anabranch_split::hash::{Hash, open_vswitch, toeplitz};
use anabranch_split::picks::mix;
use anabranch_split::picks::score16::{Bucket, Score16, score};
use anabranch_split::{Packet, Still, Weights, pick};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Converts weights to the integers that plans are made of.
#[pyfunction]
pub(crate) fn weight_integers(weights: Vec<String>) -> PyResult<Vec<u64>> {
    Ok(Weights::parse(&weights).map_err(plan)?.as_slice().to_vec())
}

/// Gravity of each weight, scaled so that the largest is `most`, rounded.
#[pyfunction]
pub(crate) fn gravity_weights(weights: Vec<String>, most: u32) -> PyResult<Vec<u32>> {
    Ok(quantise(&gravity(&members(&weights, None).map_err(plan)?.effective()), most))
}

/// Slots of each path by Webster's rule, at least one for a living path of positive weight.
#[pyfunction]
pub(crate) fn webster_slots(weights: Vec<String>, up: Vec<bool>, slots: u32) -> PyResult<Vec<u32>> {
    let weights = members(&weights, Some(up)).map_err(plan)?.effective();
    let living = weights.iter().filter(|&&w| w > 0).count();
    if living > slots as usize {
        let message =
            format!("slots: {slots} for {living} paths with a positive weight; give {living} or more");
        return Err(AnabranchError::new_err(message));
    }
    Ok(webster::webster(&weights, slots))
}

/// Number of values of each path if Linux rounds cumulative weights over `values` of a hash.
#[pyfunction]
pub(crate) fn cumulative_slots(weights: Vec<String>, up: Vec<bool>, values: u32) -> PyResult<Vec<u32>> {
    Ok(linux_resilient::desired(&members(&weights, Some(up)).map_err(plan)?.effective(), values))
}

/// Bucket of each slot of Open vSwitch's dp_hash table; `None` if it falls back to scoring.
#[pyfunction]
pub(crate) fn dp_hash_slots(weights: Vec<u16>, max_slots: u32, slots_per_bucket: u32) -> Option<Vec<u16>> {
    slots(&weights, Sizing { max: max_slots, per_bucket: slots_per_bucket })
}

/// Bytes that `hash_name` reads of each tuple; `None` for Open vSwitch's hashes, which read field by field.
#[pyfunction]
pub(crate) fn hash_input<'py>(
    py: Python<'py>,
    tuples: PyReadonlyArray2<'py, u8>,
    hash_name: &str,
) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
    let hash: Hash = hash_name.parse().map_err(plan)?;
    let mut buffer = [0; 37];
    let inputs = rows(&tuples)?.iter().map(|tuple| match hash {
        Hash::OvsSelection | Hash::OvsL4 | Hash::OvsSymL4 => None,
        Hash::Toeplitz => Some(PyBytes::new(py, toeplitz::input(tuple, &mut buffer))),
        _ => Some(PyBytes::new(py, tuple.packed(&mut buffer))),
    });
    Ok(inputs.collect())
}

/// Choice of a bucket: the basis, the hash value and score of each bucket in list order, and the index of the chosen
/// bucket.
type Choice = (u32, Vec<(u32, u32)>, u16);

/// Choice of `selection_method=hash` with `parameter` for each tuple; `buckets` are the ids and weights of the live
/// ones, `later_fragments` says which tuples are those of later fragments.
#[pyfunction]
pub(crate) fn ovs_select(
    tuples: PyReadonlyArray2<'_, u8>,
    later_fragments: Vec<bool>,
    buckets: Vec<(u32, u16)>,
    parameter: u64,
) -> PyResult<Vec<Choice>> {
    if buckets.is_empty() || buckets.iter().any(|&(_, weight)| weight == 0) {
        return Err(AnabranchError::new_err(
            "buckets: one has weight 0, or there are none; give live ones only",
        ));
    }
    let live = (0..)
        .zip(&buckets)
        .map(|(member, &(id, weight))| Bucket { salt: mix::open_vswitch::salt(id), weight, member })
        .collect::<Vec<_>>();
    let choose = |(tuple, later_fragment)| {
        let basis = if later_fragment {
            open_vswitch::selection_basis_of_later_fragment(tuple, parameter)
        } else {
            open_vswitch::selection_basis(tuple, parameter)
        };
        let packet = &mut Packet { flow: basis.into(), bytes: 1, ..Packet::default() };
        let chosen = pick::<Score16, _>(&live[..], &mut (), packet, &mut Still);
        let scores = live.iter().map(|b| (mix::open_vswitch::value(basis, b.salt) & 0xffff, score(basis, b)));
        (basis, scores.collect(), chosen)
    };
    Ok(rows(&tuples)?.iter().zip(later_fragments).map(choose).collect())
}
