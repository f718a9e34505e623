//! Inference: closed forms of time, bytes and messages of each part, where nothing contends.

use anabranch_work::inference::{Asked, Decode, Inference, Prefill};
use anabranch_work::links::{AlphaBeta, run};
use anabranch_work::{Act, Graph, NodeTimes, Rendezvous, Request};

const LINKS: AlphaBeta = AlphaBeta { alpha_ps: 1_000_000, beta_ps: 40.0 };
const US: u64 = 1_000_000;
const STATE: u64 = 1024 * 2;
/// Keys and values of a token in one layer: eight heads of 64.
const CACHE: u64 = 2 * 8 * 64 * 2;

fn asked(arrival_ps: u64, prompt_tokens: u64, output_tokens: u64) -> Asked {
    Asked { arrival_ps, prompt_tokens, output_tokens }
}

/// One rank of either kind, four layers, and one request of 128 tokens that gets five.
fn alone() -> Inference {
    Inference {
        layers: 4,
        hidden: 1024,
        kv_heads: 8,
        head: 64,
        value_bytes: 2,
        experts_per_token: 0,
        prefill: Prefill { groups: 1, tensor: 1, token_ps: US },
        by_layer: false,
        decode: Decode { groups: 1, tensor: 1, expert: 1, slots: 1, batch: 1, step_ps: vec![100 * US] },
        requests: vec![asked(7 * US, 128, 5)],
    }
}

fn made(inference: &Inference) -> Graph {
    let graph = inference.graph().unwrap();
    graph.check().unwrap();
    assert_eq!(graph.ranks(), inference.ranks().unwrap());
    assert_eq!(graph.messages().0, inference.messages().unwrap());
    graph
}

/// Arrival, first token, cache and last token of each request.
fn moments(graph: &Graph) -> Vec<[Option<u64>; 4]> {
    let times = run(graph, &mut LINKS.clone());
    let ended = |nodes: &[u32]| NodeTimes::last_end_ps(nodes, &times);
    let of = |one: &Request| {
        [ended(&[one.arrival]), ended(&one.first_token), ended(&one.cache), ended(&one.last_token)]
    };
    graph.requests().iter().map(of).collect()
}

/// Time to the first token, from there until the cache has come, and from there to the last token.
fn times(inference: &Inference) -> Vec<[u64; 3]> {
    let of = |[arrival, first, cache, last]: [Option<u64>; 4]| {
        [first.unwrap() - arrival.unwrap(), cache.unwrap() - first.unwrap(), last.unwrap() - cache.unwrap()]
    };
    moments(&made(inference)).into_iter().map(of).collect()
}

fn message_ps(bytes: u64) -> u64 {
    LINKS.alpha_ps + bytes * 40
}

fn ring_ps(ranks: u64, bytes: u64) -> u64 {
    2 * (ranks - 1) * message_ps(bytes / ranks)
}

#[test]
fn a_request_is_filled_sent_and_decoded() {
    let expected = [128 * US, message_ps(4 * 128 * CACHE), 4 * 100 * US];
    assert_eq!(times(&alone()), [expected]);
    let arrivals: Vec<_> = moments(&made(&alone())).iter().map(|moments| moments[0]).collect();
    assert_eq!(arrivals, [Some(7 * US)]);
}

#[test]
fn ranks_of_a_group_add_partial_sums_twice_a_layer() {
    let prefill = Prefill { tensor: 4, ..alone().prefill };
    let decode = Decode { tensor: 8, ..alone().decode };
    // Each rank that fills has two heads, one for each of two that decode.
    let expected = [
        128 * US + 8 * ring_ps(4, 128 * STATE),
        message_ps(4 * 128 * CACHE / 8),
        4 * (100 * US + 8 * ring_ps(8, STATE)),
    ];
    assert_eq!(times(&Inference { prefill, decode, ..alone() }), [expected]);
}

#[test]
fn caches_of_layers_hide_behind_those_that_follow() {
    // That of a layer takes 12 us, a layer 32 us: only the last one's comes after the first token.
    let by_layer = Inference { by_layer: true, ..alone() };
    assert_eq!(times(&by_layer), [[128 * US, message_ps(128 * CACHE), 4 * 100 * US]]);
    // The first layer's goes when half of it is computed.
    let sends = |graph: &Graph| -> Vec<u64> {
        let times = run(graph, &mut LINKS.clone());
        let is_send = |&node: &u32| matches!(graph.node(node).act, Act::Send { .. });
        graph.nodes_of(0).filter(is_send).map(|node| times[node as usize].start_ps).collect()
    };
    assert_eq!(sends(&made(&by_layer)), [23 * US, 55 * US, 87 * US, 135 * US]);
    let graph = made(&by_layer);
    assert_eq!(graph.messages(), (4, 4 * 128 * CACHE));
}

