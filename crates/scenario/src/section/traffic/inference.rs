//! `inference` of a `[[traffic]]` of kind `graph`: a model, the groups of ranks that serve it, and their requests.

use anabranch_form::Form;
use anabranch_form::unit::{Bytes, Choice, Count, OneOrMore, Positive, Time, Whole};
use anabranch_work::inference::{Asked, Decode, Inference, Prefill};

const MANY: Count = super::foreign::MANY;
const WIDTH: Whole = Whole { least: 1, most: 1 << 24 };
/// Batches of a group, each with a processor of its own.
const SLOTS: Count = Count { least: 1, most: 256 };
const CACHES: [&str; 2] = ["layer", "end"];

/// Model and groups, and when requests come.
#[derive(Clone, Debug, PartialEq)]
pub struct InferenceSetting {
    /// Model and groups, without requests.
    pub shape: Inference,
    /// Number of requests that come at random.
    pub requests: Option<u32>,
    /// How many of them come in a second.
    pub requests_per_s: Option<f64>,
    /// When requests come, in picoseconds, where that is not random.
    pub arrivals_ps: Option<Vec<u64>>,
    /// Tokens of prompts, in turn.
    pub prompts: Vec<u64>,
    /// Tokens that requests get, in turn.
    pub outputs: Vec<u64>,
}

impl InferenceSetting {
    /// A layer of one rank of either kind, to be filled.
    pub(super) fn fresh() -> Self {
        let shape = Inference {
            layers: 1,
            hidden: 1,
            kv_heads: 1,
            head: 1,
            value_bytes: 2,
            experts_per_token: 0,
            prefill: Prefill { groups: 1, tensor: 1, token_ps: 0 },
            by_layer: true,
            decode: Decode { groups: 1, tensor: 1, expert: 1, slots: 1, batch: 1, step_ps: vec![0] },
            requests: Vec::new(),
        };
        let (prompts, outputs) = (vec![1], vec![1]);
        Self { shape, requests: None, requests_per_s: None, arrivals_ps: None, prompts, outputs }
    }

    /// The shape with requests that come at these times.
    pub(crate) fn with_arrivals(&self, arrivals_ps: impl Iterator<Item = u64>) -> Inference {
        let asked = |(number, arrival_ps): (usize, u64)| Asked {
            arrival_ps,
            prompt_tokens: self.prompts[number % self.prompts.len()],
            output_tokens: self.outputs[number % self.outputs.len()],
        };
        Inference { requests: arrivals_ps.enumerate().map(asked).collect(), ..self.shape.clone() }
    }
}

/// Shows the keys.
pub(super) fn visit(form: &mut impl Form, inference: &mut InferenceSetting) {
    visit_requests(form, inference);
    visit_model(form, &mut inference.shape);
    let shape = &mut inference.shape;
    form.table("prefill", "Ranks that make first tokens and fill caches.", |form| {
        let prefill = &mut shape.prefill;
        form.key("groups", MANY, &mut prefill.groups, "Groups, to which requests are dealt in turn.");
        let meaning = "Ranks of each group. They add their partial sums twice a layer, by an all-reduce of the \
                       prompt's states in a ring.";
        form.key("tensor", MANY, &mut prefill.tensor, meaning);
        let meaning = "Computing of all layers for each token of a prompt.";
        form.required("token", Time, &mut prefill.token_ps, meaning);
    });
    form.table("decode", "Ranks that make all other tokens, step by step.", |form| {
        visit_decode(form, &mut shape.decode);
    });
}

