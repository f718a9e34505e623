//! One pass over a trace or a generator, with a callback for progress.

use crate::error::{AnabranchError, plan, source};
use crate::splitter::Splitter;
use anabranch_split::hash::Hash;
use anabranch_traffic::generate::Kind;
use anabranch_traffic::trace::{Encapsulation, TraceCounts};
use anabranch_traffic::{
    Carried, Connections, Direction, Headers, PacketRecord, PickBatch, Replay, Source, SourceError,
};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::Path;
use std::time::{Duration, Instant};

/// Records read before the techniques see them: columns of this length stay in the L2 cache.
const BATCH: usize = 4096;
const CALLBACK_EVERY: Duration = Duration::from_millis(100);

type Column<T> = Py<PyArray1<T>>;
type CarriedColumns = (Column<u64>, Column<u64>, Column<u64>, u64, u64);

/// Result of one pass; columns have one value per connection, in the order of first packets.
#[pyclass(frozen, get_all, module = "anabranch._core")]
pub(crate) struct Recording {
    /// Tuples of 38 bytes each.
    tuples: Column<u8>,
    /// Bits of [`anabranch_traffic::Headers`].
    headers: Column<u8>,
    keys: Column<u64>,
    packets: Column<u64>,
    bytes: Column<u64>,
    first_ns: Column<u64>,
    five_tuples: usize,
    conversations: usize,
    counts: Py<PyDict>,
    table_bytes: usize,
    /// Position of the damage, if the trace is damaged or cut: the rest was not read.
    damage: Option<String>,
    /// Connections, packets and bytes by path, connections on several paths, packets that crossed; one per splitter.
    carried: Vec<CarriedColumns>,
}

/// Reads all of `trace`, or generates the traffic of `generate`, and shows every packet to the splitters `online`. With
/// `partial`, damage of the trace is its end.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one call from Python, where the arguments have names")]
pub(crate) fn replay(
    py: Python<'_>,
    trace: Option<&str>,
    generate: Option<(String, u64)>,
    encapsulation: &str,
    direction: &str,
    hash: &str,
    seed: u32,
    online: Vec<Py<Splitter>>,
    progress: Option<Py<PyAny>>,
    partial: bool,
) -> PyResult<Recording> {
    let hash: Hash = hash.parse().map_err(plan)?;
    let direction = match direction {
        "conversation" => Direction::Conversation,
        "each" => Direction::Each,
        "each-headers" => Direction::EachHeaders,
        other => return Err(unknown("direction", other, "conversation, each or each-headers")),
    };
    let encapsulation = match encapsulation {
        "outer" => Encapsulation::Outer,
        "inner" => Encapsulation::Inner,
        other => return Err(unknown("encapsulation", other, "outer or inner")),
    };
    let (connections, keys, carried, counts, damage) = py.detach(|| {
        let path = trace.unwrap_or_default();
        let opened = match generate {
            Some((kind, connections)) => Source::generate(&kind, connections, seed.into()),
            None => Source::open(Path::new(path), encapsulation),
        };
        let mut from = opened.map_err(source)?;
        let picks = online.iter().map(|splitter| {
            let group = &splitter.get().group;
            let pick: PickBatch<'_> = Box::new(|batch, out| group.pick_batch(batch, out));
            (pick, group.members().len())
        });
        let mut replay = Replay::new(direction, hash, seed, picks);
        let damage = pass(&mut from, &mut replay, progress.as_ref())?;
        let counts = from.counts();
        match damage {
            Some(error) if !partial || replay.packets() == 0 => return Err(source(error)),
            None if replay.packets() == 0 => {
                let file = if path == "-" { "standard input" } else { path }.to_owned();
                return Err(source(SourceError::nothing(file, &counts)));
            }
            _ => {}
        }
        let (connections, keys, carried) = replay.finish();
        Ok((connections, keys, carried, counts, damage.map(|error| error.to_string())))
    })?;
    recording(py, &connections, keys, carried, &counts, damage)
}

fn unknown(key: &str, value: &str, known: &str) -> PyErr {
    AnabranchError::new_err(format!("{key}: `{value}` is unknown; use {known}"))
}

/// Runs without the GIL, and takes it every 100 ms for signals and the callback. Ends at the source's end or its damage.
fn pass(
    from: &mut Source,
    replay: &mut Replay<'_>,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Option<SourceError>> {
    let mut records: Vec<PacketRecord> = Vec::with_capacity(BATCH);
    let mut called = Instant::now();
    loop {
        match from.next_batch(&mut records, BATCH) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) if error.is_damage() => return Ok(Some(error)),
            Err(error) => return Err(source(error)),
        }
        replay.feed(&records);
        if called.elapsed() >= CALLBACK_EVERY {
            let (done, total) = from.progress();
            Python::attach(|py| {
                py.check_signals()?;
                progress.map_or(Ok(()), |call| call.call1(py, (replay.packets(), done, total)).map(drop))
            })?;
            called = Instant::now();
        }
    }
}

fn recording(
    py: Python<'_>,
    connections: &Connections,
    keys: Vec<u64>,
    carried: Vec<Carried>,
    counts: &TraceCounts,
    damage: Option<String>,
) -> PyResult<Recording> {
    let column = |values: &[u64]| PyArray1::from_slice(py, values).unbind();
    let tuples = connections.tuples().flat_map(|tuple| tuple.to_bytes()).collect::<Vec<_>>();
    let named = PyDict::new(py);
    for (name, value) in [
        ("packets", counts.packets),
        ("ip_packets", counts.ip_packets),
        ("non_ip", counts.non_ip),
        ("truncated_headers", counts.truncated_headers),
        ("malformed", counts.malformed),
        ("fragments", counts.fragments),
        ("later_fragments", counts.later_fragments),
        ("fragments_without_first", counts.fragments_without_first),
        ("tunnelled", counts.tunnelled),
        ("tunnels", counts.tunnels),
        ("authenticated", counts.authenticated),
        ("stacked_tags", counts.stacked_tags),
        ("mpls", counts.mpls),
    ] {
        named.set_item(name, value)?;
    }
    let carried = carried
        .into_iter()
        .map(|c| (column(&c.connections), column(&c.packets), column(&c.bytes), c.spread, c.crossings));
    Ok(Recording {
        tuples: tuples.into_pyarray(py).unbind(),
        headers: connections.headers().map(Headers::bits).collect::<Vec<_>>().into_pyarray(py).unbind(),
        packets: connections.packets().collect::<Vec<_>>().into_pyarray(py).unbind(),
        bytes: connections.bytes().collect::<Vec<_>>().into_pyarray(py).unbind(),
        first_ns: column(connections.first_ns()),
        keys: keys.into_pyarray(py).unbind(),
        five_tuples: connections.five_tuples(),
        conversations: connections.conversations(),
        counts: named.unbind(),
        table_bytes: connections.memory_bytes(),
        damage,
        carried: carried.collect(),
    })
}

/// Name and summary of every generator.
#[pyfunction]
pub(crate) fn generators() -> Vec<(&'static str, &'static str)> {
    Kind::ALL.iter().map(|kind| (kind.name(), kind.summary())).collect()
}
