//! Network with ports that tell classes apart: frames come in, are served, arrive; pauses are sent and obeyed.

use super::{Network, source};
use crate::classed::{Admitted, Classed, PAUSE_BYTES, PAUSES, PauseFrame, Waiting, trim};
use crate::flow_record::Fate;
use crate::slab::PacketId;
use crate::telemetry::Hop;
use crate::timers::Timer;
use crate::{Class, EventKind, Kind, Packet, PortRecord, marks};
use anabranch_fabric::{MarkAt, Refresh};

impl Network {
    /// Offers a packet to a port with classes; says whether it took it.
    #[inline(never)]
    pub(super) fn offer_classed(&mut self, port: u32, id: PacketId) -> bool {
        let now_ps = self.now_ps;
        self.complete(port);
        self.take_arrived(port);
        let Some(classed) = self.classed.as_deref_mut() else { return false };
        let egress = &mut self.ports[port as usize];
        if !egress.is_up() {
            egress.note_lost(1);
            self.discard(id, Fate::Lost, Some(port));
            return false;
        }
        let packet = self.packets.get(id);
        let mut queue = Classed::queue_of(packet);
        let frame_bytes = packet.frame_bytes;
        let mut frame = Waiting { id, frame_bytes, ingress: classed.ingress_of(id, port, queue) };
        let is_data = queue >= Class::Data as usize && queue != PAUSES;
        let mut marked = false;
        if is_data && classed.settings.mark_at == MarkAt::Enqueue {
            marked = classed.ports[port as usize].strikes(queue);
            let capable = packet.marks & marks::CAPABLE != 0;
            if marked && !capable && classed.ports[port as usize].is_ramp() {
                egress.note_dropped();
                self.discard(id, Fate::Dropped, Some(port));
                return false;
            }
            marked &= capable;
        }
        let mut trimmed = None;
        if !classed.count_in(port, queue, frame) {
            let cuts = is_data && classed.settings.classes[queue].trim && !classed.at_host(port);
            if !cuts || frame_bytes <= classed.settings.trim_bytes {
                egress.note_dropped();
                self.discard(id, Fate::Dropped, Some(port));
                return false;
            }
            match classed.cut(port, queue, frame, now_ps) {
                Admitted::CutNewest(newest) => trimmed = Some(newest),
                Admitted::CutArriving => {
                    marked = false;
                    let trim_bytes = classed.settings.trim_bytes;
                    trim(&mut frame, trim_bytes, &mut self.packets);
                    self.note_trimmed(port, id);
                    queue = self.packets.get(id).class() as usize;
                    if !self.fits_control(port, queue, frame) {
                        return false;
                    }
                }
            }
        }
        if marked {
            self.packets.get(id).marks |= marks::EXPERIENCED;
            self.note_marked(port, id, now_ps);
        }
        if let Some(newest) = trimmed {
            self.requeue_trimmed(port, newest);
        }
        self.admit(port, queue, frame);
        true
    }

    /// Cuts a frame that waited, and lets its header wait among control.
    fn requeue_trimmed(&mut self, port: u32, mut newest: Waiting) {
        let Some(classed) = self.classed.as_deref_mut() else { return };
        trim(&mut newest, classed.settings.trim_bytes, &mut self.packets);
        self.note_trimmed(port, newest.id);
        let queue = self.packets.get(newest.id).class() as usize;
        if self.fits_control(port, queue, newest) {
            self.admit(port, queue, newest);
        }
    }

    /// Whether there is room for a header; if not, it is dropped.
    fn fits_control(&mut self, port: u32, queue: usize, frame: Waiting) -> bool {
        let Some(classed) = self.classed.as_deref_mut() else { return false };
        let fits = classed.count_in(port, queue, frame);
        if !fits {
            self.ports[port as usize].note_dropped();
            self.discard(frame.id, Fate::Dropped, Some(port));
        }
        fits
    }

    /// Serves a frame that was counted in, or lets it wait.
    #[inline]
    fn admit(&mut self, port: u32, queue: usize, frame: Waiting) {
        let now_ps = self.now_ps;
        let Some(classed) = self.classed.as_deref_mut() else { return };
        // Before its service: that may end the pause at once, and the end must not overtake it.
        if let Some(pause) = classed.pause(port, queue, frame, now_ps) {
            self.send_pause(pause);
        }
        let Some(classed) = self.classed.as_deref_mut() else { return };
        let egress = &mut self.ports[port as usize];
        let queues = &mut classed.ports[port as usize].queues;
        queues.lapse(now_ps);
        if egress.free_ps() <= now_ps && !queues.has_ready() && !queues.is_paused(queue) {
            queues.begin_at_once(queue, frame, &classed.settings);
            self.transmit(port, queue, frame);
        } else {
            queues.push(queue, frame, now_ps);
        }
        self.note_queues(port);
        self.set_leaf(port);
    }

