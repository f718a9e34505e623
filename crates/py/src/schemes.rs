//! The list of load balancers.

use anabranch_scenario::{
    Decider, Entry, Parameter, TRANSPORT, catalogue, scheme_parameters, transport_parameters,
};
use anabranch_split::capability;
use pyo3::prelude::*;

/// Parameter: key, possible values, default, meaning.
type ParameterRow = (String, String, String, &'static str);
/// The key that names it, name, granularity, who decides, what it needs, whether a kernel gives that, page, parameters.
type SchemeRow = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Vec<&'static str>,
    bool,
    &'static str,
    Vec<ParameterRow>,
);

/// Every load balancer.
#[pyfunction]
pub(crate) fn schemes() -> Vec<SchemeRow> {
    catalogue()
        .into_iter()
        .map(|Entry { key, name, granularity, decider, needs, page }| {
            let own = if key == TRANSPORT { transport_parameters(name) } else { scheme_parameters(name) };
            let words = capability::NAMES.iter().filter(|(_, bit)| needs & bit != 0).map(|(word, _)| *word);
            let parameter =
                |Parameter { key, wants, default, meaning }: Parameter| (key, wants, default, meaning);
            let parameters = own.into_iter().map(parameter).collect();
            let kernel = needs & !capability::KERNEL == 0 && decider != Decider::Beforehand;
            (key, name, granularity, decider.name(), words.collect(), kernel, page, parameters)
        })
        .collect()
}
