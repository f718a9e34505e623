//! One technique over one group, driven with NumPy arrays.

use crate::error::{AnabranchError, plan};
use anabranch_split::technique::TECHNIQUES;
use anabranch_split::{Batch, Granularity, Group, Members, Parameters, PlanError, SlowStart, Weights};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

/// A planned group: see `anabranch.Splitter`.
#[pyclass(frozen, module = "anabranch._core")]
pub(crate) struct Splitter {
    pub(crate) group: Group,
}

/// Makes the group of `weights`; all members are alive if `up` is not given.
pub(crate) fn members(weights: &[String], up: Option<Vec<bool>>) -> Result<Members, PlanError> {
    let weights = Weights::parse(weights)?;
    match up {
        None => Ok(Members::all_up(weights)),
        Some(up) => Members::new(weights, up),
    }
}

/// Members with new weights, all alive if `up` is not given, or with the weights before, and those down that were.
fn asked(
    before: &Members,
    weights: Option<Vec<String>>,
    up: Option<Vec<bool>>,
) -> Result<Members, PlanError> {
    match (weights, up) {
        (Some(weights), up) => members(&weights, up),
        (None, Some(up)) => Members::new(before.weights().clone(), up),
        (None, None) => Members::new(before.weights().clone(), before.up().to_vec()),
    }
}

pub(crate) fn granularity_name(granularity: Granularity) -> &'static str {
    match granularity {
        Granularity::Stateless => "stateless",
        Granularity::Flow => "flow",
        Granularity::Packet => "packet",
    }
}

/// Borrows a contiguous column of `len` values, if it is given.
pub(crate) fn column<'a, T: numpy::Element>(
    name: &str,
    array: Option<&'a PyReadonlyArray1<'_, T>>,
    len: usize,
) -> PyResult<&'a [T]> {
    let Some(array) = array else { return Ok(&[]) };
    let slice = array.as_slice().map_err(|_| {
        AnabranchError::new_err(format!("{name}: not contiguous; use numpy.ascontiguousarray"))
    })?;
    if slice.len() == len {
        Ok(slice)
    } else {
        let message = format!("{name}: {} values for {len} keys; give one per key", slice.len());
        Err(AnabranchError::new_err(message))
    }
}

#[pymethods]
impl Splitter {
    #[new]
    #[pyo3(signature = (technique, weights, up=None, parameters=None))]
    fn new(
        technique: &str,
        weights: Vec<String>,
        up: Option<Vec<bool>>,
        parameters: Option<BTreeMap<String, String>>,
    ) -> PyResult<Self> {
        let members = members(&weights, up).map_err(plan)?;
        let parameters = Parameters::new(parameters.unwrap_or_default());
        Ok(Self { group: Group::new(technique, &members, &parameters).map_err(plan)? })
    }

