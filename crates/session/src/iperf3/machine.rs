//! The two machines of the protocol behind a control connection.

use measurement::Timestamp;
use protocol::iperf3::{Client, Server};

use crate::control::Machine;

impl Machine for Client {
    fn take_output(&mut self) -> Vec<u8> {
        self.take_output()
    }
    fn handle_bytes(&mut self, bytes: &[u8], now: Timestamp) {
        self.handle_bytes(bytes, now);
    }
    fn handle_close(&mut self, reset: bool) {
        self.handle_close(reset);
    }
    fn handle_loss(&mut self) {
        self.handle_loss();
    }
    fn handle_timeout(&mut self, now: Timestamp) {
        self.handle_timeout(now);
    }
    fn deadline(&self) -> Option<Timestamp> {
        self.deadline()
    }
}

impl Machine for Server {
    fn take_output(&mut self) -> Vec<u8> {
        self.take_output()
    }
    fn handle_bytes(&mut self, bytes: &[u8], now: Timestamp) {
        self.handle_bytes(bytes, now);
    }
    fn handle_close(&mut self, _reset: bool) {
        self.handle_close();
    }
    fn handle_loss(&mut self) {
        self.handle_loss();
    }
    fn handle_timeout(&mut self, now: Timestamp) {
        self.handle_timeout(now);
    }
    fn deadline(&self) -> Option<Timestamp> {
        self.deadline()
    }
}
