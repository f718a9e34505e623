//! From a `[[traffic]]` of kind `graph` to a job: files read, collectives expanded, ranks placed.

use crate::file::{Files, content, file_error};
use crate::identity::digest;
use crate::section::traffic::{CollectiveName, InferenceSetting, WorkSetting};
use anabranch_fabric::Fabric;
use anabranch_form::{FormError, Origin};
use anabranch_traffic::TrafficError;
use anabranch_traffic::workload::{Job, PlacedWork, arrivals_ps, skewed_blocks};
use anabranch_work::chakra::{Context, Groups, read_groups, read_ranks};
use anabranch_work::collective::{Collective, steps};
use anabranch_work::inference::Inference;
use anabranch_work::read::{Format, Settings, read_bytes};
use anabranch_work::training::Training;
use anabranch_work::{Graph, MESSAGES_MAX, WorkError};
use std::sync::Arc;

/// Makes the job; `seed` draws its placement and popularities.
pub(crate) fn job(
    setting: &mut WorkSetting,
    (start_ps, transport, seed): (u64, u8, u64),
    fabric: &Fabric,
    origin: &Origin,
    files: &Files<'_>,
) -> Result<Job, FormError> {
    let all: Vec<u32> =
        if setting.hosts.is_empty() { (0..fabric.named_hosts()).collect() } else { setting.hosts.clone() };
    let placement = setting.placement;
    let place = |ranks: u32| {
        let hosts = placement.choose(fabric, &all, ranks, seed);
        hosts.map_err(|error| traffic_error(origin, error))
    };
    let (graph, hosts) = match &mut setting.file {
        Some(_) => {
            let graph = from_file(setting, origin, files)?;
            if setting.ranks.is_some_and(|ranks| ranks != graph.ranks()) {
                // A trace that is missing behind the last one leaves no gap.
                let problem = format!("the file has {}", graph.ranks());
                let hint = "put the files of all ranks beside each other, or leave `ranks` out where there is a file";
                return Err(origin.error("ranks", &problem, hint));
            }
            let hosts = place(graph.ranks())?;
            (graph, hosts)
        }
        None => {
            let ranks = ranks_by_name(setting, all.len() as u32, origin)?;
            let hosts = place(ranks)?;
            let (key, graph) = match (&setting.training, &setting.inference) {
                (Some(training), _) => {
                    let messages =
                        training.messages().map_err(|error| work_error("training", error, origin))?;
                    check_messages(messages, setting.iterations, origin)?;
                    ("training", step_of_training(setting, training, seed))
                }
                (None, Some(inference)) => {
                    let inference = requests(inference, seed);
                    let messages =
                        inference.messages().map_err(|error| work_error("inference", error, origin))?;
                    check_messages(messages, 1, origin)?;
                    ("inference", inference.graph())
                }
                (None, None) => ("collective", by_name(setting, ranks, seed)),
            };
            (graph.map_err(|error| work_error(key, error, origin))?, hosts)
        }
    };
    let graph = match setting.rendezvous {
        None => graph,
        Some(by) => graph
            .with_rendezvous(by, setting.eager_bytes)
            .map_err(|error| work_error("rendezvous", error, origin))?,
    };
    let start_ps = if setting.idle { PlacedWork::NEVER_PS } else { start_ps };
    Ok(Job {
        work: PlacedWork { graph: Arc::new(graph), hosts, start_ps, ordered: setting.ordered },
        transport,
    })
}

/// An error of traffic, at its key.
pub(crate) fn traffic_error(origin: &Origin, error: TrafficError) -> FormError {
    origin.error(error.key, &error.problem, error.hint)
}

/// An error of work that `key` describes; the position may be the key's own.
fn work_error(key: &str, error: WorkError, origin: &Origin) -> FormError {
    let WorkError { position, problem, hint } = error;
    let problem = if position == key { problem } else { format!("{position}: {problem}") };
    origin.error(key, &problem, hint)
}

/// Refuses steps whose messages would take more memory than machines have.
fn check_messages(each: u64, iterations: u32, origin: &Origin) -> Result<(), FormError> {
    let messages = each.saturating_mul(iterations.into());
    if messages <= MESSAGES_MAX {
        return Ok(());
    }
    let problem = format!("{iterations} steps of {each} messages");
    Err(origin.error("iterations", &problem, format!("ask for at most {MESSAGES_MAX} messages in all")))
}

