//! The list of load balancers.

use anabranch_balancers::{Decider, Descriptor, Elsewhere, KernelProgram, Runs, registry};
use anabranch_scenario::{Entry, Parameter, TRANSPORT, catalogue, scheme_parameters, transport_parameters};
use anabranch_split::capability;
use pyo3::prelude::*;

/// Parameter: key, possible values, default, meaning.
type ParameterRow = (String, String, String, &'static str);
/// Program of the target `ebpf`: names, unit, whether weights count, default pause in nanoseconds, the only output.
type KernelRow = (Vec<&'static str>, &'static str, bool, Option<u64>, &'static str);
/// Environments outside the simulator in which it runs: technique of the library, recipe of Open vSwitch, whether in
/// Linux' next-hop groups, program of the target `ebpf`, and another program with the parameter and the value that asks
/// for it.
type RunsRow = (
    Option<&'static str>,
    Option<&'static str>,
    bool,
    Option<KernelRow>,
    Option<(&'static str, &'static str, KernelRow)>,
);
/// Key that names it, name, granularity, who decides, what it needs, whether a kernel gives that, page, parameters, where
/// it runs, the state of other switches or hosts that it reads: whose, and which; its mutations: name, and what is broken.
type SchemeRow = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Vec<&'static str>,
    bool,
    &'static str,
    Vec<ParameterRow>,
    RunsRow,
    Option<(&'static str, &'static str)>,
    Vec<(&'static str, &'static str)>,
);

fn kernel(program: KernelProgram) -> KernelRow {
    let KernelProgram { programs, unit, weighted, pause_ns, output } = program;
    (programs.to_vec(), unit, weighted, pause_ns, output)
}

fn runs(runs: Runs) -> RunsRow {
    let variant = runs.kernel_variant.map(|(key, value, program)| (key, value, kernel(program)));
    (runs.technique, runs.open_vswitch, runs.linux, runs.kernel.map(kernel), variant)
}

/// Capabilities that a program of the target `ebpf` has.
pub(crate) fn kernel_gives() -> Vec<&'static str> {
    let given = capability::NAMES.iter().filter(|(_, bit)| capability::KERNEL & bit != 0);
    given.map(|(word, _)| *word).collect()
}

/// Every load balancer.
#[pyfunction]
pub(crate) fn schemes() -> Vec<SchemeRow> {
    catalogue()
        .into_iter()
        .map(|entry| {
            let mutations = registry::find(entry.name).into_iter().flat_map(Descriptor::mutations);
            let mutations = mutations.map(|mutation| (mutation.name, mutation.broken)).collect();
            let Entry { key, name, granularity, decider, needs, page, .. } = entry;
            let elsewhere = entry.reads_elsewhere.map(|elsewhere| match elsewhere {
                Elsewhere::Rack(what) => ("rack", what),
                Elsewhere::Fabric(what) => ("fabric", what),
            });
            let own = if key == TRANSPORT { transport_parameters(name) } else { scheme_parameters(name) };
            let words = capability::NAMES.iter().filter(|(_, bit)| needs & bit != 0).map(|(word, _)| *word);
            let parameter =
                |Parameter { key, wants, default, meaning }: Parameter| (key, wants, default, meaning);
            let parameters = own.into_iter().map(parameter).collect();
            let fits = needs & !capability::KERNEL == 0 && decider != Decider::Beforehand;
            let decider = decider.name();
            let runs = runs(entry.runs);
            (
                key,
                name,
                granularity,
                decider,
                words.collect(),
                fits,
                page,
                parameters,
                runs,
                elsewhere,
                mutations,
            )
        })
        .collect()
}
