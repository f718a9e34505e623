//! Rates and delays of edges: the attributes that hold them, and those that only look as if they did.

use super::Fault;
use super::attribute_graph::{Attribute, AttributeEdge, Attributes};
use crate::quantity::{self, Scale};
use crate::topology::LinkSettings;

/// Names of the edge attributes that hold the rate of a link, in bits per second or as text with a unit. `LinkSpeedRaw`
/// is the Internet Topology Zoo's.
pub const RATE_NAMES: [&str; 4] = ["rate", "capacity", "bandwidth", "LinkSpeedRaw"];
/// Names of the edge attributes that hold the delay of a link, in seconds or as text with a unit.
pub const DELAY_NAMES: [&str; 2] = ["delay", "latency"];

/// Attributes that repeat `LinkSpeedRaw` where it is given.
const BESIDE_RAW: [&str; 2] = ["linkspeed", "linkspeedunits"];

/// Parts of a name that speak of a rate or a delay wherever they stand in it.
const TELLING_PARTS: [&str; 9] =
    ["speed", "bandwidth", "capacity", "throughput", "latency", "delay", "bitrate", "datarate", "linkrate"];
/// Words that do so only by themselves: `generated` and `translation` are no rate and no latency.
const TELLING_WORDS: [&str; 8] = ["rate", "rates", "bw", "rtt", "bps", "kbps", "mbps", "gbps"];

/// Quantity that an attribute can hold: a rate or a delay.
struct Measure {
    names: &'static [&'static str],
    scales: &'static [Scale],
    /// Noun of errors.
    noun: &'static str,
    hint: &'static str,
}

const RATE: Measure = Measure {
    names: &RATE_NAMES,
    scales: quantity::RATES,
    noun: "rate",
    hint: "give bits per second from 64 kbps to 100 Tbps, or text such as 10 Gbps",
};
const DELAY: Measure = Measure {
    names: &DELAY_NAMES,
    scales: quantity::TIMES,
    noun: "delay",
    hint: "give seconds, or text such as 1 us",
};

/// Rate and delay of an edge, and whether it gives them; those that it does not give are `defaults`'.
pub(super) fn settings(
    edge: &AttributeEdge<'_>,
    graph: &Attributes<'_>,
    defaults: &LinkSettings,
) -> Result<(LinkSettings, [bool; 2]), Fault> {
    let rate = RATE.of(edge, graph, quantity::rate)?;
    let delay_ps = DELAY.of(edge, graph, quantity::time_ps)?;
    let raw = edge.attributes.all().any(|value| value.key == "linkspeedraw");
    let known = |value: &&Attribute<'_>| {
        RATE.unit(&value.key).is_some()
            || DELAY.unit(&value.key).is_some()
            || raw && BESIDE_RAW.contains(&value.key.as_str())
    };
    if let Some(value) = edge.attributes.all().find(|value| is_telling(&value.name) && !known(value)) {
        return Err(not_understood(&name(edge), value));
    }
    let settings = LinkSettings {
        rate: rate.unwrap_or(defaults.rate),
        delay_ps: delay_ps.unwrap_or(defaults.delay_ps),
        ..*defaults
    };
    Ok((settings, [rate.is_some(), delay_ps.is_some()]))
}

/// Warnings about links that give no rate or no delay, where the scenario gives none either.
pub(super) fn unstated(links: usize, without: [usize; 2], defaults: &LinkSettings) -> Vec<String> {
    let usual = LinkSettings::default();
    let rate = (without[0] > 0 && defaults.rate == usual.rate)
        .then(|| ("rate", without[0], format!("{} Gbps", usual.rate.bps() / 1_000_000_000)));
    let delay = (without[1] > 0 && defaults.delay_ps == usual.delay_ps)
        .then(|| ("delay", without[1], format!("{} us", usual.delay_ps / 1_000_000)));
    let warning = |(noun, count, usual): (&str, usize, String)| {
        format!("{count} of {links} edges give no {noun}, and have {usual}; set fabric.link.{noun} for them")
    };
    rate.into_iter().chain(delay).map(warning).collect()
}

