//! One technique over one group, driven with NumPy arrays.

use crate::error::{AnabranchError, plan};
use anabranch_split::technique::{Batch, Granularity, Parameters, TECHNIQUES, Technique};
use anabranch_split::{Members, Weights, technique};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// A planned group: see `anabranch.Splitter`.
#[pyclass(frozen, module = "anabranch._core")]
pub(crate) struct Splitter {
    name: &'static str,
    granularity: Granularity,
    /// Locked while waiting for `group`, and no longer. A batch locks both again for each part of it, so that a waiting
    /// update is next: with a mutex alone the batch's thread would overtake it again and again.
    next: Mutex<()>,
    group: Mutex<Group>,
}

/// Packets between two chances for an update. Under the slowest technique they take a few milliseconds, under the usual
/// ones microseconds.
const PART: usize = 4096;

/// Mutable part: the technique with its state, and the group it was planned for.
pub(crate) struct Group {
    technique: Box<dyn Technique>,
    members: Members,
}

/// Makes the group of `weights`; all members are alive if `up` is not given.
pub(crate) fn members(weights: &[String], up: Option<Vec<bool>>) -> PyResult<Members> {
    let weights = Weights::parse(weights).map_err(plan)?;
    match up {
        None => Ok(Members::all_up(weights)),
        Some(up) => Members::new(weights, up).map_err(plan),
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
fn column<'a, T: numpy::Element>(
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

impl Splitter {
    /// Locks the group for one call.
    fn group(&self) -> MutexGuard<'_, Group> {
        let _next = lock(&self.next);
        lock(&self.group)
    }

    /// Number of members, dead ones included.
    pub(crate) fn members(&self) -> usize {
        self.group().members.len()
    }

    /// Picks the member of every packet of `batch`, in order; updates meanwhile take effect with the next part.
    pub(crate) fn pick_parts(&self, batch: &Batch<'_>, out: &mut [u16]) {
        let part = |column: std::ops::Range<usize>, len: usize| if len == 0 { 0..0 } else { column };
        for (begin, out) in (0..).step_by(PART).zip(out.chunks_mut(PART)) {
            let here = begin..begin + out.len();
            let part = Batch {
                flows: &batch.flows[here.clone()],
                bytes: &batch.bytes[part(here.clone(), batch.bytes.len())],
                times_ns: &batch.times_ns[part(here, batch.times_ns.len())],
            };
            self.group().technique.pick(&part, out);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic inside a pick would poison the lock; the plan is still whole, so go on with it.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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
        let row = technique::row(technique).map_err(plan)?;
        let members = members(&weights, up)?;
        let parameters = Parameters::new(parameters.unwrap_or_default());
        let technique = technique::build(row.name, &members, &parameters).map_err(plan)?;
        let group = Mutex::new(Group { technique, members });
        Ok(Self { name: row.name, granularity: row.granularity, next: Mutex::new(()), group })
    }

    #[getter]
    fn technique(&self) -> &'static str {
        self.name
    }

    #[getter]
    fn granularity(&self) -> &'static str {
        granularity_name(self.granularity)
    }

    #[getter]
    fn paths(&self, py: Python<'_>) -> usize {
        py.detach(|| self.members())
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
            py.detach(|| self.pick_parts(&batch, slots));
        }
        Ok(out)
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
            let mut group = self.group();
            let mut once = || {
                let began = Instant::now();
                group.technique.pick(&batch, &mut out);
                black_box(&mut out);
                began.elapsed().as_secs_f64() * 1e9
            };
            once(); // Flow tables fill, caches warm.
            (0..repetitions).map(|_| once()).collect()
        }))
    }

    /// Nanoseconds of each of `repetitions` passes over `keys`, one packet after the other: each decision waits for
    /// the one before.
    fn time_chain(
        &self,
        py: Python<'_>,
        keys: PyReadonlyArray1<'_, u64>,
        repetitions: usize,
    ) -> PyResult<Vec<f64>> {
        let flows = column("keys", Some(&keys), keys.len()?)?;
        Ok(py.detach(|| {
            let mut group = self.group();
            let mut once = || {
                let mut out = [0];
                let began = Instant::now();
                for &flow in flows {
                    // A group has at most 1024 paths, so this is zero; the processor has to wait to know.
                    let flow = flow ^ u64::from(out[0] >> 12);
                    let batch = Batch { flows: &[flow], bytes: &[], times_ns: &[] };
                    group.technique.pick(black_box(&batch), &mut out);
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
        let planned = changes.iter().map(|weights| members(weights, None)).collect::<PyResult<Vec<_>>>()?;
        let part = flows.len().div_ceil(planned.len().max(1)).max(1);
        let mut out = vec![0; part];
        py.detach(|| {
            let mut group = self.group();
            let (mut plan_ns, mut pick_ns) = (0.0, 0.0);
            for (new, part) in planned.into_iter().zip(flows.chunks(part)) {
                let began = Instant::now();
                group.technique.plan(&new).map_err(plan)?;
                let changed = Instant::now();
                let batch = Batch { flows: part, bytes: &[], times_ns: &[] };
                group.technique.pick(&batch, &mut out[..part.len()]);
                black_box(&mut out);
                plan_ns += (changed - began).as_secs_f64() * 1e9;
                pick_ns += changed.elapsed().as_secs_f64() * 1e9;
                group.members = new;
            }
            Ok((plan_ns, pick_ns))
        })
    }

    #[pyo3(signature = (weights=None, up=None))]
    fn update(&self, py: Python<'_>, weights: Option<Vec<String>>, up: Option<Vec<bool>>) -> PyResult<()> {
        py.detach(|| {
            let mut group = self.group();
            let new = match (&weights, up) {
                (Some(weights), up) => members(weights, up)?,
                (None, Some(up)) => Members::new(group.members.weights().clone(), up).map_err(plan)?,
                (None, None) => return Ok(()),
            };
            group.technique.plan(&new).map_err(plan)?;
            group.members = new;
            Ok(())
        })
    }

    fn shares(&self, py: Python<'_>) -> Option<Vec<f64>> {
        py.detach(|| self.group().technique.shares())
    }

    fn asked(&self, py: Python<'_>) -> Vec<f64> {
        py.detach(|| self.group().members.asked())
    }

    #[getter]
    fn state_bytes(&self, py: Python<'_>) -> usize {
        py.detach(|| self.group().technique.state_bytes())
    }

    fn explain(&self, py: Python<'_>, key: u64) -> Vec<(String, String)> {
        let steps = py.detach(|| self.group().technique.explain(key));
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