    /// Gives a frame whose service begins to the line.
    #[inline]
    fn transmit(&mut self, port: u32, queue: usize, frame: Waiting) {
        let now_ps = self.now_ps;
        let Some(classed) = self.classed.as_deref_mut() else { return };
        classed.count_out(port, queue, frame);
        let pause = classed.resume(port, queue, frame, now_ps);
        let at_host = classed.at_host(port);
        let egress = &mut self.ports[port as usize];
        if let Some(telemetry) = &mut self.telemetry
            && !at_host
            && self.packets.get(frame.id).kind.has_payload()
        {
            let hop = Hop {
                port,
                rate_bps: egress.rate_bps(),
                sent_bytes: egress.sent_bytes(now_ps),
                backlog_bytes: classed.ports[port as usize].queues.waiting_bytes(),
                at_ps: now_ps,
            };
            telemetry.depart(frame.id, hop);
        }
        if at_host {
            egress.transmit::<true>(now_ps, frame.id, frame.frame_bytes);
            self.unpark(port);
        } else {
            egress.transmit::<false>(now_ps, frame.id, frame.frame_bytes);
        }
        self.send_across(port);
        if let Some(pause) = pause {
            self.send_pause(pause);
        }
    }

    /// Accounts for the frame in service if it has been sent: it waits no longer, and is marked by what it leaves behind.
    #[inline(always)]
    pub(crate) fn complete(&mut self, port: u32) {
        let Some(classed) = self.classed.as_deref() else { return };
        let serves = classed.ports[port as usize].queues.serving.is_some();
        if serves && self.ports[port as usize].free_ps() <= self.now_ps {
            self.account(port);
        }
    }

    pub(super) fn account(&mut self, port: u32) {
        let Some(classed) = self.classed.as_deref_mut() else { return };
        let classed_port = &mut classed.ports[port as usize];
        let Some(serving) = classed_port.queues.complete() else { return };
        let queue = usize::from(serving.queue);
        let is_data = queue >= Class::Data as usize && queue != PAUSES;
        if is_data && classed.settings.mark_at == MarkAt::Dequeue {
            let packet = self.packets.get(serving.id);
            if packet.marks & marks::CAPABLE != 0 && classed_port.strikes(queue) {
                packet.marks |= marks::EXPERIENCED;
                let sent_ps = self.ports[port as usize].free_ps();
                self.note_marked(port, serving.id, sent_ps);
            }
        }
        if let Some(recorder) = &mut self.recorder {
            let start_ps = self.ports[port as usize].last_start_ps();
            let packet = self.packets.get(serving.id);
            let header = self.headers.as_ref().and_then(|headers| headers.of_packet(packet));
            recorder.capture(port, start_ps, packet, header);
        }
        self.post_sent(port, serving.id);
    }

    /// A frame is marked at a time: when it has been sent, that may be before now.
    fn note_marked(&mut self, port: u32, id: PacketId, at_ps: u64) {
        self.ports[port as usize].note_marked();
        self.note_event(EventKind::Marked, at_ps, port, id);
    }

    fn note_trimmed(&mut self, port: u32, id: PacketId) {
        if let Some(classed) = self.classed.as_deref_mut() {
            classed.ports[port as usize].queues.trimmed_packets += 1;
            if classed.is_last(port) {
                self.packets.get(id).set_trimmed_last();
            }
        }
        self.note_event(EventKind::Trimmed, self.now_ps, port, id);
    }

    fn note_event(&mut self, what: EventKind, at_ps: u64, port: u32, id: PacketId) {
        if let Some(recorder) = &mut self.recorder {
            recorder.note(what, at_ps, Some(port), self.packets.get(id));
        }
    }

    /// The event of a port with classes: its first frame arrives, or the next can be served.
    #[inline(never)]
    pub(super) fn classed_event(&mut self, port: u32) -> Option<(u32, PacketId)> {
        self.complete(port);
        let across = self.is_sent_across(port);
        let egress = &mut self.ports[port as usize];
        if across || egress.next_arrival_ps() > self.now_ps {
            self.take_arrived(port);
            self.serve_line(port);
            return None;
        }
        let (id, _) = egress.arrive();
        let (to, lost) = (egress.to, egress.loses());
        self.set_leaf(port);
        // As at FIFO ports: most likely what comes next.
        if let Some((_, next)) = self.queue.first()
            && next >= source::PORTS
        {
            self.packets.prefetch(self.ports[next - source::PORTS].next_packet());
        }
        if lost {
            self.discard(id, Fate::Lost, Some(port));
            return None;
        }
        if self.packets.get(id).kind == Kind::Pause {
            self.obey(port, id);
            return None;
        }
        if let Some(classed) = self.classed.as_deref_mut() {
            classed.note_ingress(id, port);
        }
        Some((to, id))
    }

