//! WCMP: a table of few entries, weights reduced to fit; the paper's, VALO's drawing of it, and its published code.

use super::table::{Layout, Rule, Table};
use super::{Granularity, Row};
use crate::apportion::wcmp::{Floor, proportional};
use crate::control;
use crate::{Members, PlanError};
use std::format;

/// Most entries: members' weights times entries stay below 2^127.
const ENTRIES_MAX: u32 = 1 << 20;

pub(super) const WCMP: Row = Row {
    name: "wcmp",
    granularity: Granularity::Stateless,
    summary: "table of at most `entries` (16) entries with the least oversubscription, picked by hash % size",
    source: "Zhou et al., EuroSys 2014, alg. 1",
    build: |members, parameters| {
        Table::planned(Greedy { entries: entries(parameters.take("entries", 16)?)? }, members)
    },
};

pub(super) const PROPORTIONAL: Row = Row {
    name: "wcmp-proportional",
    granularity: Granularity::Stateless,
    summary: "weights reduced in proportion to about `entries` (16), at least one each, picked by hash % size",
    source: "VALO Fig. 3b",
    build: |members, parameters| {
        Table::planned(Proportional { entries: entries(parameters.take("entries", 16)?)? }, members)
    },
};

pub(super) const PUBLISHED: Row = Row {
    name: "wcmp-published",
    granularity: Granularity::Stateless,
    summary: "weights reduced in proportion to `entries` (10), what rounds to 0 starves, then 16-bit scoring",
    source: "VALO artefact (yeonhooy/VALO-OVS-SIGMETRICS25)",
    build: |members, parameters| {
        Table::planned(Published { entries: entries(parameters.take("entries", 10)?)? }, members)
    },
};

#[derive(Clone)]
struct Greedy {
    entries: u32,
}

impl Rule for Greedy {
    fn lay_out(&mut self, members: &Members) -> Result<Layout, PlanError> {
        control::wcmp(&members.effective(), self.entries).map(Layout::Entries)
    }
}

#[derive(Clone)]
struct Proportional {
    entries: u32,
}

impl Rule for Proportional {
    fn lay_out(&mut self, members: &Members) -> Result<Layout, PlanError> {
        let weights = members.effective();
        if weights.iter().filter(|&&w| w > 0).count() > self.entries as usize {
            return Err(control::too_few(&weights, self.entries));
        }
        let counts = proportional(&weights, self.entries, Floor::One);
        Ok(Layout::Entries(control::runs(counts.into_iter().map(|c| c as u32))))
    }
}

#[derive(Clone)]
struct Published {
    entries: u32,
}

impl Rule for Published {
    fn lay_out(&mut self, members: &Members) -> Result<Layout, PlanError> {
        let weights = members.effective();
        let reduced = proportional(&weights, self.entries, Floor::Zero);
        if reduced.iter().all(|&w| w == 0) {
            return Err(PlanError::new(
                format!("entries: {} reduce every weight to zero", self.entries),
                "raise entries, or use wcmp",
            ));
        }
        Ok(Layout::Scores(reduced))
    }
}

fn entries(entries: u32) -> Result<u32, PlanError> {
    if (1..=ENTRIES_MAX).contains(&entries) {
        return Ok(entries);
    }
    Err(PlanError::new(format!("entries: {entries} is out of range"), format!("give 1 to {ENTRIES_MAX}")))
}
