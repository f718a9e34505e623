//! Graphs of models: steps of training and requests served, of small shapes.

use super::Pace;
use super::traffic::Payload;
use crate::dice::{Dice, quoted, time};
use crate::draft::Table;
use anabranch_fabric::Fabric;

/// Draws a step of training, or inference.
pub(super) fn draw(dice: &mut Dice, pace: Pace, payload: Payload, fabric: &Fabric, table: &mut Table) {
    let hosts = u64::from(fabric.hosts());
    table.set("kind", quoted("graph"));
    if dice.chance(0.5) {
        training(dice, pace, payload, hosts, table);
    } else {
        inference(dice, pace, payload, hosts, table);
    }
    table.set("placement", quoted(dice.pick(&["packed", "spread", "random"])));
    if dice.chance(0.4) {
        table.set("rendezvous", quoted(dice.pick(&["clear-to-send", "request-to-send"])));
    }
    if dice.chance(0.1) {
        table.set("idle", "true");
    }
}

/// A number of ranks that fits.
fn degree(dice: &mut Dice, most: u64) -> u64 {
    dice.pick(&[1, 2, 2, 3, 4]).min(most.max(1))
}

/// Tokens whose states are as large as a flow of so many should be, of a width; a multiple of `parts`.
fn tokens(dice: &mut Dice, payload: Payload, flows: u64, (width, parts): (u64, u64)) -> u64 {
    (payload.size(dice, flows) / (2 * width * parts)).clamp(1, 2048) * parts
}

fn training(dice: &mut Dice, pace: Pace, payload: Payload, hosts: u64, table: &mut Table) {
    let tensor = degree(dice, hosts);
    let pipeline = degree(dice, hosts / tensor);
    // At least two ranks, which have something to send.
    let data = degree(dice, hosts / tensor / pipeline).max(if tensor * pipeline == 1 { 2 } else { 1 });
    let layers = pipeline * dice.between(1, 2);
    let (micro_batches, hidden) = (dice.between(1, 3), 12 * dice.between(1, 6));
    let flows = layers * micro_batches * 8 * tensor * data;
    let sequence = tokens(dice, payload, flows, (hidden, tensor));
    let mut keys = format!(
        "layers = {layers}, hidden = {hidden}, sequence = {sequence}, micro_batches = {micro_batches}, tensor = {tensor}, \
         pipeline = {pipeline}, data = {data}"
    );
    if dice.chance(0.3) {
        let per_token = dice.between(1, 2);
        keys += &format!(", experts = {}, experts_per_token = {per_token}, expert = {data}", 2 * data);
        if dice.chance(0.5) {
            table.set("skew", dice.pick(&["0.1", "1.0", "2.5"]));
        }
    }
    if dice.chance(0.5) {
        keys += &format!(", bucket = \"{} B\", overlap = {}", dice.magnitude(1, 1_000_000), dice.chance(0.5));
    }
    table.set("training", format!("{{ {keys} }}"));
    // A layer takes about as long as an entry may.
    let operations = 24 * hidden * hidden * sequence;
    let flops = (u128::from(operations) * 1_000_000_000_000 / u128::from(pace.moment(dice).max(1))).max(1000);
    let flops = flops.min(1_000_000_000_000_000_000);
    table.set("accelerator", format!("{{ flops = \"{flops} FLOPS\", memory_bandwidth = \"1 TB/s\" }}"));
    if dice.chance(0.3) {
        table.set("iterations", "2");
    }
}

fn inference(dice: &mut Dice, pace: Pace, payload: Payload, hosts: u64, table: &mut Table) {
    let tensor = degree(dice, hosts / 2);
    let groups = degree(dice, hosts / 2 / tensor);
    let left = hosts - tensor * groups;
    let decode_tensor = degree(dice, left);
    let decode_groups = degree(dice, left / decode_tensor);
    let (requests, layers) = (dice.magnitude(1, 12), dice.between(1, 2));
    let (hidden, output) = (12 * dice.between(1, 20), dice.between(2, 4));
    let flows = requests * layers * (4 * tensor + 4 * decode_tensor * output);
    let prompts: Vec<u64> = (0..2).map(|_| tokens(dice, payload, flows, (hidden, 1))).collect();
    let mut keys = format!(
        "layers = {layers}, hidden = {hidden}, kv_heads = 12, head = {}, prompt = {prompts:?}, output = [{output}, 1], \
         cache = {}",
        dice.between(1, 16),
        quoted(dice.pick(&["layer", "end"])),
    );
    if dice.chance(0.6) {
        let per_s = (requests as f64 * 1e12 / pace.traffic_ps as f64).clamp(1e-6, 1e9);
        keys += &format!(", requests = {requests}, requests_per_s = {per_s:e}");
    } else {
        let mut arrivals: Vec<u64> = (0..requests).map(|_| pace.moment(dice)).collect();
        arrivals.sort_unstable();
        let arrivals: Vec<String> = arrivals.into_iter().map(time).collect();
        keys += &format!(", arrivals = [{}]", arrivals.join(", "));
    }
    let token_ps = pace.moment(dice) / prompts.iter().max().copied().unwrap_or(1).max(1);
    keys += &format!(", prefill = {{ groups = {groups}, tensor = {tensor}, token = {} }}", time(token_ps));
    let mut decode = format!(
        "groups = {decode_groups}, tensor = {decode_tensor}, slots = {}, batch = {}, step = [{}, {}]",
        dice.between(1, 3),
        dice.between(1, 3),
        time(pace.moment(dice) / 4),
        time(pace.moment(dice) / 4),
    );
    if dice.chance(0.3) && 2 * hidden / decode_tensor >= decode_groups {
        keys += ", experts_per_token = 2";
        decode += &format!(", expert = {decode_groups}");
    }
    table.set("inference", format!("{{ {keys}, decode = {{ {decode} }} }}"));
}
