//! Table of the requests that workload graphs of inference serve.

use crate::column::{Column, Values, column, ns};
use crate::steps::Job;
use anabranch_work::{NodeId, NodeTimes, Request};

/// A request with the times of its graph, as they were and without contention.
struct Row<'a> {
    job: u64,
    number: u64,
    request: &'a Request,
    times: &'a [NodeTimes],
    ideal: &'a [NodeTimes],
}

/// Moments of a request in picoseconds; none of what has not happened.
impl Row<'_> {
    fn at(&self, nodes: &[NodeId]) -> Option<u64> {
        NodeTimes::last_end_ps(nodes, self.times)
    }

    /// Time between two moments of the request.
    fn span(times: &[NodeTimes], from: &[NodeId], to: &[NodeId]) -> Option<u64> {
        Some(NodeTimes::last_end_ps(to, times)?.saturating_sub(NodeTimes::last_end_ps(from, times)?))
    }

    fn first_token(&self, times: &[NodeTimes]) -> Option<f64> {
        Self::span(times, &[self.request.arrival], &self.request.first_token).map(ns)
    }

    /// Time for each token after the first; none if there is none.
    fn output_token(&self, times: &[NodeTimes]) -> Option<f64> {
        let after = self.request.output_tokens - 1;
        let span = Self::span(times, &self.request.first_token, &self.request.last_token)?;
        (after > 0).then(|| ns(span) / after as f64)
    }
}

/// Columns of the requests of all graphs.
#[must_use]
pub fn request_columns(jobs: &[Job<'_>]) -> Vec<Column> {
    let mut rows = Vec::new();
    for (job, one) in (0..).zip(jobs) {
        for (number, request) in (0..).zip(one.requests()) {
            rows.push(Row { job, number, request, times: one.times(), ideal: one.ideal_times() });
        }
    }
    let whole = |value: &dyn Fn(&Row<'_>) -> u64| Values::U64(rows.iter().map(value).collect());
    let real =
        |value: &dyn Fn(&Row<'_>) -> Option<f64>| Values::OptionalF64(rows.iter().map(value).collect());
    vec![
        column("job", "Number of the workload graph, in the order of `[[traffic]]`.", whole(&|row| row.job)),
        column("request", "Number of the request, in the order of arrival.", whole(&|row| row.number)),
        column("prompt_tokens", "Tokens of its prompt.", whole(&|row| row.request.prompt_tokens)),
        column(
            "output_tokens",
            "Tokens that it gets, the first one too.",
            whole(&|row| row.request.output_tokens),
        ),
        column(
            "arrival_ns",
            "When it arrived; null if it did not.",
            real(&|row| row.at(&[row.request.arrival]).map(ns)),
        ),
        column(
            "first_token_ns",
            "When its first token was there, at the ranks of its prefill; null if it was not.",
            real(&|row| row.at(&row.request.first_token).map(ns)),
        ),
        column(
            "cache_ns",
            "When its cache was where it is decoded; null if it was not, or if it gets one token.",
            real(&|row| row.at(&row.request.cache).map(ns)),
        ),
        column(
            "last_token_ns",
            "When its last token was there; null if it was not.",
            real(&|row| row.at(&row.request.last_token).map(ns)),
        ),
        column(
            "ttft_ns",
            "Time to first token: from its arrival, waiting for requests before it included.",
            real(&|row| row.first_token(row.times)),
        ),
        column(
            "tpot_ns",
            "Time per output token: from the first token to the last one, the cache's way and waiting for a batch \
             included, over the tokens after the first; null if it gets one.",
            real(&|row| row.output_token(row.times)),
        ),
        column(
            "ideal_ttft_ns",
            "The same if every message took the time of its flow alone on the fabric as built.",
            real(&|row| row.first_token(row.ideal)),
        ),
        column(
            "ideal_tpot_ns",
            "The same for the time per output token.",
            real(&|row| row.output_token(row.ideal)),
        ),
    ]
}