    /// Serves the next frame of a port, if it may.
    #[inline(never)]
    fn serve_line(&mut self, port: u32) {
        let now_ps = self.now_ps;
        let Some(classed) = self.classed.as_deref_mut() else { return };
        let queues = &mut classed.ports[port as usize].queues;
        queues.lapse(now_ps);
        let begun = if self.ports[port as usize].free_ps() <= now_ps {
            queues.begin(&classed.settings, now_ps)
        } else {
            None
        };
        match begun {
            Some((queue, frame)) => self.transmit(port, queue, frame),
            None => self.unpark(port),
        }
        self.set_leaf(port);
    }

    /// Shows the next event of a port with classes.
    #[inline]
    pub(super) fn set_leaf(&mut self, port: u32) {
        let across = self.is_sent_across(port);
        let Some(classed) = self.classed.as_deref_mut() else { return };
        let egress = &self.ports[port as usize];
        let queues = &mut classed.ports[port as usize].queues;
        let service_ps = queues.service_ps(egress.free_ps()).max(self.now_ps);
        let leaf_ps = if across { service_ps } else { egress.next_arrival_ps().min(service_ps) };
        let before_ps = std::mem::replace(&mut queues.leaf_ps, leaf_ps);
        if leaf_ps < before_ps {
            self.queue.insert(source::PORTS + port as usize, leaf_ps);
        } else if leaf_ps > before_ps {
            self.queue.set(source::PORTS + port as usize, leaf_ps);
        }
    }

    /// Sends a pause, or the end of one, over the link by which the paused frames come in.
    fn send_pause(&mut self, pause: PauseFrame) {
        let Some(classed) = self.classed.as_deref_mut() else { return };
        let via = classed.reverse[pause.ingress as usize];
        classed.ports[via as usize].queues.pauses_sent += u64::from(pause.quantum_ps > 0);
        let rings = classed.settings.shared.is_some_and(|shared| shared.refresh == Refresh::Timer);
        if rings && pause.quantum_ps > 0 {
            let at_ps = self.now_ps + pause.quantum_ps / 2;
            self.wake_at(at_ps, Timer::Pause(pause.ingress, pause.class as u32));
        }
        let packet = Packet {
            kind: Kind::Pause,
            frame_bytes: PAUSE_BYTES,
            tag: pause.class as u32,
            seq: pause.quantum_ps,
            ..Packet::default()
        };
        self.sent += 1;
        let id = self.packets.insert(packet);
        self.offer_classed(via, id);
    }

    /// Obeys a pause, or the end of one, that came by the link of a port: it concerns the other direction.
    fn obey(&mut self, port: u32, id: PacketId) {
        let Packet { tag, seq: quantum_ps, .. } = *self.packets.get(id);
        self.consume(id);
        let now_ps = self.now_ps;
        let Some(classed) = self.classed.as_deref_mut() else { return };
        let port = classed.reverse[port as usize];
        let queues = &mut classed.ports[port as usize].queues;
        queues.lapse(now_ps);
        let class = Class::ALL[tag as usize];
        if quantum_ps > 0 {
            queues.pause(class, now_ps, now_ps + quantum_ps);
        } else {
            queues.resume(class, now_ps);
            self.unpark(port);
        }
        self.set_leaf(port);
    }

    /// The timer of a pause rang: it is sent again if it still lasts. Ports that wait for each other for ever, if there are.
    #[inline(never)]
    pub(crate) fn refresh_pause(&mut self, ingress: u32, class: u32) -> Option<Vec<u32>> {
        let now_ps = self.now_ps;
        let class = Class::ALL[class as usize];
        let classed = self.classed.as_deref_mut()?;
        let (pause, stuck) = classed.refresh(ingress, class, now_ps)?;
        if stuck.0
            && let Some(circle) = classed.deadlock(class)
        {
            return Some(circle);
        }
        self.send_pause(pause);
        None
    }

    /// Whether data of a host have to wait in its card: others do, or the port has enough of the class, or is paused.
    #[inline(never)]
    pub(super) fn waits_in_card(&self, host: u32, port: u32, queue: usize) -> bool {
        let (Some(classed), Some(cards)) = (self.classed.as_deref(), &self.cards) else { return false };
        queue >= Class::Data as usize
            && (cards.one_at_a_time()
                || !cards.is_empty(host)
                || cards.has_parked(host, queue)
                || !classed.ports[port as usize].queues.takes(queue, cards.ahead_bytes))
    }

