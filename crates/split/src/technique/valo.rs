//! VALO: scoring by gravity instead of weight, so that the score graph's volumes are the asked shares
//! (VALO section 4.2, Eq. 16). Gravity is recomputed over the survivors when a path dies: gravities left standing are
//! 14.9 % off on average at four paths.

use super::scoring::{Narrow, Scorer, Wide};
use super::{Granularity, Parameters, Row, Stateless, Step, Technique};
use crate::apportion::gravity::{FACTOR_MAX, gravity, quantise};
use crate::{Members, PlanError};
use std::format;
use std::sync::Arc;
use std::vec::Vec;

pub(super) const ROW: Row = Row {
    name: "valo",
    granularity: Granularity::Stateless,
    summary: "scoring by gravity: exact shares (precision=wide|ovs|thousandths, on_failure=recompute|stale)",
    source: "VALO sec. 4.2, Eq. 16; CARP 1998",
    build: |members, parameters: &mut Parameters| {
        let precision = parameters.take_choice("precision", &["wide", "ovs", "thousandths"])?;
        let stale = parameters.take_choice("on_failure", &["recompute", "stale"])? == "stale";
        Ok(match precision {
            "wide" => Technique::stateless(Valo::<Wide>::new(members, stale, Rounding::To(FACTOR_MAX))?),
            // An unmodified Open vSwitch honours the weights if these are written into the group.
            "ovs" => Technique::stateless(Valo::<Narrow>::new(members, stale, Rounding::To(65_535))?),
            _ => Technique::stateless(Valo::<Narrow>::new(members, stale, Rounding::Thousandths)?),
        })
    },
};

/// How a gravity in (0, 1] becomes an integer.
#[derive(Clone, Copy)]
enum Rounding {
    /// To the nearest multiple of 1 / max.
    To(u32),
    /// Cut to thousandths, at least one, as the paper's published code (AMBIGUITIES S0.4).
    Thousandths,
}

struct Valo<S> {
    scorer: S,
    stale: bool,
    rounding: Rounding,
    gravity: Vec<f64>,
}

impl<S: Scorer> Valo<S> {
    fn new(members: &Members, stale: bool, rounding: Rounding) -> Result<Self, PlanError> {
        let mut gravity =
            if stale { gravity(members.weights().as_slice()) } else { gravity(&members.effective()) };
        for (g, up) in gravity.iter_mut().zip(members.taking()) {
            *g = if up { *g } else { 0.0 };
        }
        let factors = match rounding {
            Rounding::To(max) => quantise(&gravity, max),
            Rounding::Thousandths => {
                gravity.iter().map(|&g| if g > 0.0 { ((1000.0 * g) as u32).max(1) } else { 0 }).collect()
            }
        };
        let scorer = S::new(&factors.into_iter().map(u64::from).collect::<Vec<_>>())?;
        Ok(Self { scorer, stale, rounding, gravity })
    }
}

impl<S: Scorer + 'static> Stateless for Valo<S> {
    fn replanned(&self, members: &Members) -> Result<Arc<dyn Stateless>, PlanError> {
        Ok(Arc::new(Self::new(members, self.stale, self.rounding)?))
    }

    fn pick(&self, flows: &[u64], out: &mut [u16]) {
        self.scorer.pick(flows, out);
    }

    fn shares(&self) -> Vec<f64> {
        self.scorer.shares()
    }

    fn state_bytes(&self) -> usize {
        self.scorer.bytes()
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        let gravities = self
            .gravity
            .iter()
            .enumerate()
            .filter(|&(_, &g)| g > 0.0)
            .map(|(i, g)| Step { what: format!("gravity of path {}", i + 1), value: format!("{g:.6}") });
        gravities.chain(self.scorer.explain(flow as u32)).collect()
    }
}