    #[getter]
    fn technique(&self) -> &'static str {
        self.group.technique()
    }

    #[getter]
    fn granularity(&self) -> &'static str {
        granularity_name(self.group.granularity())
    }

    #[getter]
    fn paths(&self, py: Python<'_>) -> usize {
        py.detach(|| self.group.members().len())
    }

    #[staticmethod]
    fn restore(py: Python<'_>, snapshot: &[u8]) -> PyResult<Self> {
        Ok(Self { group: py.detach(|| Group::restore(snapshot)).map_err(plan)? })
    }

    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &py.detach(|| self.group.snapshot()).map_err(plan)?))
    }

    /// Number of updates, and the digest as 32 hexadecimal digits.
    fn revision(&self, py: Python<'_>) -> PyResult<(u64, String)> {
        let revision = py.detach(|| self.group.revision()).map_err(plan)?;
        Ok((revision.updates, format!("{:032x}", revision.digest)))
    }

    fn delta<'py>(&self, py: Python<'py>, base: PyRef<'py, Self>) -> PyResult<Bound<'py, PyBytes>> {
        let base = &base.group;
        Ok(PyBytes::new(py, &py.detach(|| self.group.delta(base)).map_err(plan)?))
    }

    fn adopt(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
        py.detach(|| self.group.adopt(bytes)).map_err(plan)
    }

    /// A group with the same plan and state, and its own from then on.
    fn copy(&self, py: Python<'_>) -> Self {
        Self { group: py.detach(|| self.group.clone()) }
    }

    #[pyo3(signature = (keys, out=None, bytes=None, times_ns=None))]
    fn pick<'py>(
        &self,
        py: Python<'py>,
        keys: PyReadonlyArray1<'py, u64>,
        out: Option<Bound<'py, PyArray1<u16>>>,
        bytes: Option<PyReadonlyArray1<'py, u32>>,
        times_ns: Option<PyReadonlyArray1<'py, u64>>,
    ) -> PyResult<Bound<'py, PyArray1<u16>>> {
        let flows = column("keys", Some(&keys), keys.len()?)?;
        let bytes = column("bytes", bytes.as_ref(), flows.len())?;
        let times_ns = column("times_ns", times_ns.as_ref(), flows.len())?;
        let out = out.unwrap_or_else(|| PyArray1::zeros(py, flows.len(), false));
        {
            let mut writable: PyReadwriteArray1<'_, u16> = out.try_readwrite().map_err(|_| {
                AnabranchError::new_err("out: not writable, or in use; give an array of its own")
            })?;
            let slots = writable.as_slice_mut().map_err(|_| {
                AnabranchError::new_err("out: not contiguous; use numpy.empty(len(keys), numpy.uint16)")
            })?;
            if slots.len() != flows.len() {
                let message =
                    format!("out: {} places for {} keys; give one per key", slots.len(), flows.len());
                return Err(AnabranchError::new_err(message));
            }
            let batch = Batch { flows, bytes, times_ns };
            py.detach(|| self.group.pick_batch(&batch, slots));
        }
        Ok(out)
    }

    /// Picks for one new connection after the other, and counts each in `loads`.
    fn pick_bounded<'py>(
        &self,
        py: Python<'py>,
        keys: PyReadonlyArray1<'py, u64>,
        mut loads: PyReadwriteArray1<'py, u64>,
        eps: f64,
    ) -> PyResult<Bound<'py, PyArray1<u16>>> {
        let flows = column("keys", Some(&keys), keys.len()?)?;
        let loads = loads
            .as_slice_mut()
            .map_err(|_| AnabranchError::new_err("loads: not contiguous; use numpy.ascontiguousarray"))?;
        let picked = py.detach(|| {
            let mut counted = loads.to_vec();
            let mut place = |&flow: &u64| {
                let member = self.group.pick_bounded(flow, &counted, eps)?;
                counted[usize::from(member)] += 1;
                Ok(member)
            };
            let picked = flows.iter().map(&mut place).collect::<Result<Vec<_>, _>>()?;
            loads.copy_from_slice(&counted);
            Ok(picked)
        });
        Ok(PyArray1::from_vec(py, picked.map_err(plan)?))
    }

    /// Nanoseconds of each of `repetitions` picks of all `keys`.
    fn time_pick(
        &self,
        py: Python<'_>,
        keys: PyReadonlyArray1<'_, u64>,
        bytes: Option<PyReadonlyArray1<'_, u32>>,
        repetitions: usize,
    ) -> PyResult<Vec<f64>> {
        let flows = column("keys", Some(&keys), keys.len()?)?;
        let batch = Batch { flows, bytes: column("bytes", bytes.as_ref(), flows.len())?, times_ns: &[] };
        let mut out = vec![0; flows.len()];
        Ok(py.detach(|| {
            let mut once = || {
                let began = Instant::now();
                self.group.pick_batch(&batch, &mut out);
                black_box(&mut out);
                began.elapsed().as_secs_f64() * 1e9
            };
            once(); // Flow tables fill, caches warm.
            (0..repetitions).map(|_| once()).collect()
        }))
    }

    /// Nanoseconds of each of `repetitions` passes of a copy over `keys`, one packet after the other: each decision waits
    /// for the one before.
    fn time_chain(
        &self,
        py: Python<'_>,
        keys: PyReadonlyArray1<'_, u64>,
        repetitions: usize,
    ) -> PyResult<Vec<f64>> {
        let flows = column("keys", Some(&keys), keys.len()?)?;
        Ok(py.detach(|| {
            let mut group = self.group.clone();
            let mut once = || {
                let mut out = [0];
                let began = Instant::now();
                for &flow in flows {
                    // A group has at most 1024 paths, so this is zero; the processor has to wait to know.
                    let flow = flow ^ u64::from(out[0] >> 12);
                    let batch = Batch { flows: &[flow], bytes: &[], times_ns: &[] };
                    group.pick_batch_mut(black_box(&batch), &mut out);
                }
                black_box(out);
                began.elapsed().as_secs_f64() * 1e9
            };
            once(); // Flow tables fill, caches warm.
            (0..repetitions).map(|_| once()).collect()
        }))
    }

    /// Nanoseconds of planning and of picking while the weights change: before each of as many equal parts of `keys`
    /// as there are `changes`, the next of them is planned. The last change stays.
    fn time_changes(
        &self,
        py: Python<'_>,
        keys: PyReadonlyArray1<'_, u64>,
        changes: Vec<Vec<String>>,
    ) -> PyResult<(f64, f64)> {
        let flows = column("keys", Some(&keys), keys.len()?)?;
        let planned = changes.iter().map(|weights| members(weights, None)).collect::<Result<Vec<_>, _>>();
        let planned = planned.map_err(plan)?;
        let part = flows.len().div_ceil(planned.len().max(1)).max(1);
        let mut out = vec![0; part];
        py.detach(|| {
            let (mut plan_ns, mut pick_ns) = (0.0, 0.0);
            for (new, part) in planned.into_iter().zip(flows.chunks(part)) {
                let began = Instant::now();
                self.group.update(&new).map_err(plan)?;
                let changed = Instant::now();
                let batch = Batch { flows: part, bytes: &[], times_ns: &[] };
                self.group.pick_batch(&batch, &mut out[..part.len()]);
                black_box(&mut out);
                plan_ns += (changed - began).as_secs_f64() * 1e9;
                pick_ns += changed.elapsed().as_secs_f64() * 1e9;
            }
            Ok((plan_ns, pick_ns))
        })
    }

    #[pyo3(signature = (weights=None, up=None))]
    fn update(&self, py: Python<'_>, weights: Option<Vec<String>>, up: Option<Vec<bool>>) -> PyResult<()> {
        let updated = py.detach(|| match (weights, up) {
            (None, None) => Ok(()),
            (weights, up) => self.group.update_with(|before| asked(before, weights, up)),
        });
        updated.map_err(plan)
    }

    /// Plans members of which some have begun so many nanoseconds ago, by `(window_ns, aggression, min_percent)`.
    #[pyo3(signature = (ages_ns, rule, weights=None, up=None))]
    fn slow_start(
        &self,
        py: Python<'_>,
        ages_ns: Vec<Option<u64>>,
        rule: (u64, f64, f64),
        weights: Option<Vec<String>>,
        up: Option<Vec<bool>>,
    ) -> PyResult<()> {
        let started = py.detach(|| {
            let rule = SlowStart::new(rule.0, rule.1, rule.2)?;
            self.group.update_with(|before| rule.lessened(&asked(before, weights, up)?, &ages_ns))
        });
        started.map_err(plan)
    }

    fn drain(&self, py: Python<'_>, path: u16, now_ns: u64, until_ns: u64) -> PyResult<()> {
        py.detach(|| self.group.drain(path, now_ns, until_ns)).map_err(plan)
    }

    fn undrain(&self, py: Python<'_>, path: u16) -> PyResult<()> {
        py.detach(|| self.group.undrain(path)).map_err(plan)
    }

    /// Paths that drain, in ascending order.
    #[getter]
    fn draining(&self, py: Python<'_>) -> Vec<usize> {
        let members = py.detach(|| self.group.members());
        (0..members.len()).filter(|&path| members.is_draining(path)).collect()
    }

    fn shares(&self, py: Python<'_>) -> Option<Vec<f64>> {
        py.detach(|| self.group.shares())
    }

    fn table<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<u16>>> {
        py.detach(|| self.group.table()).map(|table| PyArray1::from_vec(py, table))
    }

    fn asked(&self, py: Python<'_>) -> Vec<f64> {
        py.detach(|| self.group.members().asked())
    }

    #[getter]
    fn state_bytes(&self, py: Python<'_>) -> usize {
        py.detach(|| self.group.state_bytes())
    }

    #[getter]
    fn history_bytes(&self, py: Python<'_>) -> usize {
        py.detach(|| self.group.history_bytes())
    }

    fn explain(&self, py: Python<'_>, key: u64) -> Vec<(String, String)> {
        let steps = py.detach(|| self.group.explain(key));
        steps.into_iter().map(|step| (step.what, step.value)).collect()
    }
}

/// Name, granularity, summary and source of every technique, in the order in which tables show them.
#[pyfunction]
pub(crate) fn techniques() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    TECHNIQUES
        .iter()
        .map(|row| (row.name, granularity_name(row.granularity), row.summary, row.source))
        .collect()
}
