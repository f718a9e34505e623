//! The vectors of `vectors/split/`, which programs in other languages read too.

use anabranch_split::{Group, Members, Parameters, SlowStart, Weights};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

/// Texts of the files with that extension, by name.
fn files(extension: &str) -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors/split");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let chosen = paths.filter(|path| path.extension().is_some_and(|of| of == extension));
    chosen
        .filter(|path| path.file_stem().unwrap() != "requirements")
        .map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap()))
        .collect()
}

fn numbers<T: FromStr>(words: &[&str]) -> Vec<T> {
    words.iter().map(|word| word.parse().ok().unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Members of the words of an update: weights, `up`, flags.
fn members(words: &[&str]) -> Members {
    let (weights, flags) = words.split_at(words.iter().position(|&word| word == "up").unwrap());
    let up = flags[1..].iter().map(|&flag| flag == "1").collect();
    Members::new(Weights::new(numbers(weights)).unwrap(), up).unwrap()
}

/// Members of the words of an update under slow start.
fn starting(words: &[&str]) -> Members {
    let of = words.iter().position(|&word| word == "of").unwrap();
    let rule =
        SlowStart::new(words[0].parse().unwrap(), words[1].parse().unwrap(), words[2].parse().unwrap());
    let ages = numbers(&words[4..of]).into_iter().map(Some).collect::<Vec<_>>();
    rule.unwrap().lessened(&members(&words[of + 1..]), &ages).unwrap()
}

/// Words of the table of a group: its length, and FNV-1a of 64 bits over its entries.
fn table(group: &Group) -> String {
    let table = group.table().unwrap();
    let bytes = table.iter().flat_map(|entry| entry.to_le_bytes());
    let digest = bytes.fold(0xcbf2_9ce4_8422_2325, |digest: u64, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{} {digest:016x}", table.len())
}

fn joined(members: impl IntoIterator<Item = u16>) -> String {
    members.into_iter().map(|member| member.to_string()).collect::<Vec<_>>().join(" ")
}

/// Members of connections one after the other, under a bound.
fn bounded(group: &Group, keys: &[u64], eps: &str) -> String {
    let mut loads = vec![0; group.members().len()];
    let picks = keys.iter().map(|&key| {
        let member = group.pick_bounded(key, &loads, eps.parse().unwrap()).unwrap();
        loads[usize::from(member)] += 1;
        member
    });
    let picks = joined(picks);
    format!("{eps} {picks}")
}

/// Runs a history; returns the words of all lines that it could compare.
fn run(file: &str, text: &str) -> Vec<String> {
    let (mut technique, mut parameters, mut keys) = ("", Parameters::default(), Vec::new());
    let (mut group, mut replica, mut compared) = (None::<Group>, None::<Group>, Vec::new());
    for (number, line) in text.lines().enumerate() {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words = rest.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>();
        let now = || group.as_ref().unwrap();
        let ours = match verb {
            "technique" => {
                technique = rest;
                continue;
            }
            "parameters" => {
                parameters = Parameters::new(words.iter().map(|pair| pair.split_once('=').unwrap()));
                continue;
            }
            "keys" => {
                keys = words.iter().map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
                continue;
            }
            "group" => {
                let members = Members::all_up(Weights::new(numbers(&words)).unwrap());
                group = Some(Group::new(technique, &members, &parameters).unwrap());
                continue;
            }
            "update" | "start" | "drain" | "undrain" => {
                match verb {
                    "update" => now().update(&members(&words)),
                    "start" => now().update(&starting(&words)),
                    "drain" => now().drain(rest.parse().unwrap(), 0, 1),
                    _ => now().undrain(rest.parse().unwrap()),
                }
                .unwrap();
                continue;
            }
            "revision" => {
                let revision = now().revision().unwrap();
                format!("{} {:032x}", revision.updates, revision.digest)
            }
            "delta" => {
                let delta = now().delta(replica.as_ref().unwrap()).unwrap();
                replica.as_ref().unwrap().adopt(&delta).unwrap();
                assert_eq!(replica.as_ref().unwrap().revision(), now().revision(), "{file}");
                hex(&delta)
            }
            "snapshot" => {
                let ours = hex(&now().snapshot().unwrap());
                group = Some(Group::restore(&unhex(rest)).unwrap());
                replica = group.clone();
                ours
            }
            "table" => table(now()),
            "entries" => joined(now().table().unwrap()),
            "picks" => joined(keys.iter().map(|&key| now().pick(key))),
            "bounded" => bounded(now(), &keys, words[0]),
            _ => panic!("{file}:{}: `{verb}` is no word of a history", number + 1),
        };
        assert_eq!(ours, rest, "{file}:{}: {verb}", number + 1);
        compared.push(verb.to_owned());
    }
    compared
}

#[test]
fn groups_do_what_the_vectors_say() {
    let mut compared = files("txt").iter().flat_map(|(file, text)| run(file, text)).collect::<Vec<_>>();
    compared.sort_unstable();
    let count = |verb: &str| compared.iter().filter(|of| *of == verb).count();
    assert!(count("picks") > 100 && count("bounded") >= 17 && count("delta") > 10, "{compared:?}");
    assert!(count("snapshot") > 40 && count("table") > 40 && count("entries") > 10, "{compared:?}");
}

#[test]
fn snapshots_by_hand_are_accepted_and_refused() {
    let files = files("snapshots");
    let mut why = "";
    let mut verdicts = [0; 2];
    for line in files.iter().flat_map(|(_, text)| text.lines()) {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("#", comment) => why = comment,
            (verdict, snapshot) => {
                let bytes = unhex(snapshot);
                let restored = Group::restore(&bytes);
                assert_eq!(restored.is_ok(), verdict == "accepted", "{why}: {restored:?}");
                verdicts[usize::from(restored.is_ok())] += 1;
                if let Ok(group) = restored {
                    assert_eq!(group.snapshot().unwrap(), bytes, "{why}");
                }
            }
        }
    }
    assert!(verdicts[0] > 40 && verdicts[1] > 3, "{verdicts:?}");
}