    /// Whether a port is free for what its host chooses now: what waits at the port itself goes first.
    #[inline(never)]
    pub(super) fn is_free(&mut self, port: u32) -> bool {
        if self.classed.is_some() {
            self.complete(port);
            self.serve_line(port);
        }
        self.ports[port as usize].free_ps() <= self.now_ps
    }

    /// Parks the queues in a host's card whose class the port does not take now, up to the first that it does. Whether there
    /// is one.
    #[inline(never)]
    pub(super) fn park(&mut self, host: u32, port: u32) -> bool {
        let (Some(classed), Some(cards)) = (self.classed.as_deref_mut(), &mut self.cards) else {
            return false;
        };
        let queues = &mut classed.ports[port as usize].queues;
        queues.lapse(self.now_ps);
        while let Some(front) = cards.front(host) {
            // What senders make at their turn is of the first class of data.
            let class = front.map_or(Class::Data, |id| self.packets.get(id).class());
            let queue = class as usize;
            if queues.takes(queue, cards.ahead_bytes) {
                return true;
            }
            // What is only busy is asked again when it is free.
            if cards.one_at_a_time() && !queues.is_paused(queue) {
                return false;
            }
            cards.park(host, queue);
            queues.set_awaited(queue, true);
        }
        false
    }

    /// Lets queues in the card go on whose class the port takes again.
    pub(super) fn unpark(&mut self, port: u32) {
        let (Some(classed), Some(cards)) = (self.classed.as_deref_mut(), &mut self.cards) else { return };
        let host = classed.from[port as usize];
        if !classed.at_host(port) {
            return;
        }
        let queues = &mut classed.ports[port as usize].queues;
        let mut moved = false;
        for queue in [Class::Data as usize, Class::SecondData as usize] {
            if queues.takes(queue, cards.frame_bytes()) && cards.unpark(host, queue) {
                queues.set_awaited(queue, false);
                moved = true;
            }
        }
        if moved {
            cards.set_due(host, self.now_ps);
            self.queue.set(source::CARDS, cards.due_ps());
        }
    }

    /// A port with classes dies: takes out what waits there.
    #[inline(never)]
    pub(crate) fn drain(&mut self, port: u32) -> Vec<PacketId> {
        let now_ps = self.now_ps;
        let Some(classed) = self.classed.as_deref_mut() else { return Vec::new() };
        let drained = classed.ports[port as usize].queues.drain(now_ps);
        self.ports[port as usize].note_lost(drained.len() as u64);
        for &(queue, frame) in &drained {
            let Some(classed) = self.classed.as_deref_mut() else { break };
            classed.count_out(port, queue, frame);
            if let Some(pause) = classed.resume(port, queue, frame, now_ps) {
                self.send_pause(pause);
            }
        }
        self.unpark(port);
        self.set_leaf(port);
        drained.into_iter().map(|(_, frame)| frame.id).collect()
    }

    /// Notes what waits before a port's line, in its queues and in its host's card: its largest backlog counts both.
    #[inline]
    pub(super) fn note_queues(&mut self, port: u32) {
        let Some(classed) = self.classed.as_deref() else { return };
        let mut waiting_bytes = classed.ports[port as usize].queues.waiting_bytes();
        if classed.at_host(port) {
            waiting_bytes += self.waiting_bytes(classed.from[port as usize]);
        }
        self.ports[port as usize].note_waiting(self.now_ps, waiting_bytes);
    }

    /// Accounts for all frames that have been sent.
    pub(crate) fn complete_all(&mut self) {
        for port in 0..self.classed.as_ref().map_or(0, |classed| classed.ports.len()) as u32 {
            self.complete(port);
        }
    }

    /// Ends an interval: adds to the ports' records what their queues counted.
    pub(crate) fn end_classed_interval(&mut self, records: &mut [PortRecord]) {
        let now_ps = self.now_ps;
        let Some(classed) = self.classed.as_deref_mut() else { return };
        for (record, classed) in records.iter_mut().zip(&mut classed.ports) {
            let queues = &mut classed.queues;
            let (backlog_byte_ps, paused_ps) = queues.end_interval(now_ps);
            record.backlog_byte_ps += backlog_byte_ps;
            record.paused_ps += paused_ps;
            record.trimmed_packets += std::mem::take(&mut queues.trimmed_packets);
            record.pauses_sent += std::mem::take(&mut queues.pauses_sent);
        }
        for port in 0..records.len() as u32 {
            self.note_queues(port);
        }
    }
}
