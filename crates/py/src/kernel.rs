//! Datapaths in the kernel; see `_core.pyi`.

use crate::error::AnabranchError;
use anabranch_kernel::{
    Datapath, Group, Hook, KernelError, Member, Object, Output, Prefix, Tables, features,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

fn kernel(error: KernelError) -> PyErr {
    AnabranchError::new_err(error.to_string())
}

fn named<T>(what: &str, given: &str, all: &[T], name: fn(T) -> &'static str) -> PyResult<T>
where
    T: Copy,
{
    all.iter().copied().find(|&one| name(one) == given).ok_or_else(|| {
        let names: Vec<&str> = all.iter().copied().map(name).collect();
        AnabranchError::new_err(format!("{what}: {given}: take one of {}", names.join(", ")))
    })
}

/// A weighted group of a datapath.
#[pyclass(frozen, eq, module = "anabranch._core")]
#[derive(Clone, PartialEq)]
pub(crate) struct KernelGroup(Group);

#[pymethods]
impl KernelGroup {
    #[new]
    #[pyo3(signature = (name, prefixes, targets, weights, up, output, seed=0, pause_ns=0, turns=Vec::new(), plain=false, gateways=Vec::new()))]
    #[expect(clippy::too_many_arguments, reason = "the fields of a value")]
    fn new(
        name: String,
        prefixes: Vec<String>,
        targets: Vec<u32>,
        weights: Vec<u32>,
        up: Vec<bool>,
        output: &str,
        seed: u32,
        pause_ns: u64,
        turns: Vec<u16>,
        plain: bool,
        gateways: Vec<IpAddr>,
    ) -> PyResult<Self> {
        if weights.len() != targets.len() || up.len() != targets.len() {
            let why = format!("{} targets, {} weights, {} states", targets.len(), weights.len(), up.len());
            return Err(AnabranchError::new_err(format!("group {name}: {why}; give each member one of all")));
        }
        if !gateways.is_empty() && gateways.len() != targets.len() {
            let why = format!("{} targets, {} gateways", targets.len(), gateways.len());
            return Err(AnabranchError::new_err(format!(
                "group {name}: {why}; give each member one, or none"
            )));
        }
        let mut gateways = gateways.into_iter();
        let mut prefixes: Vec<Prefix> =
            prefixes.iter().map(|text| Prefix::parse(text)).collect::<Result<_, _>>().map_err(kernel)?;
        prefixes.sort();
        let members = targets
            .iter()
            .zip(weights)
            .zip(up)
            .map(|((&target, weight), up)| Member {
                target,
                weight,
                up: up && weight > 0,
                gateway: gateways.next(),
            })
            .collect();
        let output = named("output", output, &Output::ALL, Output::name)?;
        let group = Group { name, prefixes, members, output, seed, pause_ns, turns, plain };
        group.check().map_err(kernel)?;
        Ok(Self(group))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn prefixes(&self) -> Vec<String> {
        self.0.prefixes.iter().map(ToString::to_string).collect()
    }

    #[getter]
    fn targets(&self) -> Vec<u32> {
        self.0.members.iter().map(|member| member.target).collect()
    }

    #[getter]
    fn gateways(&self) -> Vec<IpAddr> {
        self.0.members.iter().filter_map(|member| member.gateway).collect()
    }

    #[getter]
    fn weights(&self) -> Vec<u32> {
        self.0.members.iter().map(|member| member.weight).collect()
    }

    #[getter]
    fn up(&self) -> Vec<bool> {
        self.0.members.iter().map(|member| member.up).collect()
    }

    #[getter]
    fn output(&self) -> &'static str {
        self.0.output.name()
    }

    #[getter]
    fn seed(&self) -> u32 {
        self.0.seed
    }

    #[getter]
    fn pause_ns(&self) -> u64 {
        self.0.pause_ns
    }

    #[getter]
    fn turns(&self) -> Vec<u16> {
        self.0.turns.clone()
    }

    #[getter]
    fn plain(&self) -> bool {
        self.0.plain
    }

    fn __repr__(&self) -> String {
        format!("KernelGroup({:?})", self.0)
    }
}

/// A datapath of the kernel.
#[pyclass(module = "anabranch._core")]
pub(crate) struct KernelDatapath(Option<Datapath>);

impl KernelDatapath {
    fn there(&self) -> PyResult<&Datapath> {
        self.0.as_ref().ok_or_else(removed)
    }
}

fn removed() -> PyErr {
    AnabranchError::new_err("datapath: it has been removed")
}

fn bare(groups: Vec<PyRef<'_, KernelGroup>>) -> Vec<Group> {
    groups.iter().map(|group| group.0.clone()).collect()
}

#[pymethods]
impl KernelDatapath {
    #[staticmethod]
    fn create(py: Python<'_>, folder: PathBuf, scheme: &str, groups: u32, routes: u32) -> PyResult<Self> {
        let scheme = named("scheme", scheme, &Object::ALL, Object::name)?;
        py.detach(|| Datapath::create(&folder, scheme, groups, routes))
            .map(|made| Self(Some(made)))
            .map_err(kernel)
    }

    #[staticmethod]
    fn open(folder: PathBuf) -> PyResult<Option<Self>> {
        Ok(Datapath::open(&folder).map_err(kernel)?.map(|found| Self(Some(found))))
    }

    #[getter]
    fn scheme(&self) -> PyResult<&'static str> {
        Ok(self.there()?.scheme().name())
    }

    #[getter]
    fn group_capacity(&self) -> PyResult<u32> {
        Ok(self.there()?.group_capacity())
    }

    #[getter]
    fn route_capacity(&self) -> PyResult<u32> {
        Ok(self.there()?.route_capacity())
    }

    #[getter]
    fn can_route(&self) -> PyResult<bool> {
        Ok(self.there()?.can_route())
    }

    #[getter]
    fn routed(&self) -> PyResult<bool> {
        Ok(self.there()?.route_capacity() > 0)
    }

    fn attach(&self, ifindex: u32, hook: &str) -> PyResult<()> {
        self.there()?.attach(ifindex, named("hook", hook, &Hook::ALL, Hook::name)?).map_err(kernel)
    }

    fn replace(&self, other: PyRef<'_, Self>, ifindex: u32, hook: &str) -> PyResult<()> {
        let hook = named("hook", hook, &Hook::ALL, Hook::name)?;
        self.there()?.replace(other.there()?, ifindex, hook).map_err(kernel)
    }

    fn detach(&self, ifindex: u32, hook: &str) -> PyResult<()> {
        self.there()?.detach(ifindex, named("hook", hook, &Hook::ALL, Hook::name)?).map_err(kernel)
    }

    fn attachments(&self) -> PyResult<Vec<(u32, &'static str, bool)>> {
        let found = self.there()?.attachments().map_err(kernel)?;
        Ok(found.into_iter().map(|one| (one.device, one.hook.name(), one.alive)).collect())
    }

    fn observed(&self) -> PyResult<Vec<KernelGroup>> {
        Ok(self.there()?.observed().map_err(kernel)?.into_iter().map(KernelGroup).collect())
    }

    #[pyo3(signature = (groups, dry_run=false, tables=None))]
    fn put(
        &mut self,
        py: Python<'_>,
        groups: Vec<PyRef<'_, KernelGroup>>,
        dry_run: bool,
        tables: Option<BTreeMap<String, Vec<u8>>>,
    ) -> PyResult<bool> {
        let groups = bare(groups);
        let datapath = self.0.as_mut().ok_or_else(removed)?;
        let tables = tables.unwrap_or_default();
        py.detach(|| {
            let tables = tables.iter().map(|(name, bytes)| (name.as_str(), &bytes[..]));
            datapath.put_after(&groups, &Tables::restored(tables)?, dry_run)
        })
        .map_err(kernel)
    }

    fn tables<'py>(&self, py: Python<'py>) -> PyResult<BTreeMap<String, Bound<'py, PyBytes>>> {
        let tables = self.there()?.tables().map_err(kernel)?;
        let snapshots = tables.snapshots().map_err(kernel)?;
        Ok(snapshots.into_iter().map(|(name, bytes)| (name.into(), PyBytes::new(py, &bytes))).collect())
    }

    fn shares(&self) -> PyResult<Vec<Vec<f64>>> {
        self.there()?.shares().map_err(kernel)
    }

    fn slots(&self, groups: Vec<PyRef<'_, KernelGroup>>) -> PyResult<Vec<Vec<u16>>> {
        self.there()?.slots(&bare(groups)).map_err(kernel)
    }

    fn counters(&self) -> PyResult<Vec<Vec<(u64, u64)>>> {
        let found = self.there()?.counters().map_err(kernel)?;
        Ok(found
            .iter()
            .map(|group| group.iter().map(|counter| (counter.packets, counter.bytes)).collect())
            .collect())
    }

    fn remove(&mut self) -> PyResult<()> {
        self.0.take().ok_or_else(removed)?.remove().map_err(kernel)
    }
}

