//! Stages: switches by their distance from the source, where every link leads from one stage to the next (DBB, section
//! III-B).

use anabranch_plan::FlowLink;
use anabranch_split::PlanError;

/// The switches of a layered flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stages {
    /// Switches of each stage, the source first, in ascending order.
    pub(crate) switches: Vec<Vec<u32>>,
}

impl Stages {
    /// Stages of `links`, each of which carries something.
    ///
    /// # Errors
    /// A link that leads to the stage of its sender, over a stage, or past the sink: the paper's stages are defined
    /// only where all paths are equally long.
    pub(crate) fn of(links: &[FlowLink], source: u32, sink: u32) -> Result<Self, PlanError> {
        let mut stages = Self { switches: vec![vec![source]] };
        while let Some(last) = stages.switches.last() {
            let mut next: Vec<u32> =
                links.iter().filter(|link| last.contains(&link.from)).map(|link| link.to).collect();
            next.sort_unstable();
            next.dedup();
            next.retain(|&switch| stages.of_switch(switch).is_none());
            if next.is_empty() {
                break;
            }
            stages.switches.push(next);
        }
        for &FlowLink { from, to, .. } in links {
            let (Some(near), Some(far)) = (stages.of_switch(from), stages.of_switch(to)) else {
                return Err(refused(from, to, "no path from the source leads to it"));
            };
            if far != near + 1 {
                return Err(refused(
                    from,
                    to,
                    &format!("it leads from stage {} to stage {}", near + 1, far + 1),
                ));
            }
        }
        if stages.switches.last().is_some_and(|last| last[..] != [sink]) {
            return Err(PlanError::new(
                format!("dbb: switch {sink} is not the only one of the last stage"),
                "use it where all paths of a pair have the same length, as in leaf-spine, fat-tree and VL2 fabrics",
            ));
        }
        Ok(stages)
    }

    /// The stage of a switch, counted from zero.
    pub(crate) fn of_switch(&self, switch: u32) -> Option<usize> {
        self.switches.iter().position(|stage| stage.contains(&switch))
    }
}

fn refused(from: u32, to: u32, why: &str) -> PlanError {
    PlanError::new(
        format!("dbb: the link from switch {from} to switch {to} fits no stage: {why}"),
        "use it where all paths of a pair have the same length, as in leaf-spine, fat-tree and VL2 fabrics",
    )
}
