//! DBB's plan for a pair of leaves, laid out as the paper's Tables I to IV.

use crate::dbb::cycles::{Controller, PairPaths, TOLERATED_LOSS};
use crate::dbb::dispatch::Dispatch;
use crate::dbb::parameters::{Dbb, PairCycle};
use crate::dbb::stages::Stages;
use crate::pair_plan::{PairPlan, PairPlanner, PlanColumn, PlanFact, PlanTable, PlanValue};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_plan::FlowLink;
use anabranch_split::PlanError;
use std::collections::BTreeSet;

impl PairPlanner for Dbb {
    fn plan_pair(
        &self,
        fabric: &Fabric,
        links: &LinkState,
        from: u32,
        to: u32,
    ) -> Result<PairPlan, PlanError> {
        let mut controller = Controller::new(self.clone(), fabric, 0);
        controller.learn(links);
        let leaf = |node| controller.leaves().iter().position(|&leaf| leaf == node).map(|leaf| leaf as u32);
        let no_path = || {
            let [from, to] = [from, to].map(|node| &fabric.nodes()[node as usize].name);
            PlanError::new(
                format!("no path joins {from} and {to}"),
                "give two leaves that are joined when the run begins",
            )
        };
        let (Some(source), Some(destination)) = (leaf(from), leaf(to)) else { return Err(no_path()) };
        let PairPaths { nodes, ports } = controller.paths(source, destination);
        if ports.is_empty() {
            return Err(no_path());
        }
        let number = |node| nodes.iter().position(|&known| known == node).unwrap_or(0) as u32;
        let full: Vec<FlowLink> = ports.iter().map(|&port| controller.link(port, number)).collect();
        let mut links = full.clone();
        FlowLink::reduce(&mut links);
        let PairCycle { max_flow, dispatch, loss } = self.dispatch(&links, 0, number(to))?;
        let stages = Stages::of(&links, 0, number(to))?;
        let plan = Laid { fabric, nodes, ports, links: full, stages, dispatch };
        let unit_bps = plan.links[0].bandwidth / links[0].bandwidth.max(1);
        let max_flow_bps = max_flow * unit_bps;
        Ok(PairPlan {
            facts: plan.facts(max_flow_bps, loss),
            tables: plan.tables(max_flow_bps as f64 * (1.0 - loss)),
            notes: plan.notes(loss),
        })
    }
}

/// A plan with the names of what it is about.
struct Laid<'a> {
    fabric: &'a Fabric,
    /// Nodes by the numbers of the pair's switches.
    nodes: Vec<u32>,
    /// Port that each link is.
    ports: Vec<u32>,
    /// Links with the bandwidth that the pair plans with, in bits per second.
    links: Vec<FlowLink>,
    stages: Stages,
    dispatch: Dispatch,
}