/// Shares that a scheme would really give a group, before anything is installed.
#[pyfunction]
pub(crate) fn kernel_shares(scheme: &str, group: PyRef<'_, KernelGroup>) -> PyResult<Vec<f64>> {
    let scheme = named("scheme", scheme, &Object::ALL, Object::name)?;
    anabranch_kernel::shares(scheme, &group.0).map_err(kernel)
}

/// Members in the turns that a cycle over a group has.
#[pyfunction]
pub(crate) fn kernel_turns(group: PyRef<'_, KernelGroup>) -> PyResult<Vec<u16>> {
    anabranch_kernel::cycle(&group.0).map_err(kernel)
}

/// Names of the programs.
pub(crate) fn scheme_names() -> Vec<&'static str> {
    Object::ALL.into_iter().map(Object::name).collect()
}

/// (feature, whether it is there, what is there or what to do).
#[pyfunction]
pub(crate) fn probe_kernel(py: Python<'_>) -> Vec<(&'static str, bool, String)> {
    py.detach(|| features().into_iter().map(|one| (one.name, one.present, one.note)).collect())
}

/// Mounts the BPF file system if there is none.
#[pyfunction]
pub(crate) fn require_bpf_file_system(py: Python<'_>) -> PyResult<()> {
    py.detach(anabranch_kernel::file_system::require).map_err(kernel)
}
