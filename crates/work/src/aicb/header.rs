//! First line of a workload: the rule of its layers, and the groups of its ranks.

use crate::WorkError;

/// Order in which layers compute and communicate (SimAI, `Workload.cc`, `iterate_...`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Nothing forward; gradients of weights among all ranks, beside what follows.
    Data,
    /// States among all ranks; gradients of inputs beside those of weights.
    Model,
    /// States and gradients of inputs within groups, gradients of weights across them, beside what follows.
    Transformer,
}

/// Facts of the first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) rule: Rule,
    pub(super) ranks: u32,
    /// Ranks that share each layer.
    pub(super) tensor: u32,
    /// Replicas among which experts are divided.
    pub(super) expert: u32,
    /// Stages, each of which does what the file lists.
    pub(super) pipeline: u32,
    /// Layers from which forward passes are repeated, and those before whose backward pass that happens.
    pub(super) checkpoints: Vec<u32>,
    pub(super) initiates: Vec<u32>,
}

const RULES: [(&str, Rule); 4] = [
    ("DATA", Rule::Data),
    ("MODEL", Rule::Model),
    ("HYBRID_TRANSFORMER", Rule::Transformer),
    ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", Rule::Transformer),
];
/// Words of the first line that change nothing here: layers are listed for each micro-batch and chunk.
const UNUSED: [&str; 3] = ["vpp", "ga", "pp_comm"];

/// Words of a line with its position in a file.
struct Words<'a> {
    words: std::str::SplitWhitespace<'a>,
    position: (&'a str, u32),
}

impl Words<'_> {
    fn number(&mut self, key: &str) -> Result<u32, WorkError> {
        let word = self.words.next().unwrap_or("");
        word.parse().map_err(|_| {
            let problem = format!("{key}: {word}: no whole number");
            WorkError::at_line(self.position.0, self.position.1, problem, "write one, as in `ep: 1`")
        })
    }

    fn list(&mut self, key: &str) -> Result<Vec<u32>, WorkError> {
        let count = self.number(key)?;
        (0..count).map(|_| self.number(key)).collect()
    }
}

pub(super) fn read(line: &str, position: (&str, u32), ranks: Option<u32>) -> Result<Header, WorkError> {
    let refuse = |problem: String, hint: &str| Err(WorkError::at_line(position.0, position.1, problem, hint));
    let mut words = Words { words: line.split_whitespace(), position };
    let name = words.words.next().unwrap_or("");
    let Some((_, rule)) = RULES.into_iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = RULES.iter().map(|(name, _)| *name).collect();
        return refuse(format!("{name}: not read"), &format!("begin with one of {}", names.join(", ")));
    };
    let (mut tensor, mut expert, mut pipeline, mut all) = (None, 1, 1, None);
    let (mut checkpoints, mut initiates) = (Vec::new(), Vec::new());
    while let Some(word) = words.words.next() {
        match word.trim_end_matches(':') {
            key @ "model_parallel_NPU_group" => tensor = Some(words.number(key)?),
            key @ "ep" => expert = words.number(key)?,
            key @ "pp" => pipeline = words.number(key)?,
            key @ "all_gpus" => all = Some(words.number(key)?),
            key @ "checkpoints" => checkpoints = words.list(key)?,
            key @ "checkpoint_initiates" => initiates = words.list(key)?,
            key if UNUSED.contains(&key) => {
                words.number(key)?;
            }
            _ => return refuse(format!("{word}: unknown"), "leave it out with its value"),
        }
    }
    let Some(ranks) = all.or(ranks) else {
        return refuse("no number of ranks".to_owned(), "add `all_gpus: N`, or give `ranks` in the scenario");
    };
    // As many as there are where it is 0, as in SimAI (`Sys.cc`, `mock_nccl_grobal_group_init`).
    let tensor = match rule {
        Rule::Data => 1,
        Rule::Model => ranks,
        Rule::Transformer => tensor.filter(|&tensor| tensor > 0).unwrap_or(ranks),
    };
    let parts = (u64::from(tensor) * u64::from(expert)).saturating_mul(pipeline.into());
    if ranks > 1 << 20 {
        return refuse(format!("{ranks} ranks"), "ask for at most 1048576");
    }
    if parts == 0 || !u64::from(ranks).is_multiple_of(parts) {
        let problem = format!("{ranks} ranks in groups of {tensor} x {expert} in {pipeline} stages");
        return refuse(problem, "let model_parallel_NPU_group x ep x pp divide all_gpus");
    }
    Ok(Header { rule, ranks, tensor, expert, pipeline, checkpoints, initiates })
}

impl Header {
    /// Refuses layers that the line names and the file does not have.
    pub(super) fn check_layers(&self, count: usize, (file, line): (&str, u32)) -> Result<(), WorkError> {
        let named = self.checkpoints.iter().chain(&self.initiates);
        if let Some(layer) = named.copied().find(|&layer| layer as usize >= count) {
            let problem = format!("checkpoints: layer {layer} of {count}");
            return Err(WorkError::at_line(file, line, problem, "name layers from 0 on"));
        }
        let begun = |layer: u32| self.checkpoints.iter().any(|&checkpoint| checkpoint <= layer);
        if let Some(layer) = self.initiates.iter().copied().find(|&layer| !begun(layer)) {
            let problem = format!("checkpoint_initiates: no checkpoint up to layer {layer}");
            return Err(WorkError::at_line(file, line, problem, "name one in `checkpoints`"));
        }
        Ok(())
    }
}
