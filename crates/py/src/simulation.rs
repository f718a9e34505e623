//! Scenarios from Python: checked, described, run.

use crate::columns::{Schema, dictionary, schema};
use crate::error::{AnabranchError, scenario as refused, simulation as impossible};
use crate::flow_pieces::{FlowPieces, Records};
use crate::own_hosts::{Methods, PythonHosts};
use crate::own_scheme::{PythonPicker, PythonWeigher};
use crate::progress::Progress;
use crate::topology::topology;
use anabranch_balancers::{
    Balancing, Settings, Task, simulate, simulate_by_hosts, simulate_picked, simulate_weighed,
};
use anabranch_fabric::Fabric;
use anabranch_form::{FormError, Position};
use anabranch_record::{
    RecordError, RecordFile, critical_columns, event_columns, flow_columns, port_columns, queue_columns,
    request_columns, step_columns, tables_beside_flows, totals, window_columns, write_captures,
};
use anabranch_scenario::{Files, MODEL_VERSION, Resolved, Scenario as Written, tier_name};
use anabranch_sim::{CapturedPacket, Framing, Outcome, ReplayRecord, ReplaySample, Totals, Window};
use anabranch_traffic::workload::PlacedWork;
use anabranch_traffic::{DrawnFlows, Flow, Start, TierLoad};
use numpy::IntoPyArray;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Number of picoseconds in a nanosecond.
const PS_PER_NS: f64 = 1000.0;

/// Flows whose records memory holds during a run: 0.14 GB.
const FLOWS_HELD_MAX: usize = 1 << 20;

/// Valid scenario; see `_core.pyi`.
#[pyclass(frozen, module = "anabranch._core")]
pub(crate) struct Scenario {
    resolved: Arc<Resolved>,
    /// Flows, made when they are first used: checking a scenario needs none.
    flows: OnceLock<Result<DrawnFlows, FormError>>,
    /// Load that they offer: asked for several times, and one pass over all of them each.
    offered: OnceLock<Vec<TierLoad>>,
    /// Whether the text has lines that its author knows.
    lines: bool,
}

impl Scenario {
    /// The scenario, to be shared.
    pub(crate) fn resolved(&self) -> &Arc<Resolved> {
        &self.resolved
    }

    fn drawn(&self) -> Result<&DrawnFlows, FormError> {
        let flows = self.flows.get_or_init(|| self.resolved.flows());
        flows.as_ref().map_err(|error| placed(error.clone(), self.lines))
    }

    fn offered(&self) -> Result<&[TierLoad], FormError> {
        let flows = self.drawn()?;
        Ok(self.offered.get_or_init(|| self.resolved.offered_load(flows)))
    }
}

/// An error without its line, unless the text has lines that its author knows.
pub(crate) fn placed(error: FormError, lines: bool) -> FormError {
    let line = error.position.line.filter(|_| lines);
    FormError { position: Position { line, ..error.position }, ..error }
}

/// Bound on disjoint paths; for each queue pair, or for all, paths as ports with the source port that leads there.
type PortPathsRow = (usize, Vec<Vec<(Vec<u32>, u16)>>);

#[pymethods]
impl Scenario {
    #[new]
    #[pyo3(signature = (text, file, overrides=Vec::new(), copies=BTreeMap::new(), lines=true, *, driven=false))]
    fn new(
        py: Python<'_>,
        text: &str,
        file: &str,
        overrides: Vec<(String, String)>,
        copies: BTreeMap<String, PathBuf>,
        lines: bool,
        driven: bool,
    ) -> PyResult<Self> {
        let resolved = py.detach(|| {
            let folder = Path::new(file).parent().unwrap_or(Path::new(""));
            let parse = if driven { Written::parse_driven } else { Written::parse };
            parse(text, file, &overrides)?.resolve_with(&Files { folder, copies })
        });
        let resolved = resolved.map_err(|error| refused(placed(error, lines)))?;
        Ok(Self { resolved: Arc::new(resolved), flows: OnceLock::new(), offered: OnceLock::new(), lines })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.resolved.scenario().name
    }

