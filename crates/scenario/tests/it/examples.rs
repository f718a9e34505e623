//! The example scenarios make sense.

use anabranch_scenario::Scenario;
use std::path::Path;

#[test]
fn every_example_is_a_scenario_with_flows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut read = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        // Studies, plans of a switch and the controller's fabrics are not scenarios, and captures are no text.
        let other = [
            "`anabranch sweep ",
            "anabranch apply ",
            "`anabranch control`",
            "anabranch plan --target p4 ",
            "anabranch plan --target frr ",
        ];
        if path.extension().is_none_or(|kind| kind != "toml") || other.iter().any(|verb| text.contains(verb))
        {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let resolved = Scenario::parse(&text, name, &[]).unwrap().resolve(&folder).unwrap();
        assert_eq!(resolved.scenario().name, name);
        assert!(text.contains(&format!("`anabranch run examples/{name}.toml`")), "{name}");
        assert!(resolved.flows().unwrap().len() > 3, "{name}");
        read += 1;
    }
    assert!(read >= 6, "{read} examples");
}
