//! Random: equal shares, whatever the weights say (VALO section 2.2.2; what ECMP does).

use super::{Granularity, Parameters, Row, Stateless, Step, Technique};
use crate::control::living;
use crate::picks::{self, Uniform};
use crate::{Members, PlanError, Still};
use std::string::ToString;
use std::sync::Arc;
use std::vec;
use std::vec::Vec;

pub(super) const ROW: Row = Row {
    name: "random",
    granularity: Granularity::Stateless,
    summary: "equal shares over the living paths; weights are ignored",
    source: "VALO sec. 2.2.2; RFC 2992",
    build: |members, _: &mut Parameters| Ok(Technique::stateless(Random::new(members))),
};

struct Random {
    living: Vec<u16>,
    members: usize,
}

impl Random {
    fn new(members: &Members) -> Self {
        Self { living: living(&members.effective()), members: members.len() }
    }
}

impl Stateless for Random {
    fn replanned(&self, members: &Members) -> Result<Arc<dyn Stateless>, PlanError> {
        Ok(Arc::new(Self::new(members)))
    }

    fn pick(&self, flows: &[u64], out: &mut [u16]) {
        picks::each::<Uniform, _>(&self.living[..], &mut (), &mut Still, flows, out);
    }

    fn shares(&self) -> Vec<f64> {
        let mut shares = vec![0.0; self.members];
        for &member in &self.living {
            shares[usize::from(member)] = 1.0 / self.living.len() as f64;
        }
        shares
    }

    fn state_bytes(&self) -> usize {
        size_of_val(&self.living[..])
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        let index = picks::uniform::index(flow as u32, self.living.len());
        vec![Step { what: "entry".to_string(), value: std::format!("{index} of {}", self.living.len()) }]
    }
}