impl Laid<'_> {
    fn name(&self, switch: u32) -> String {
        self.fabric.nodes()[self.nodes[switch as usize] as usize].name.clone()
    }

    /// Next hop that a link leads to, with its number if it has parallel ones.
    fn next_hop(&self, link: usize) -> String {
        let FlowLink { from, to, .. } = self.links[link];
        let leads = |port: &&u32| self.fabric.ports()[**port as usize].to == self.nodes[to as usize];
        let parallel: Vec<u32> =
            self.fabric.ports_of(self.nodes[from as usize]).iter().filter(leads).copied().collect();
        match parallel.iter().position(|&port| port == self.ports[link]) {
            Some(index) if parallel.len() > 1 => format!("{}#{index}", self.name(to)),
            _ => self.name(to),
        }
    }

    /// Whether a packet of the cycle comes to a switch.
    fn used(&self, switch: u32) -> bool {
        switch == 0 || self.dispatch.switch_quota(switch) > 0
    }

    /// Switches to which a switch sends packets of the cycle.
    fn next_switches(&self, switch: u32) -> BTreeSet<u32> {
        let links = self.links.iter().zip(&self.dispatch.quotas);
        links.filter(|(link, quota)| link.from == switch && **quota > 0).map(|(link, _)| link.to).collect()
    }

    fn facts(&self, max_flow_bps: u64, loss: f64) -> Vec<PlanFact> {
        let fact = |key, title, value| PlanFact { key, title, value, because: String::new() };
        let sums: Vec<String> = self.dispatch.ratio_sums.iter().map(u64::to_string).collect();
        let carried = (max_flow_bps as f64 * (1.0 - loss)).round() as u64;
        vec![
            fact("max_flow_bps", "maximum flow", max_flow_bps.into()),
            fact("carried_bps", "carried by the cycle", carried.into()),
            fact("lost_pct", "lost to rounding, %", PlanValue::Number(100.0 * loss)),
            fact("stages", "stages", self.stages.switches.len().into()),
            PlanFact {
                because: format!("lcm({})", sums.join(", ")),
                ..fact("cycle_packets", "cycle N, packets", self.dispatch.cycle.into())
            },
        ]
    }

    fn tables(&self, carried_bps: f64) -> Vec<PlanTable> {
        let choices = (0..self.stages.switches.len()).filter(|&stage| {
            self.stages.switches[stage].iter().any(|&switch| self.next_switches(switch).len() > 1)
        });
        let mut tables = vec![self.stage_table(), self.link_table(carried_bps)];
        tables.extend(choices.map(|stage| self.dispatching(stage)));
        tables.extend([self.cycle(), self.lists()]);
        tables
    }

    fn stage_table(&self) -> PlanTable {
        let row = |(stage, switches): (usize, &Vec<u32>)| {
            let used = switches.iter().filter(|&&switch| self.used(switch)).map(|&switch| self.name(switch));
            let sum = self.dispatch.ratio_sums.get(stage).map_or(PlanValue::None, |&sum| sum.into());
            vec![(stage + 1).into(), sum, PlanValue::names(used)]
        };
        PlanTable {
            key: "stages".to_owned(),
            title: "Stages: switches by distance, and the sum of their links' SIR".to_owned(),
            columns: vec![
                PlanColumn::new("stage", "stage"),
                PlanColumn::new("ratio_sum", "SIR sum"),
                PlanColumn::new("switches", "switches"),
            ],
            rows: self.stages.switches.iter().enumerate().map(row).collect(),
        }
    }

    fn link_table(&self, carried_bps: f64) -> PlanTable {
        let row = |(index, link): (usize, &FlowLink)| {
            let Dispatch { ratios, quotas, cycle, .. } = &self.dispatch;
            let flow_bps = (carried_bps * quotas[index] as f64 / *cycle as f64).round() as u64;
            vec![
                self.stages.of_switch(link.from).map_or(PlanValue::None, |stage| (stage + 1).into()),
                PlanValue::Name(format!("{}>{}", self.name(link.from), self.next_hop(index))),
                link.bandwidth.into(),
                flow_bps.into(),
                ratios[index].into(),
                quotas[index].into(),
            ]
        };
        PlanTable {
            key: "links".to_owned(),
            title: "Links: flow, simple integer ratio within the stage (SIR), packets of a cycle".to_owned(),
            columns: vec![
                PlanColumn::new("stage", "stage"),
                PlanColumn::new("link", "link"),
                PlanColumn::new("capacity_bps", "capacity"),
                PlanColumn::new("flow_bps", "flow"),
                PlanColumn::new("ratio", "SIR"),
                PlanColumn::new("quota_packets", "quota"),
            ],
            rows: self.links.iter().enumerate().map(row).collect(),
        }
    }

    /// Tables I and II: what is left for each next switch before each packet, and which one it takes.
    fn dispatching(&self, stage: usize) -> PlanTable {
        let next: Vec<u32> =
            self.stages.switches[stage + 1].iter().copied().filter(|&switch| self.used(switch)).collect();
        let row = |(sequence, row): (usize, &Vec<u32>)| {
            let link = row[stage] as usize;
            let left = |&switch: &u32| PlanValue::Whole(self.dispatch.switch_left(switch, sequence));
            vec![
                (sequence + 1).into(),
                PlanValue::Name(self.name(self.links[link].from)),
                PlanValue::List(next.iter().map(left).collect()),
                PlanValue::Name(self.next_hop(link)),
            ]
        };
        let part = |&switch: &u32| {
            let name = self.name(switch);
            let heading = format!("{name}\nof {}", self.dispatch.switch_quota(switch));
            (name, heading)
        };
        PlanTable {
            key: format!("dispatching_stage_{}", stage + 1),
            title: format!(
                "Dispatching at stage {}: packets left for each next switch, of its quota",
                stage + 1
            ),
            columns: vec![
                PlanColumn::new("packet", "packet"),
                PlanColumn::new("switch", "at"),
                PlanColumn {
                    parts: next.iter().map(part).collect(),
                    ..PlanColumn::new("left_packets", "left")
                },
                PlanColumn::new("next_hop", "takes"),
            ],
            rows: self.dispatch.rows.iter().enumerate().map(row).collect(),
        }
    }

    /// Tables III and IV: the path of each packet of the cycle.
    fn cycle(&self) -> PlanTable {
        let row = |(sequence, row): (usize, &Vec<u32>)| {
            let path =
                std::iter::once(self.name(0)).chain(row.iter().map(|&link| self.next_hop(link as usize)));
            vec![(sequence + 1).into(), PlanValue::names(path)]
        };
        let part = |stage| {
            let name = format!("stage {stage}");
            (name.clone(), name)
        };
        PlanTable {
            key: "cycle".to_owned(),
            title: "Cycle: the path of each packet".to_owned(),
            columns: vec![
                PlanColumn::new("packet", "packet"),
                PlanColumn {
                    parts: (1..=self.stages.switches.len()).map(part).collect(),
                    ..PlanColumn::new("path", "path")
                },
            ],
            rows: self.dispatch.rows.iter().enumerate().map(row).collect(),
        }
    }

    fn lists(&self) -> PlanTable {
        let mut rows = Vec::new();
        for (stage, switches) in self.stages.switches.iter().enumerate() {
            for &switch in switches.iter().filter(|&&switch| self.used(switch)) {
                let turns = self.dispatch.turns(switch);
                if !turns.is_empty() {
                    let quota =
                        if switch == 0 { self.dispatch.cycle } else { self.dispatch.switch_quota(switch) };
                    let turns = PlanValue::names(turns.iter().map(|&link| self.next_hop(link as usize)));
                    rows.push(vec![
                        (stage + 1).into(),
                        PlanValue::Name(self.name(switch)),
                        quota.into(),
                        turns,
                    ]);
                }
            }
        }
        PlanTable {
            key: "lists".to_owned(),
            title: "Lists: next hops that each switch repeats for the pair's packets".to_owned(),
            columns: vec![
                PlanColumn::new("stage", "stage"),
                PlanColumn::new("switch", "switch"),
                PlanColumn::new("quota_packets", "quota"),
                PlanColumn::new("next_hops", "next hops in turn"),
            ],
            rows,
        }
    }

    fn notes(&self, loss: f64) -> Vec<String> {
        let mut sent = vec![0u64; self.links.len()];
        for &link in self.dispatch.rows.iter().flatten() {
            sent[link as usize] += 1;
        }
        let off = sent.iter().zip(&self.dispatch.quotas).filter(|(sent, quota)| sent != quota).count();
        let rounded = (loss > TOLERATED_LOSS).then(|| {
            "the exact cycle is longer than routing.scheme.max_n allows, and rounding loses a part of the maximum flow; \
             raise it, or give links rates with a common divisor"
                .to_owned()
        });
        let literal = (off > 0).then(|| {
            format!(
                "the cycle sends more or less than the quota over {off} of {} links; routing.scheme.rule = \"quota\" \
                 keeps all quotas",
                sent.len()
            )
        });
        rounded.into_iter().chain(literal).collect()
    }
}