#[test]
fn requests_of_a_group_follow_each_other_and_groups_go_on_side_by_side() {
    let three = Inference { requests: vec![asked(0, 128, 2); 3], ..alone() };
    let first =
        |inference: &Inference| -> Vec<u64> { times(inference).iter().map(|times| times[0]).collect() };
    assert_eq!(first(&three), [128 * US, 256 * US, 384 * US]);
    let two = Inference { prefill: Prefill { groups: 2, ..alone().prefill }, ..three };
    assert_eq!(first(&two), [128 * US, 128 * US, 256 * US]);
}

#[test]
fn a_batch_begins_with_its_last_request_and_shrinks_as_they_end() {
    let requests = vec![asked(0, 10, 3), asked(0, 10, 1), asked(0, 30, 6)];
    let decode = Decode { tensor: 2, batch: 2, step_ps: vec![100 * US, 150 * US], ..alone().decode };
    let prefill = Prefill { groups: 3, ..alone().prefill };
    let pair = Inference { requests, decode, prefill, ..alone() };
    let moments = moments(&made(&pair));
    let begun = 30 * US + message_ps(4 * 30 * CACHE / 2);
    let (both, alone) = (150 * US + 8 * ring_ps(2, 2 * STATE), 100 * US + 8 * ring_ps(2, STATE));
    assert_eq!(moments[0][3], Some(begun + 2 * both));
    assert_eq!(moments[2][3], Some(begun + 2 * both + 3 * alone));
    // One token is all that the other one gets, where its prompt was.
    assert_eq!(moments[1], [Some(0), Some(10 * US), None, Some(10 * US)]);
}

#[test]
fn slots_go_on_side_by_side_and_one_after_the_other_within() {
    let step_ps = vec![100 * US, 150 * US];
    let prefill = Prefill { groups: 3, ..alone().prefill };
    let three = Inference { prefill, requests: vec![asked(0, 10, 5); 3], ..alone() };
    let last = |slots: u32| -> Vec<Option<u64>> {
        let decode = Decode { slots, step_ps: step_ps.clone(), ..alone().decode };
        moments(&made(&Inference { decode, ..three.clone() })).iter().map(|moments| moments[3]).collect()
    };
    let begun = 10 * US + message_ps(4 * 10 * CACHE);
    let after = |ps: u64| Some(begun + ps);
    assert_eq!(last(1), [after(400 * US), after(800 * US), after(1200 * US)]);
    // Two at once take the time of a step with two; the third follows the first.
    assert_eq!(last(2), [after(600 * US), after(600 * US), after(1200 * US)]);
    assert_eq!(last(3), [after(600 * US); 3]);
}

#[test]
fn groups_with_experts_exchange_tokens_twice_a_layer_and_step_together() {
    let decode = Decode { groups: 4, expert: 4, tensor: 2, step_ps: vec![100 * US], ..alone().decode };
    let prefill = Prefill { groups: 4, ..alone().prefill };
    let requests = vec![asked(0, 10, 3), asked(0, 10, 3), asked(0, 10, 5), asked(0, 50, 3)];
    let experts = Inference { experts_per_token: 2, decode, prefill, requests, ..alone() };
    let graph = made(&experts);
    let moments = moments(&graph);
    // Each rank has half of two states for four groups; sums are behind attention alone.
    let exchange = message_ps(2 * STATE / 2 / 4);
    let step = 100 * US + 4 * (ring_ps(2, STATE) + 2 * exchange);
    // None goes past its first exchange before the last has come, whose own way there is the longest.
    let begun = 50 * US + message_ps(4 * 50 * CACHE / 2);
    for number in [0, 1, 3] {
        assert_eq!(moments[number][3], Some(begun + 2 * step));
    }
    // Groups whose requests have ended compute as for one, and send nothing of their own.
    let idle = 100 * US + 4 * (ring_ps(2, STATE) + 2 * exchange);
    assert_eq!(moments[2][3], Some(begun + 2 * step + 2 * idle));
    // A rank sends three blocks in each of its own group's steps and layers, and one back in each of another's.
    let sent = |rank: u32| {
        let expert = |node: &u32| graph.parts()[graph.node(*node).part as usize].name == "expert";
        let is_send = |node: &u32| matches!(graph.node(*node).act, Act::Send { .. });
        graph.nodes_of(rank).filter(|node| is_send(node) && expert(node)).count()
    };
    let own = [2, 2, 4, 2];
    for (group, steps) in own.into_iter().enumerate() {
        let others: usize = own.iter().sum::<usize>() - steps;
        assert_eq!(sent(4 + 2 * group as u32), 4 * (3 * steps + others));
    }
    let part = |name: &str| graph.parts().iter().find(|part| part.name == name).unwrap().bytes;
    // Three of four blocks leave each of two ranks, there and back, for each token after the first and layer.
    assert_eq!(part("expert"), (2 + 2 + 4 + 2) * 4 * 2 * 2 * 3 * (2 * STATE / 2 / 4));
    assert_eq!(part("tensor"), (2 + 2 + 4 + 2) * 4 * 2 * STATE);
}

