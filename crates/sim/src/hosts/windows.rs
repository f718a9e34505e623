//! Congestion windows of the flows that are watched, as they change.

use super::Hosts;
use crate::WindowSample;
use crate::connections::AnySender;

/// No window was written down yet.
pub(super) const NO_WINDOW: u64 = u64::MAX;

impl Hosts<'_> {
    pub(super) fn watch(&mut self, name: u32, now_ps: u64) {
        if self.watched.is_empty() {
            return;
        }
        let Some(connection) = self.connections.get(name) else { return };
        let flow = connection.message.flow;
        let window_bytes = match &connection.sending.end {
            AnySender::Stream(sender) => sender.window_bytes(),
            AnySender::Roce(sender) => sender.window_bytes(),
            AnySender::Uec(sender) => sender.window_bytes(),
            AnySender::Datagrams(_) => return,
        };
        let window_bytes = self.window_of_parts(flow).unwrap_or(window_bytes);
        self.note_window(flow, window_bytes, now_ps);
    }

    pub(super) fn note_window(&mut self, flow: u32, window_bytes: u64, now_ps: u64) {
        let Some(last_bytes) = self.watched.get_mut(&flow) else { return };
        if *last_bytes != window_bytes {
            *last_bytes = window_bytes;
            self.windows.push(WindowSample { flow, time_ps: now_ps, window_bytes });
        }
    }
}