fn from_file(setting: &mut WorkSetting, origin: &Origin, files: &Files<'_>) -> Result<Graph, FormError> {
    let Some(file) = &mut setting.file else {
        return Err(origin.error("file", "missing", "name a file or a collective"));
    };
    let unreadable = |error: WorkError| file_error("file", &error, origin);
    let format = Format::of_name(&file.path).map_err(unreadable)?;
    let mut traces = Context::default();
    let contents = if format == Format::Chakra {
        let contents = read_ranks(files.folder, &file.path).map_err(unreadable)?;
        let groups = match &setting.traces.groups {
            Some(name) => Some((name.clone(), groups_named(name, origin, files)?)),
            None => read_groups(files.folder, &file.path).map_err(unreadable)?,
        };
        // The digest is that of all ranks' files together, and of the groups'.
        let mut whole = Vec::new();
        contents.iter().chain(&groups).for_each(|(_, content)| whole.extend_from_slice(content));
        let found = digest(&whole);
        if let Some(noted) = file.digest.as_ref().filter(|noted| **noted != found) {
            let problem = format!("`{}` and those beside it have the digest {found}, not {noted}", file.path);
            return Err(origin.error(
                "file",
                &problem,
                "give the files that were meant, or leave `digest` out",
            ));
        }
        file.digest = Some(found);
        if let Some((name, content)) = groups {
            let unreadable = |error: WorkError| file_error("groups", &error, origin);
            traces.groups = Groups::read(&content, &name).map_err(unreadable)?;
        }
        traces.dimensions = setting.traces.dimensions.clone().unwrap_or_default();
        traces.accelerator = setting.traces.accelerator;
        contents
    } else {
        vec![(file.path.clone(), content(file, "file", origin, files)?)]
    };
    let settings =
        Settings { bytes: setting.size_bytes, traces, start_unit: setting.start_unit, ranks: setting.ranks };
    let graph = read_bytes(&contents, format, &settings).map_err(unreadable)?;
    graph.check().map_err(unreadable)?;
    check_messages(graph.messages().0, setting.iterations, origin)?;
    if setting.iterations == 1 && setting.compute_ps == 0 {
        return Ok(graph);
    }
    graph.repeated(setting.iterations, setting.compute_ps).map_err(unreadable)
}

/// Content of the file that `groups` names.
fn groups_named(name: &str, origin: &Origin, files: &Files<'_>) -> Result<Vec<u8>, FormError> {
    std::fs::read(files.folder.join(name)).map_err(|error| {
        let problem = format!("`{name}` cannot be read: {error}");
        origin.error("groups", &problem, "give a file, relative to the scenario's own")
    })
}

/// Number of ranks where no file has them: those of `training` or `inference`, or one for each host.
fn ranks_by_name(setting: &WorkSetting, hosts: u32, origin: &Origin) -> Result<u32, FormError> {
    let (ranks, key, what) = match (&setting.training, &setting.inference) {
        (Some(training), _) => (training.ranks(), "training", "tensor x data x pipeline are"),
        (None, Some(inference)) => {
            (inference.shape.ranks(), "inference", "groups x tensor of prefill and decode are")
        }
        (None, None) => return Ok(setting.ranks.unwrap_or(hosts)),
    };
    let ranks = ranks.map_err(|error| work_error(key, error, origin))?;
    if setting.ranks.is_some_and(|asked| asked != ranks) {
        let hint = format!("leave `ranks` out where there is `{key}`");
        return Err(origin.error("ranks", &format!("{what} {ranks}"), hint));
    }
    Ok(ranks)
}

/// Inference with its requests; random ones are drawn from the seed.
fn requests(setting: &InferenceSetting, seed: u64) -> Inference {
    let (Some(count), Some(per_s)) = (setting.requests, setting.requests_per_s) else {
        return setting.with_arrivals(setting.arrivals_ps.iter().flatten().copied());
    };
    setting.with_arrivals(arrivals_ps(per_s, seed).take(count as usize))
}

/// All steps of training; with skew the same experts are popular in all of them.
fn step_of_training(setting: &WorkSetting, shape: &Training, seed: u64) -> Result<Graph, WorkError> {
    let accelerator = setting.traces.accelerator.unwrap_or(shape.accelerator);
    let mut shape = Training { accelerator, ..shape.clone() };
    let skew = setting.skew.filter(|_| shape.expert > 1);
    shape.expert_blocks = skew.map(|skew| skewed_blocks(shape.expert, shape.expert_bytes(), skew, seed, 0));
    let graph = shape.graph()?;
    if setting.iterations == 1 && setting.compute_ps == 0 {
        return Ok(graph);
    }
    graph.repeated(setting.iterations, setting.compute_ps)
}

fn by_name(setting: &WorkSetting, ranks: u32, seed: u64) -> Result<Graph, WorkError> {
    let kind = setting.collective.kind();
    let algorithm = setting.algorithm.unwrap_or(kind.algorithms()[0]);
    let plain = Collective {
        channels: setting.channels,
        segments: setting.segments,
        group: setting.group,
        reduce_ps_per_byte: setting.reduce.map_or(0.0, |rate| 8e12 / rate.bps() as f64),
        ..Collective::new(kind, algorithm, setting.size_bytes)
    };
    let per_rank = u64::from(setting.channels) * u64::from(setting.segments) * 2 * u64::from(ranks);
    if per_rank.saturating_mul(ranks.into()).saturating_mul(setting.iterations.into()) > 4 * MESSAGES_MAX {
        let problem = format!("about {} messages for each of {ranks} ranks and step", per_rank);
        return Err(WorkError::new(
            kind.name(),
            problem,
            "ask for fewer iterations, channels, segments or ranks",
        ));
    }
    steps(ranks, setting.iterations, setting.compute_ps, |step| {
        let Some(skew) = setting.skew else {
            return match setting.collective {
                CollectiveName::Of(_) => vec![plain.clone()],
                CollectiveName::Moe => vec![plain.clone(), plain.clone()],
            };
        };
        let there = skewed_blocks(ranks, setting.size_bytes, skew, seed, step);
        let count = ranks as usize;
        let back = (0..count * count).map(|index| there[index % count * count + index / count]).collect();
        let of = |blocks| Collective { blocks: Some(blocks), ..plain.clone() };
        match setting.collective {
            CollectiveName::Of(_) => vec![of(there)],
            CollectiveName::Moe => vec![of(there), of(back)],
        }
    })
}
