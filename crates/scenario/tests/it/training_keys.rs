//! Keys of a step of training: what is read, and what is refused.

use anabranch_scenario::Scenario;
use anabranch_traffic::FlowSource;
use std::path::Path;

const FABRIC: &str = "[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n[[traffic]]\nkind = \"graph\"\n";
const SPEED: &str = "accelerator = { flops = \"1 TFLOPS\", memory_bandwidth = \"1 TB/s\" }\n";
const STEP: &str =
    "training = { layers = 2, hidden = 64, sequence = 32, tensor = 2, pipeline = 2, data = 2 }\n";

/// Messages of what is resolved.
fn resolved(keys: &str) -> Result<u64, String> {
    let text = format!("{FABRIC}{keys}");
    let scenario = Scenario::parse(&text, "s.toml", &[]).map_err(|error| error.to_string())?;
    let resolved =
        scenario.resolve(Path::new(env!("CARGO_TARGET_TMPDIR"))).map_err(|error| error.to_string())?;
    let again = Scenario::parse(&resolved.to_toml(), "again.toml", &[]).unwrap();
    assert_eq!(again.to_toml(), resolved.to_toml());
    Ok(resolved.flows().map_err(|error| error.to_string())?.outline().flows)
}

#[test]
fn a_step_is_read_and_repeated() {
    // Eight ranks: sums of two ranks four times a layer and replica, two messages between the stages of each of four
    // pairs, and gradients of two replicas.
    let step = 2 * 2 * 4 * 4 + 2 * 4 + 4 * 4;
    assert_eq!(resolved(&format!("{SPEED}{STEP}")).unwrap(), step);
    assert_eq!(resolved(&format!("{SPEED}{STEP}iterations = 3\n")).unwrap(), 3 * step);
    let experts = STEP.replace(" }", ", experts = 4, experts_per_token = 2, expert = 2 }");
    // Sums behind attention alone; tokens between two ranks four times a layer, there and back; gradients of what all have.
    let step = 2 * 2 * 2 * 4 + 2 * 2 * 4 * 2 + 2 * 4 + 4 * 4;
    assert_eq!(resolved(&format!("{SPEED}{experts}ranks = 8\n")).unwrap(), step);
    assert_eq!(resolved(&format!("{SPEED}{experts}skew = 1.0\n")).unwrap(), step);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_line_and_a_hint() {
    for (keys, expected) in [
        (
            STEP.to_owned(),
            "s.toml:6: traffic.0.accelerator: training computes, and nothing says how fast; give `accelerator",
        ),
        (format!("{SPEED}{STEP}ranks = 4\n"), "ranks: tensor x data x pipeline are 8; leave `ranks` out"),
        (format!("{SPEED}{STEP}size = \"1 MB\"\n"), "traffic.0.size: unknown key"),
        (format!("{SPEED}{STEP}algorithm = \"ring\"\n"), "traffic.0.algorithm: unknown key"),
        (format!("{SPEED}{STEP}file = \"a.goal\"\n"), "traffic.0.file: there is `training` beside it"),
        (format!("{SPEED}training = {{ layers = 2 }}\n"), "traffic.0.training.hidden: missing"),
        (
            format!("{SPEED}{}", STEP.replace("layers = 2", "layers = 3")),
            "training: 3 layers in 2 stages; let `pipeline` divide `layers`",
        ),
        (format!("{SPEED}{}", STEP.replace("data = 2", "data = 4")), "16 ranks"),
    ] {
        let error = resolved(&keys).unwrap_err();
        assert!(error.contains(expected), "{keys}{error}");
    }
}