/// Whether an edge's attribute of this name, in lower case, is read.
pub(super) fn is_read(key: &str) -> bool {
    RATE.unit(key).is_some() || DELAY.unit(key).is_some() || BESIDE_RAW.contains(&key)
}

/// Edge as errors name it.
fn name(edge: &AttributeEdge<'_>) -> String {
    format!("edge {} - {}", edge.source, edge.target)
}

/// Refuses a rate or delay of a node or of the graph: links have them, by their edges.
pub(super) fn refuse_elsewhere(of: &str, attributes: &Attributes<'_>) -> Result<(), Fault> {
    let is_unit = |value: &Attribute<'_>| {
        let measured = value.key.strip_suffix("_unit");
        of == "graph" && measured.is_some_and(|name| RATE.has(name) || DELAY.has(name))
    };
    match attributes.all().find(|value| is_telling(&value.name) && !is_unit(value)) {
        Some(value) => Err(not_understood(of, value)),
        None => Ok(()),
    }
}

fn not_understood(of: &str, value: &Attribute<'_>) -> Fault {
    let problem = format!(
        "{of}: {}: `{}`: it looks like a rate or a delay and is not understood",
        value.name, value.text
    );
    let hint = format!(
        "give edges their rate as {} in bits per second and their delay as {} in seconds, with a unit in the value or at \
         the end of the name (`rate_gbps`, `delay_us`), or give it a name that does not say rate or delay",
        RATE_NAMES.join(", "),
        DELAY_NAMES.join(", ")
    );
    Fault::new(value.at, problem, hint)
}

/// Whether a name speaks of a rate or a delay.
fn is_telling(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    TELLING_PARTS.iter().any(|part| lower.contains(part))
        || words(name).any(|word| TELLING_WORDS.contains(&word.as_str()))
}

/// Words of a name in lower case: `linkRate` and `link_rate` have two.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && before.is_ascii_lowercase() {
            spaced.push(' ');
        }
        spaced.push(if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' });
        before = letter;
    }
    spaced.split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

impl Measure {
    fn has(&self, key: &str) -> bool {
        self.names.iter().any(|name| name.eq_ignore_ascii_case(key))
    }

    /// Unit that the end of an attribute's name states; empty if the name states none, `None` if it is not of this
    /// measure.
    fn unit(&self, key: &str) -> Option<&'static str> {
        if self.has(key) {
            return Some("");
        }
        let (name, unit) = key.rsplit_once(['_', '-', ' '])?;
        let scale = self.scales.iter().find(|(scale, _)| scale.eq_ignore_ascii_case(unit));
        scale.filter(|_| self.has(name)).map(|(scale, _)| *scale)
    }

    /// Value that the attributes of an edge give; `None` if they give none.
    fn of<T: PartialEq>(
        &self,
        edge: &AttributeEdge<'_>,
        graph: &Attributes<'_>,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let mut given: Option<(&Attribute<'_>, T)> = None;
        for value in edge.attributes.all() {
            let Some(unit) = self.unit(&value.key) else { continue };
            let text = if unit.is_empty() { value.with_unit(graph) } else { value.with(unit) };
            let read = read(&text).ok_or_else(|| {
                let problem = format!("{}: {}: `{}` is no {}", name(edge), value.key, value.text, self.noun);
                Fault::new(value.at, problem, self.hint)
            })?;
            match &given {
                Some((first, known)) if *known != read => {
                    let problem = format!(
                        "{}: {}: `{}` is another {} than `{}` of {}",
                        name(edge),
                        value.key,
                        value.text,
                        self.noun,
                        first.text,
                        first.key
                    );
                    return Err(Fault::new(value.at, problem, "keep one of them"));
                }
                Some(_) => {}
                None => given = Some((value, read)),
            }
        }
        Ok(given.map(|(_, read)| read))
    }
}