    #[getter]
    fn identity(&self) -> String {
        self.resolved.identity()
    }

    #[getter]
    fn model_version(&self) -> u32 {
        MODEL_VERSION
    }

    /// Names of the mutations of the load balancer that runs; none where it is broken already.
    #[getter]
    fn mutations(&self) -> Vec<&'static str> {
        let routing = &self.resolved.scenario().routing;
        let whole = routing.mutation.is_none();
        routing.mutations().iter().filter(|_| whole).map(|mutation| mutation.name).collect()
    }

    /// Start and end of the window of measurement in nanoseconds; no end is `None`.
    #[getter]
    fn measure_ns(&self) -> (f64, Option<f64>) {
        let ns = |ps: u64| ps as f64 / PS_PER_NS;
        let Window { from_ps, to_ps } = self.resolved.settings().observe.measure;
        (ns(from_ps), (to_ps != u64::MAX).then(|| ns(to_ps)))
    }

    fn resolved_toml(&self) -> String {
        self.resolved.to_toml()
    }

    /// Files that the scenario names: digest and name, relative to its own file.
    fn named_files(&self) -> Vec<(String, String)> {
        let files = self.resolved.named_files();
        files.into_iter().map(|file| (file.digest.clone().unwrap_or_default(), file.path.clone())).collect()
    }

    /// Paths that source ports of queue pairs lead to; see `_core.pyi`.
    fn port_paths(&self, py: Python<'_>, src: u32, dst: u32, queue_pairs: u8) -> PyResult<PortPathsRow> {
        let paths = py.detach(|| self.resolved.port_paths(src, dst, queue_pairs)).map_err(impossible)?;
        Ok((paths.disjoint_most, paths.of_queue_pairs))
    }

    /// Refuses a scenario that `run` would refuse to simulate.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let (fabric, settings) = (self.resolved.fabric(), self.resolved.settings());
        py.detach(|| {
            // All that can refuse comes before the first events, and no more of them than a report's are simulated.
            let stopped = anabranch_sim::Progress::default();
            stopped.cancel();
            simulate(fabric, self.drawn().map_err(refused)?, settings, &stopped).map_err(impossible)
        })?;
        Ok(())
    }

    fn topology<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        topology(py, self.resolved.fabric(), &self.resolved.settings().changes)
    }

    /// The flow list; times of flows that wait for others are NaN.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let flows = py.detach(|| self.drawn()).map_err(refused)?;
        let table = PyDict::new(py);
        let column = |value: fn(Flow) -> u64| flows.iter().map(value).collect::<Vec<_>>().into_pyarray(py);
        table.set_item("flow", (0..flows.len() as u64).collect::<Vec<_>>().into_pyarray(py))?;
        table.set_item("src", column(|flow| flow.src.into()))?;
        table.set_item("dst", column(|flow| flow.dst.into()))?;
        table.set_item("size_bytes", column(|flow| flow.size_bytes))?;
        let start = |flow: Flow| match flow.start {
            Start::At(at_ps) => at_ps as f64 / PS_PER_NS,
            Start::After { .. } | Start::AfterJob { .. } | Start::Ready { .. } => f64::NAN,
        };
        table.set_item("start_ns", flows.iter().map(start).collect::<Vec<_>>().into_pyarray(py))?;
        table.set_item("path", flows.iter().map(|flow| flow.path).collect::<Vec<_>>())?;
        table.set_item("job", flows.iter().map(|flow| flow.job).collect::<Vec<_>>())?;
        table.set_item("transport", column(|flow| flow.transport.into()))?;
        Ok(table)
    }

    fn offered_load<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let loads = py.detach(|| self.offered()).map_err(refused)?;
        let row = |load: &TierLoad| {
            let row = PyDict::new(py);
            row.set_item("tier", format!("{} to {}", tier_name(load.from), tier_name(load.to)))?;
            row.set_item("ports", load.ports)?;
            row.set_item("capacity_bps", load.capacity_bps)?;
            row.set_item("offered_bps", load.payload_bps)?;
            row.set_item("load", load.load)?;
            row.set_item("load_busiest", load.load_busiest)?;
            Ok(row)
        };
        loads.iter().map(row).collect()
    }

    /// Ranks, messages and bytes of each workload graph.
    fn graphs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let row = |work: &PlacedWork| {
            let row = PyDict::new(py);
            let (messages, bytes) = work.graph.messages();
            row.set_item("ranks", work.graph.ranks())?;
            row.set_item("messages", messages)?;
            row.set_item("bytes", bytes)?;
            Ok(row)
        };
        self.resolved.settings().works.iter().map(row).collect()
    }

    /// Packet-hops that a run is expected to have.
    fn expected_packet_hops(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| Ok(self.resolved.expected_packet_hops(self.drawn()?))).map_err(refused)
    }

    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| Ok(self.resolved.warnings(self.drawn()?, self.offered()?))).map_err(refused)
    }

    /// Number of flows between hosts that no path joins after the last change.
    fn severed_flows(&self, py: Python<'_>) -> PyResult<usize> {
        py.detach(|| Ok(self.resolved.severed_flows(self.drawn()?))).map_err(refused)
    }

    /// Blocks until the run has ended or `progress` has cancelled it, without the interpreter lock. `weights`, once per
    /// `epoch`, or `pick` replace the scenario's routing, `hosts` gives packets their entropy. Records of more flows than
    /// `flows_held_max` wait in a file. At most `threads` simulate it; `part_anyway`: even where they are known to lose.
    #[pyo3(signature = (
        progress=None, *, weights=None, epoch="", pick=None, hosts=None, flows_held_max=FLOWS_HELD_MAX, threads=1,
        part_anyway=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn run(
        &self,
        py: Python<'_>,
        progress: Option<Py<Progress>>,
        weights: Option<Py<PyAny>>,
        epoch: &str,
        pick: Option<Py<PyAny>>,
        hosts: Option<Methods>,
        flows_held_max: usize,
        threads: u32,
        part_anyway: bool,
    ) -> PyResult<Run> {
        let shared = progress.map_or_else(|| Py::new(py, Progress::default()), Ok)?;
        let progress = shared.get();
        let (fabric, settings) = (self.resolved.fabric(), self.resolved.settings());
        let weigher = weights.map(|weights| PythonWeigher::new(py, weights, epoch, fabric, progress));
        let mut weigher = weigher.transpose()?;
        let picker = pick.map(|pick| PythonPicker::new(py, pick, fabric, progress));
        let mut picker = picker.transpose()?;
        let raised_at_hosts = Arc::new(OnceLock::new());
        let hosts = hosts.map(|methods| {
            PythonHosts::new(py, methods, fabric, shared.clone_ref(py), Arc::clone(&raised_at_hosts))
        });
        let flows = py.detach(|| self.drawn()).map_err(refused)?;
        let file = (flows.len() > flows_held_max).then(|| record_file(progress.inner())).transpose()?;
        let is_own = weigher.is_some() || picker.is_some() || hosts.is_some();
        let parts = match threads {
            0 | 1 => None,
            _ if is_own => Some(Err("a load balancer of one's own".to_owned())),
            _ => Some(py.detach(|| self.resolved.parts(flows, threads, part_anyway)).map_err(impossible)?),
        };
        let outcome = py.detach(|| {
            progress.expect(settings.end_ps, flows.len());
            let progress = progress.inner();
            match (&mut weigher, &mut picker, hosts) {
                (Some(weigher), ..) => simulate_weighed(weigher, fabric, flows, settings, progress),
                (None, Some(picker), _) => simulate_picked(picker, fabric, flows, settings, progress),
                (None, None, Some(hosts)) => {
                    simulate_by_hosts(Box::new(hosts), fabric, flows, settings, progress)
                }
                (None, None, None) => match &parts {
                    Some(Ok(parts)) => Task::new(fabric, flows, settings, progress)
                        .and_then(|task| task.on_threads(parts))
                        .and_then(Task::simulate),
                    _ => simulate(fabric, flows, settings, progress),
                },
            }
            .map_err(impossible)
        });
        let raised = weigher
            .and_then(|weigher| weigher.raised)
            .or(picker.and_then(|picker| picker.raised))
            .or(Arc::into_inner(raised_at_hosts).and_then(OnceLock::into_inner));
        if let Some(raised) = raised {
            return Err(raised);
        }
        let outcome = outcome?;
        if progress.inner().is_cancelled() {
            return Err(PyKeyboardInterrupt::new_err("the run was cancelled"));
        }
        let mut run = Run::of(py, &self.resolved, settings, flows.clone(), outcome, file)?;
        match parts {
            Some(Ok(parts)) => run.threads = parts.count(),
            Some(Err(what)) => run.one_thread = Some(what),
            None => {}
        }
        Ok(run)
    }

    /// Rows of `ports` for the intervals that have ended since the last call; the first call yields none yet.
    fn take_ports(&self, py: Python<'_>, progress: &Progress) -> PyResult<Py<PyDict>> {
        let columns = py.detach(|| port_columns(self.resolved.fabric(), &progress.inner().take_ports()));
        dictionary(py, columns)
    }

    /// Packet-hops and seconds of ECMP on the same flows, until their end or until `progress` is cancelled.
    fn time_ecmp(&self, py: Python<'_>, progress: Py<Progress>) -> PyResult<(u64, f64)> {
        let settings = Settings { balancing: Balancing::ECMP, ..self.resolved.settings().clone() };
        py.detach(|| {
            let flows = self.drawn().map_err(refused)?;
            let begun = Instant::now();
            let outcome = simulate(self.resolved.fabric(), flows, &settings, progress.get().inner());
            let outcome = outcome.map_err(impossible)?;
            Ok((outcome.totals.packet_hops, begun.elapsed().as_secs_f64()))
        })
    }
}

