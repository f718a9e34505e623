//! Parameters of GLB. It picks as ARS does ([`crate::ars::pick::Best`]); a port's quality is the lesser of its own and that
//! of the best link behind it.

use crate::ars;

/// Parameters of GLB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// How members are assigned and qualities computed.
    pub local: ars::pick::Parameters,
    /// Time between two messages of a switch to its neighbours, in nanoseconds.
    pub period_ns: u64,
}

impl Default for Parameters {
    /// Defaults: those of ARS, and a message every 50 us.
    fn default() -> Self {
        Self { local: ars::pick::Parameters::default(), period_ns: 50_000 }
    }
}
