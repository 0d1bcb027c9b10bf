//! The state bytes of the control connection (section 4).

use std::fmt;

/// A state as it goes over the wire: one signed byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Server: all streams are there, set up counters.
    TestStart,
    /// Server: send and receive.
    TestRunning,
    /// Client: stop sending.
    TestEnd,
    /// Server: send your parameters.
    ParamExchange,
    /// Server: open the streams.
    CreateStreams,
    /// Server: it ends the test.
    ServerTerminate,
    /// Client: it ends the test.
    ClientTerminate,
    /// Server: send your results, then take mine.
    ExchangeResults,
    /// Server: the results are complete.
    DisplayResults,
    /// Client: all done, close.
    IperfDone,
    /// Between two linerates only: a framed JSON object follows (section 13).
    Extension,
    /// Server: it serves another client.
    AccessDenied,
    /// Server: two 32-bit error numbers follow.
    ServerError,
}

impl State {
    /// Every state, in order of its byte.
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

    /// The byte on the wire.
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

    /// The state of a byte; none for bytes that no version uses.
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
