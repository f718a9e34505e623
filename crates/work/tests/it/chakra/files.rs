//! Files of a trace: those of all ranks, and of groups, beside each other.

use anabranch_work::chakra;
use std::path::PathBuf;

/// Empty folder of a test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("anabranch-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn the_files_of_all_ranks_are_found_whatever_stands_before_the_rank() {
    let folder = folder("ranks");
    std::fs::create_dir_all(folder.join("in")).unwrap();
    let write = |name: &str| std::fs::write(folder.join(name), name).unwrap();
    let found = |name: &str| {
        let read = chakra::read_ranks(&folder, name);
        read.map(|files| files.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
            .map_err(|error| error.to_string())
    };
    for name in
        ["rank_0.et", "rank_1.et", "trace0.et", "trace1.et", "in/0.et", "in/1.et", "all.09.et", "alone.et"]
    {
        write(name);
    }
    (0..11).filter(|rank| *rank != 9).for_each(|rank| write(&format!("all.{rank}.et")));
    assert_eq!(found("rank_0.et").unwrap(), ["rank_0.et", "rank_1.et"]);
    assert_eq!(found("trace1.et").unwrap(), ["trace0.et", "trace1.et"]);
    assert_eq!(found("in/0.et").unwrap(), ["in/0.et", "in/1.et"]);
    assert_eq!(found("alone.et").unwrap(), ["alone.et"]);
    let eleven = found("all.0.et").unwrap();
    assert_eq!((eleven.len(), &*eleven[9], &*eleven[10]), (11, "all.09.et", "all.10.et"));
    write("all.9.et");
    assert!(found("all.0.et").unwrap_err().contains("are both of rank 9; leave one of them"));
    std::fs::remove_file(folder.join("all.9.et")).unwrap();
    std::fs::remove_file(folder.join("all.2.et")).unwrap();
    assert_eq!(
        found("all.0.et").unwrap_err(),
        "all.2.et: the trace of rank 2 is not there, and that of rank 10 is; put the files of all ranks beside each other, \
         numbered from 0"
    );
    assert!(found("none.0.et").unwrap_err().starts_with("none.0.et: cannot be read: "));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn groups_are_found_beside_the_traces() {
    let folder = folder("groups");
    std::fs::create_dir_all(folder.join("in")).unwrap();
    let write = |name: &str, content: &str| std::fs::write(folder.join(name), content).unwrap();
    let found = |name: &str| {
        let read = chakra::read_groups(&folder, name);
        read.map(|file| file.map(|(name, _)| name)).map_err(|error| error.to_string())
    };
    assert_eq!(found("step.0.et").unwrap(), None);
    write("step.json", "{\"traceEvents\": [{}]}");
    assert_eq!(found("step.0.et").unwrap(), None, "a timeline of the same name lists no groups");
    write("step.json", "{\"0\": [0, 1]}");
    assert_eq!(found("step.0.et").unwrap().unwrap(), "step.json");
    assert_eq!(found("step_0.et").unwrap().unwrap(), "step.json");
    write("comm_group.json", "{\"0\": [0, 1]}");
    write("in/comm_group.json", "no JSON: its reader says so");
    assert_eq!(found("other.0.et").unwrap().unwrap(), "comm_group.json");
    assert_eq!(found("in/0.et").unwrap().unwrap(), "in/comm_group.json");
    assert_eq!(found("step.0.et").unwrap().unwrap(), "comm_group.json", "both say the same");
    write("step.json", "{\"0\": [0, 2]}");
    assert_eq!(
        found("step.0.et").unwrap_err(),
        "step.json: it lists groups, and so does `comm_group.json`, others; name one of them by `groups`"
    );
    std::fs::remove_dir_all(folder).unwrap();
}
