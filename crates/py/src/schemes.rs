//! The list of load balancers.

use anabranch_scenario::{Decider, Entry, Parameter, catalogue, scheme_parameters};
use anabranch_split::capability;
use pyo3::prelude::*;

/// Key, what may be written, default, meaning.
type ParameterRow = (String, String, String, &'static str);
/// Name, granularity, who decides, what it needs, whether a kernel gives that, page, parameters.
type SchemeRow =
    (&'static str, &'static str, &'static str, Vec<&'static str>, bool, &'static str, Vec<ParameterRow>);

/// Every load balancer that `routing.balance` can name.
#[pyfunction]
pub(crate) fn schemes() -> Vec<SchemeRow> {
    catalogue()
        .into_iter()
        .map(|Entry { name, granularity, decider, needs, page }| {
            let words = capability::NAMES.iter().filter(|(_, bit)| needs & bit != 0).map(|(word, _)| *word);
            let parameter =
                |Parameter { key, wants, default, meaning }: Parameter| (key, wants, default, meaning);
            let parameters = scheme_parameters(name).into_iter().map(parameter).collect();
            let kernel = needs & !capability::KERNEL == 0 && decider != Decider::Beforehand;
            (name, granularity, decider.name(), words.collect(), kernel, page, parameters)
        })
        .collect()
}