fn visit_requests(form: &mut impl Form, inference: &mut InferenceSetting) {
    form.optional(
        "requests",
        MANY,
        &mut inference.requests,
        "Number of requests that come at random, `requests_per_s`.",
    );
    form.optional(
        "requests_per_s",
        Positive { most: 1e9 },
        &mut inference.requests_per_s,
        "How many requests come in a second, on average: a Poisson process, drawn from the seed.",
    );
    form.optional(
        "arrivals",
        OneOrMore(Time),
        &mut inference.arrivals_ps,
        "When each request comes, from `start` of the traffic on, in ascending order. Instead of `requests` and \
         `requests_per_s`.",
    );
    let random = [inference.requests.is_some(), inference.requests_per_s.is_some()];
    let hint = "give `requests` and `requests_per_s`, or `arrivals`".to_owned();
    match &inference.arrivals_ps {
        None if random != [true; 2] => form.refuse("", "nothing says when requests come".to_owned(), hint),
        Some(_) if random != [false; 2] => {
            form.refuse("arrivals", "there are random ones beside them".to_owned(), hint);
        }
        Some(times) if times.is_empty() => form.refuse("arrivals", "no request".to_owned(), hint),
        Some(times) if !times.is_sorted() => {
            form.refuse("arrivals", "not in ascending order".to_owned(), "sort them".to_owned());
        }
        _ => {}
    }
    let meaning = "Tokens of each prompt; of a list, requests take them in turn.";
    form.required("prompt", OneOrMore(WIDTH), &mut inference.prompts, meaning);
    let meaning = "Tokens that each request gets, the first one too; of a list, in turn.";
    form.required("output", OneOrMore(WIDTH), &mut inference.outputs, meaning);
    for (name, tokens) in [("prompt", &mut inference.prompts), ("output", &mut inference.outputs)] {
        if tokens.is_empty() {
            form.refuse(name, "no number of tokens".to_owned(), "give at least one".to_owned());
            tokens.push(1);
        }
    }
}

fn visit_model(form: &mut impl Form, shape: &mut Inference) {
    let meaning = "Layers, each of attention and a feed-forward network, which take half of its time each.";
    form.required("layers", MANY, &mut shape.layers, meaning);
    form.required("hidden", WIDTH, &mut shape.hidden, "Width of a token's state, in values.");
    let meaning = "Heads of keys and values, which ranks of a group divide among them.";
    form.required("kv_heads", MANY, &mut shape.kv_heads, meaning);
    form.required("head", WIDTH, &mut shape.head, "Width of a head.");
    let value = Bytes { least: 1, most: 16 };
    form.key("value", value, &mut shape.value_bytes, "Size of a value, of a state as of a cache.");
    let mut experts = (shape.experts_per_token > 0).then_some(shape.experts_per_token);
    form.optional(
        "experts_per_token",
        MANY,
        &mut experts,
        "Experts that each token goes to where it is decoded. Default: there are none, and ranks of a group share \
         feed-forward networks as they do in prefill.",
    );
    shape.experts_per_token = experts.unwrap_or(0);
    let mut cache = CACHES[usize::from(!shape.by_layer)];
    form.key(
        "cache",
        Choice(&CACHES),
        &mut cache,
        "When a prompt's keys and values go to the ranks that decode: those of a `layer` once its attention is computed, \
         and of the last one with the first token; or all at the `end`, with the first token.",
    );
    shape.by_layer = cache == CACHES[0];
}

fn visit_decode(form: &mut impl Form, decode: &mut Decode) {
    form.key(
        "groups",
        MANY,
        &mut decode.groups,
        "Groups, to which requests with more than one token are dealt in turn.",
    );
    let meaning = "Ranks of each group. They add their partial sums twice a layer, by an all-reduce of a state for each \
                   request in a ring; with experts once, behind attention.";
    form.key("tensor", MANY, &mut decode.tensor, meaning);
    let meaning = "Neighbouring groups among which experts are divided: tokens go to them and back by direct \
                   all-to-alls in each layer, so that these groups take their steps together.";
    form.key("expert", MANY, &mut decode.expert, meaning);
    let meaning = "Requests that a group decodes together: they begin when all their caches have come, and the next \
                   ones when the last of them has ended.";
    form.key("batch", MANY, &mut decode.batch, meaning);
    let meaning = "Batches that a group has under way at once, each at its own pace; a batch takes the slot of the one \
                   as many before it.";
    form.key("slots", SLOTS, &mut decode.slots, meaning);
    let meaning = "Computing of all layers in a step, with one request, with two, and so on; the last one for more. With \
                   several slots as if each had as many.";
    form.required("step", OneOrMore(Time), &mut decode.step_ps, meaning);
    if decode.step_ps.is_empty() {
        form.refuse("step", "no time".to_owned(), "give at least one".to_owned());
    }
}
