//! Keys of UEC.

use super::messages::visit_queue_pairs;
use super::rdma::{refuse_nothing, visit_answer, visit_completion};
use anabranch_form::Form;
use anabranch_form::unit::{Bytes, Choice, Count, Positive, Time};
use anabranch_sim::transport::control::{Law, NsccSettings};
use anabranch_sim::transport::uec::{Credits, Uec};

/// Congestion controls of UEC: the sender's, the receiver's, both.
const CONTROLS: [&str; 3] = ["nscc", "rccc", "nscc+rccc"];

/// Unit of credit, in bytes.
const QUANTUM_BYTES: u64 = 256;

/// UEC with receiver credits alone.
pub(super) fn with_credits() -> Uec {
    Uec { law: law(CONTROLS[1]), credits: credits(CONTROLS[1]), ..Uec::DEFAULT }
}

fn law(control: &str) -> Law {
    if control == CONTROLS[1] { Law::None } else { Law::Nscc(NsccSettings::DEFAULT) }
}

fn credits(control: &str) -> Option<Credits> {
    (control != CONTROLS[0]).then_some(Credits::DEFAULT)
}

fn control_of(uec: &Uec) -> &'static str {
    match (&uec.credits, &uec.law) {
        (None, _) => CONTROLS[0],
        (Some(_), Law::None) => CONTROLS[1],
        (Some(_), _) => CONTROLS[2],
    }
}

/// The keys of UEC.
pub(crate) fn visit(form: &mut impl Form, uec: &mut Uec) {
    let mut control = control_of(uec);
    form.kind(
        "control",
        Choice(&CONTROLS),
        &mut control,
        "Congestion control of Ultra Ethernet 1.0. NSCC: a window at the sender, by marks and delay. RCCC: credit that the \
         receiver grants to all its senders in turn, at nearly the rate of its link; a flow begins with some. Both: what \
         credit and window allow.",
    );
    if control != control_of(uec) {
        (uec.law, uec.credits) = (law(control), credits(control));
    }
    if let Law::Nscc(nscc) = &mut uec.law {
        form.optional(
            "target",
            Time,
            &mut nscc.target_ps,
            "Queueing delay that NSCC aims for; where it is not given, three quarters of the longest round trip of the empty \
             fabric.",
        );
        if nscc.target_ps == Some(0) {
            form.refuse(
                "target",
                "it is no time at all".to_owned(),
                "give a time such as \"9 us\"".to_owned(),
            );
        }
        form.optional(
            "first_window",
            Bytes::SOME,
            &mut nscc.window_bytes,
            "First window, in frames with their headers; where it is not given, the largest: what the host's link carries \
             in 1.5 round trips.",
        );
        let mut gate = u32::from(nscc.gate);
        form.key(
            "quick_gate",
            Count { least: 0, most: 62 },
            &mut gate,
            "Quick adaptation cuts the window where packets are trimmed and less arrived than the largest window divided \
             by 2 to this power.",
        );
        nscc.gate = gate as u8;
    }
    if let Some(credits) = &mut uec.credits {
        visit_credits(form, credits);
    }
    let mut ack_bytes = u64::from(uec.ack_bytes);
    form.key(
        "ack_bytes",
        Bytes { least: 1, most: 1 << 30 },
        &mut ack_bytes,
        "Frames that arrive between two acknowledgements; the first packet, the last, marked ones and those sent again are \
         acknowledged at once.",
    );
    uec.ack_bytes = ack_bytes as u32;
    let mut rto_ps = (uec.rto_ps > 0).then_some(uec.rto_ps);
    form.optional(
        "rto",
        Time,
        &mut rto_ps,
        "Timeout of a packet; it doubles each time that packets which were sent again time out and nothing is answered, six \
         times at most. A sender that gets the answer to what it sent before the timeout waits twice as long as that took \
         from then on. Default: 15 us, or the longest round trip of the empty fabric if that is longer, and the time in \
         which the slowest port sends six times what it has room for (178,450 B where its buffer is shared or unlimited), \
         or a whole shared buffer where ports pause; 100,656 ns at \
         least. A port's lowest rate in the run counts, changes included. uet-htsim has the same rule for its ports as \
         built, which yields the least, `rto = \"100656 ns\"`.",
    );
    if let Some(rto_ps) = rto_ps {
        refuse_nothing(form, "rto", rto_ps);
        uec.rto_ps = rto_ps;
    }
    visit_queue_pairs(form, &mut uec.queue_pairs);
    visit_completion(form, &mut uec.completion);
    visit_answer(form, &mut uec.answer_bytes);
}

fn visit_credits(form: &mut impl Form, credits: &mut Credits) {
    form.key(
        "credit_share",
        Positive { most: 1.0 },
        &mut credits.share,
        "Share of its host's link for which a receiver grants credit, over all its senders; less than 1, so that queues drain.",
    );
    let mut grant_bytes = u64::from(credits.grant_bytes);
    form.key(
        "grant",
        Bytes { least: QUANTUM_BYTES, most: 1 << 30 },
        &mut grant_bytes,
        "Most credit in one packet of the receiver, in bytes of frames; a multiple of 256 B, the unit of credit.",
    );
    if grant_bytes % QUANTUM_BYTES != 0 {
        form.refuse(
            "grant",
            format!("{grant_bytes} B is not a multiple of 256 B, the unit of credit"),
            "give a size such as \"16384 B\"".to_owned(),
        );
    }
    credits.grant_bytes = grant_bytes as u32;
    form.optional(
        "credit_window",
        Bytes::SOME,
        &mut credits.most_bytes,
        "Frames that a flow may send before its receiver answers, and most credit that it holds or asks for; where it is not \
         given, what the host's link carries in 1.5 round trips of the empty fabric. One full frame at least.",
    );
}
