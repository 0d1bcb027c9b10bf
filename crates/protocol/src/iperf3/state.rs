//! The state bytes of the control connection (section 4).

use std::fmt;

/// State of a test, one signed byte on the wire (section 4 of docs/protocol/iperf3.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// From the server: all streams are open; both ends reset their counters.
    TestStart,
    /// From the server: both ends send and receive.
    TestRunning,
    /// From the client: the test is over; both ends stop sending.
    TestEnd,
    /// From the server: it requests the parameters.
    ParamExchange,
    /// From the server: it requests the streams.
    CreateStreams,
    /// From the server: it aborts the test.
    ServerTerminate,
    /// From the client: it aborts the test.
    ClientTerminate,
    /// From the server: it requests the client's results and then sends its own.
    ExchangeResults,
    /// From the server: the results are complete.
    DisplayResults,
    /// From the client: the test is complete, and the connection is closed.
    IperfDone,
    /// Between two linerates only: a JSON object follows (section 13).
    Extension,
    /// From the server: it is busy with another client.
    AccessDenied,
    /// From the server: the test failed; iperf3's error number and the errno follow, 32 bits each.
    ServerError,
}

impl State {
    /// All states, in the order of their numbers on the wire, the negative ones last.
    pub const ALL: [Self; 13] = [
        Self::TestStart,
        Self::TestRunning,
        Self::TestEnd,
        Self::ParamExchange,
        Self::CreateStreams,
        Self::ServerTerminate,
        Self::ClientTerminate,
        Self::ExchangeResults,
        Self::DisplayResults,
        Self::IperfDone,
        Self::Extension,
        Self::AccessDenied,
        Self::ServerError,
    ];

    /// The byte of the state on the wire, a signed number in two's complement.
    pub const fn byte(self) -> u8 {
        let signed: i8 = match self {
            Self::TestStart => 1,
            Self::TestRunning => 2,
            Self::TestEnd => 4,
            Self::ParamExchange => 9,
            Self::CreateStreams => 10,
            Self::ServerTerminate => 11,
            Self::ClientTerminate => 12,
            Self::ExchangeResults => 13,
            Self::DisplayResults => 14,
            Self::IperfDone => 16,
            Self::Extension => 64,
            Self::AccessDenied => -1,
            Self::ServerError => -2,
        };
        signed.cast_unsigned()
    }

    /// Finds a state by its byte on the wire. None: neither iperf3 nor linerate uses the byte.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.byte() == byte)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::TestStart => "TEST_START",
            Self::TestRunning => "TEST_RUNNING",
            Self::TestEnd => "TEST_END",
            Self::ParamExchange => "PARAM_EXCHANGE",
            Self::CreateStreams => "CREATE_STREAMS",
            Self::ServerTerminate => "SERVER_TERMINATE",
            Self::ClientTerminate => "CLIENT_TERMINATE",
            Self::ExchangeResults => "EXCHANGE_RESULTS",
            Self::DisplayResults => "DISPLAY_RESULTS",
            Self::IperfDone => "IPERF_DONE",
            Self::Extension => "EXTENSION",
            Self::AccessDenied => "ACCESS_DENIED",
            Self::ServerError => "SERVER_ERROR",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_survives_the_wire() {
        for state in State::ALL {
            assert_eq!(State::from_byte(state.byte()), Some(state));
        }
        assert_eq!(State::from_byte(0), None);
        assert_eq!(State::AccessDenied.byte(), 0xff);
    }
}