/// Results of a run; see `_core.pyi`.
#[pyclass(frozen, module = "anabranch._core")]
pub(crate) struct Run {
    drawn: DrawnFlows,
    records: Records,
    #[pyo3(get)]
    ports: Py<PyDict>,
    #[pyo3(get)]
    queues: Py<PyDict>,
    #[pyo3(get)]
    windows: Py<PyDict>,
    #[pyo3(get)]
    events: Py<PyDict>,
    #[pyo3(get)]
    steps: Py<PyDict>,
    #[pyo3(get)]
    critical: Py<PyDict>,
    #[pyo3(get)]
    requests: Py<PyDict>,
    #[pyo3(get)]
    totals: Py<PyDict>,
    #[pyo3(get)]
    counts: Vec<(&'static str, u64)>,
    /// Threads that simulated it, and what kept it on one of several that were asked for.
    #[pyo3(get)]
    threads: u32,
    #[pyo3(get)]
    one_thread: Option<String>,
    /// What replay did, if the scenario has it.
    #[pyo3(get)]
    replay: Option<Py<PyDict>>,
    resolved: Arc<Resolved>,
    captures: Vec<CapturedPacket>,
}

#[pymethods]
impl Run {
    /// Rows of all flows.
    #[getter]
    fn flows(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        dictionary(py, self.pieces(usize::MAX).take(py)?)
    }