#[test]
fn bytes_and_ranks_of_each_part_are_those_of_its_groups() {
    let prefill = Prefill { groups: 3, tensor: 4, ..alone().prefill };
    let decode = Decode { groups: 2, tensor: 2, slots: 2, batch: 2, ..alone().decode };
    let requests: Vec<Asked> =
        (0..17).map(|number| asked(number * US, 64 + number, 1 + number % 5)).collect();
    let all = Inference { prefill, decode, by_layer: true, requests: requests.clone(), ..alone() };
    let graph = made(&all);
    let part = |name: &str| graph.parts().iter().find(|part| part.name == name).unwrap().bytes;
    let prompts: u64 = requests.iter().map(|asked| asked.prompt_tokens).sum();
    let tokens: u64 = requests.iter().map(|asked| asked.output_tokens - 1).sum();
    let sent: u64 =
        requests.iter().filter(|asked| asked.output_tokens > 1).map(|asked| asked.prompt_tokens).sum();
    // A ring of n ranks sends 2 (n - 1) times what it sums.
    assert_eq!(part("tensor"), 4 * 2 * (2 * 3 * prompts * STATE + 2 * tokens * STATE));
    assert_eq!(part("cache"), 4 * sent * CACHE);
    let group = |rank: u32| if rank < 12 { rank / 4 } else { 3 + (rank - 12) / 2 };
    for rank in 0..graph.ranks() {
        for node in graph.nodes_of(rank).map(|node| graph.node(node)) {
            let Act::Send { to, .. } = node.act else { continue };
            match graph.parts()[node.part as usize].name.as_str() {
                "tensor" => assert_eq!(group(rank), group(to)),
                name => assert!(name == "cache" && rank < 12 && to >= 12 && rank % 4 / 2 == (to - 12) % 2),
            }
        }
    }
}

#[test]
fn rendezvous_keeps_requests() {
    let inference = Inference { prefill: Prefill { tensor: 2, ..alone().prefill }, ..alone() };
    let met = made(&inference).with_rendezvous(Rendezvous::RequestToSend, 0).unwrap();
    let [[arrival, first, cache, last]] = moments(&met)[..] else { panic!("one request") };
    // A request and an answer of 64 B before each message.
    let asks = 2 * message_ps(64);
    let sum = 2 * (message_ps(128 * STATE / 2) + asks);
    assert_eq!(arrival, Some(7 * US));
    assert_eq!(first, Some(135 * US + 8 * sum));
    assert_eq!(cache.unwrap() - first.unwrap(), asks + message_ps(4 * 128 * CACHE / 2));
    assert_eq!(last.unwrap() - cache.unwrap(), 400 * US);
}

#[test]
fn shapes_that_their_groups_do_not_divide_are_refused() {
    let prefill = |prefill| Inference { prefill, ..alone() };
    let decode = |decode| Inference { decode, ..alone() };
    let experts = |groups, expert| Inference {
        experts_per_token: 1,
        ..decode(Decode { groups, expert, ..alone().decode })
    };
    let cases = [
        (Inference { requests: Vec::new(), ..alone() }, "no request"),
        (prefill(Prefill { tensor: 3, ..alone().prefill }), "8 heads and a width of 1024 in 3 parts"),
        (decode(Decode { tensor: 16, ..alone().decode }), "8 heads and a width of 1024 in 16 parts"),
        (decode(Decode { groups: 2, expert: 2, ..alone().decode }), "no experts for 2 groups that decode"),
        (experts(6, 4), "6 groups that decode in parts of 4"),
        (experts(1 << 12, 1 << 12), "a state of 2048 bytes for 4096 groups"),
        (prefill(Prefill { groups: 1 << 20, ..alone().prefill }), "1048577 ranks"),
        (
            Inference { requests: vec![asked(0, 1 << 40, 2)], ..alone() },
            "8192 TB of a request's states or cache",
        ),
        (
            Inference { requests: vec![asked(1 << 62, 1, 1)], ..alone() },
            "all requests together take more than 2^62 ps",
        ),
        (Inference { requests: vec![asked(0, 1, 1 << 24)], ..alone() }, "134217728 times of computing"),
    ];
    for (inference, problem) in cases {
        assert_eq!(inference.graph().unwrap_err().problem, problem);
        assert_eq!(inference.messages().unwrap_err().problem, problem);
    }
}
