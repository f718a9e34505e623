use super::*;
use anabranch_traffic::Ports;
use proptest::prelude::*;
use std::io;
use std::sync::Mutex;

/// Keeps what is written, and counts how often.
#[derive(Debug)]
struct Kept(Mutex<Vec<(FlowRecord, u32)>>);

impl FlowSink for Kept {
    fn write(&self, first: u32, records: &[FlowRecord]) -> io::Result<()> {
        let mut kept = self.0.lock().unwrap();
        for (number, record) in (first as usize..).zip(records) {
            kept[number] = (*record, kept[number].1 + 1);
        }
        Ok(())
    }
}

/// A disk that is full.
#[derive(Debug)]
struct Full;

impl FlowSink for Full {
    fn write(&self, _: u32, _: &[FlowRecord]) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

fn flows(count: u64) -> Vec<Flow> {
    let flow = |number| Flow {
        src: number as u32,
        dst: 0,
        size_bytes: number + 1,
        start: Start::At(number / 3),
        path: None,
        job: None,
        transport: 0,
        ports: Ports::CHOSEN,
    };
    (0..count).map(flow).collect()
}

/// Lifetimes in starts of other flows: most flows are short, few are as long as the run.
fn lifetime() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0..4usize, 2 => 0..60usize, 1 => Just(usize::MAX)]
}

proptest! {
    /// A list of all records is the definition, whatever the size of chunks. What is held is bounded by what is open.
    #[test]
    fn records_are_those_of_a_list_and_few_are_held(
        lifetimes in prop::collection::vec(lifetime(), 0..300),
        begun in 0..350usize,
        omitted_at in prop::option::of(0..350usize),
        chunk_bits in 0..5u32,
        sent_away: bool,
    ) {
        let (flows, count, chunk) = (flows(lifetimes.len() as u64), lifetimes.len(), 1 << chunk_bits);
        let sink = Arc::new(Kept(Mutex::new(vec![(FlowRecord::default(), 0); count])));
        let mut table = FlowTable::new(&flows, count, omitted_at.is_some(), chunk_bits);
        if sent_away {
            table.send_to(Some(Arc::<Kept>::clone(&sink)));
        }
        let (mut listed, mut omitted) = (vec![FlowRecord::blank(); count], vec![0; count]);
        let mut open: Vec<usize> = Vec::new();
        let mut starts: Vec<(u64, u32)> = Vec::new();
        for now in 0..begun.min(count) {
            if now == 0 || table.is_last_loaded(now as u32 - 1) {
                let unbegun = table.loaded - now;
                starts.extend(table.load().unwrap());
                // Flows of released chunks are not open but for stragglers; the present chunk counts in full.
                let bound = HELD_PER_OPEN * (open.len() + unbegun) + chunk;
                prop_assert!(table.omits || table.held() <= bound, "{} held, {} open", table.held(), open.len());
            }
            let begin = |record: &mut FlowRecord| record.start_ps = now as u64;
            begin(table.record(now as u32));
            begin(&mut listed[now]);
            open.push(now);
            if omitted_at == Some(now) {
                table.omit();
                omitted = listed.iter().map(|record: &FlowRecord| record.received_bytes).collect();
            }
            for &flow in &open {
                let receive = |record: &mut FlowRecord| record.received_bytes += 1 + flow as u64;
                receive(table.record(flow as u32));
                receive(&mut listed[flow]);
                prop_assert_eq!(table.flow(flow as u32), &flows[flow]);
            }
            open.retain(|&flow| {
                let is_over = lifetimes[flow] <= now - flow;
                if is_over {
                    table.end(flow as u32);
                }
                !is_over
            });
        }
        listed.iter_mut().zip(omitted).for_each(|(record, omitted)| record.received_bytes -= omitted);
        let at = |flow: usize| (flow as u64 / 3, flow as u32);
        prop_assert_eq!(&starts, &(0..starts.len()).map(at).collect::<Vec<_>>());
        let left = table.finish().unwrap();
        if sent_away {
            let kept = sink.0.lock().unwrap();
            prop_assert!(left.is_empty());
            prop_assert_eq!(kept.iter().map(|&(record, _)| record).collect::<Vec<_>>(), listed);
            prop_assert!(kept.iter().all(|&(_, written)| (1..=2).contains(&written)));
        } else {
            prop_assert_eq!(left, if count == 0 { Vec::new() } else { listed });
        }
    }
}

#[test]
fn a_sink_that_refuses_ends_the_run() {
    let flows = flows(3);
    let mut table = FlowTable::new(&flows, 3, false, 0);
    table.send_to(Some(Arc::new(Full)));
    assert_eq!(table.load().unwrap().count(), 1);
    table.end(0);
    let refused = table.load().err().unwrap();
    assert!(refused.problem.contains("records of flows cannot be written"), "{refused}");
    assert!(refused.hint.contains("TMPDIR"), "{refused}");
}

/// A flow whose end is held keeps its record although its chunk is released, and its last record is written; records that
/// are wanted are there when their flows end.
#[test]
fn an_end_that_is_held_comes_when_it_is_released() {
    let flows = flows(4);
    let mut table = FlowTable::new(&flows, flows.len(), false, 1);
    table.load().unwrap().for_each(drop);
    table.hold_end(0);
    table.want_end(0);
    table.end(0);
    table.end(1);
    table.load().unwrap().for_each(drop);
    assert!(table.take_ended().is_empty());
    table.record(0).fct_ps = 7;
    table.release_end(0);
    assert_eq!(
        table.take_ended().iter().map(|(flow, record)| (*flow, record.fct_ps)).collect::<Vec<_>>(),
        [(0, 7)]
    );
    assert_eq!(table.finish().unwrap()[0].fct_ps, 7);
}