    /// The same rows, so many at a time; at least one piece, even if it has none.
    fn flow_pieces(&self, rows: usize) -> FlowPieces {
        self.pieces(rows)
    }

    /// Number of flows.
    #[getter]
    fn flows_total(&self) -> usize {
        self.drawn.len()
    }

    /// Writes the packets captured at each port as pcapng; returns the files.
    fn write_captures(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Vec<String>> {
        let framing = self.resolved.settings().framing;
        py.detach(|| {
            if self.captures.is_empty() {
                return Ok(Vec::new());
            }
            let files = write_captures(&folder, self.resolved.fabric(), framing, &self.captures)?;
            Ok(files.into_iter().map(|file| file.display().to_string()).collect())
        })
        .map_err(|error: RecordError| AnabranchError::new_err(error.to_string()))
    }
}

impl Run {
    /// Results of a simulation with these settings, records of whose flows may be in a file.
    pub(crate) fn of(
        py: Python<'_>,
        resolved: &Arc<Resolved>,
        settings: &Settings,
        drawn: DrawnFlows,
        outcome: Outcome,
        file: Option<Arc<RecordFile>>,
    ) -> PyResult<Self> {
        let tables = py.detach(|| tables_beside_flows(resolved.fabric(), settings, &drawn, &outcome));
        let [ports, queues, windows, events, steps, critical, requests] =
            tables.map(|(_, columns)| dictionary(py, columns));
        let Outcome { flows: records, captures, counts, totals, replay, .. } = outcome;
        let records = file.map_or_else(|| Records::InMemory(Arc::new(records)), Records::InFile);
        Ok(Self {
            drawn,
            records,
            ports: ports?,
            queues: queues?,
            windows: windows?,
            events: events?,
            steps: steps?,
            critical: critical?,
            requests: requests?,
            totals: sums(py, &totals)?,
            counts,
            threads: 1,
            one_thread: None,
            replay: replay.map(|record| replayed(py, settings, &record)).transpose()?,
            resolved: Arc::clone(resolved),
            captures,
        })
    }

    fn pieces(&self, rows: usize) -> FlowPieces {
        FlowPieces::new(Arc::clone(&self.resolved), self.drawn.iter(), self.records.clone(), rows)
    }
}

/// A file that takes the records of the run that `progress` is about to see.
fn record_file(progress: &anabranch_sim::Progress) -> PyResult<Arc<RecordFile>> {
    let folder = env::temp_dir();
    let file = RecordFile::create_in(&folder).map_err(|error| {
        AnabranchError::new_err(format!(
            "{}: cannot hold the records of flows meanwhile: {error}; name another folder in TMPDIR",
            folder.display()
        ))
    })?;
    let file = Arc::new(file);
    progress.send_flows_to(Arc::<RecordFile>::clone(&file));
    Ok(file)
}

fn sums(py: Python<'_>, ended: &Totals) -> PyResult<Py<PyDict>> {
    let (end_ns, counts) = totals(ended);
    let sums = PyDict::new(py);
    sums.set_item("end_ns", end_ns)?;
    for (name, value) in counts {
        sums.set_item(name, value)?;
    }
    Ok(sums.unbind())
}

fn replayed(py: Python<'_>, settings: &Settings, record: &ReplayRecord) -> PyResult<Py<PyDict>> {
    let sample = record.sample();
    let errors: Vec<f64> = record.samples.iter().filter_map(ReplaySample::error).collect();
    let replay = PyDict::new(py);
    replay.set_item("sample", settings.replay.map(|replay| replay.sample))?;
    replay.set_item("replayed", record.replayed)?;
    replay.set_item("carried", record.carried)?;
    replay.set_item("forgotten", record.forgotten)?;
    replay.set_item("compared", sample.observed_ps.len())?;
    replay.set_item("mean_error", sample.error())?;
    replay.set_item("mean_errors", errors)?;
    replay.set_item("p99_error", sample.p99_error())?;
    Ok(replay.unbind())
}

/// Name, type and meaning of the columns of every table, which do not depend on its content.
#[pyfunction]
pub(crate) fn columns() -> PyResult<BTreeMap<&'static str, Schema>> {
    let nothing =
        Fabric::new(Vec::new(), Vec::new()).map_err(|error| AnabranchError::new_err(error.to_string()))?;
    Ok(BTreeMap::from([
        ("flows", schema(&flow_columns(&nothing, Framing::ETHERNET, &[], &[], &[], Window::ALL))),
        ("ports", schema(&port_columns(&nothing, &[]))),
        ("queues", schema(&queue_columns(&nothing, &[]))),
        ("windows", schema(&window_columns(&[]))),
        ("events", schema(&event_columns(&[]))),
        ("steps", schema(&step_columns(&[]))),
        ("critical", schema(&critical_columns(&[]))),
        ("requests", schema(&request_columns(&[]))),
    ]))
}
