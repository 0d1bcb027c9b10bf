//! Names of rows: what a plan does, in a few words.

use crate::plan::{Direction, TestPlan};
use crate::units::group_thousands;

impl TestPlan {
    /// Title of the plan: transport and direction, or the kind of exchange: `TCP send`.
    pub fn title(&self) -> String {
        match self.exchange {
            Some(exchange) => format!("{} {}", self.transport, exchange.way),
            None => format!("{} {}", self.transport, self.direction),
        }
    }

    /// Title of the plan, with the number of streams if there are several: `TCP send, 3 streams`.
    pub fn row(&self) -> String {
        self.title() + &self.several_streams()
    }

    /// Title of one of the plan's directions, with the number of streams if there are several: `TCP
    /// receive (both ways), 3 streams`.
    pub fn row_of_direction(&self, direction: Direction) -> String {
        let both = if self.direction == Direction::Both { " (both ways)" } else { "" };
        format!("{} {direction}{both}{}", self.transport, self.several_streams())
    }

    fn several_streams(&self) -> String {
        if self.streams > 1 {
            format!(", {} streams", group_thousands(self.streams.into()))
        } else {
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{PlanDraft, Transport};

    #[test]
    fn a_row_has_its_streams_if_there_are_several() {
        let mut draft = PlanDraft::new(Transport::Tcp, Direction::Both);
        let one = draft.clone().check().expect("a plan");
        assert_eq!(one.row(), one.title());
        draft.streams = 3;
        let plan = draft.check().expect("a plan");
        assert_eq!(plan.row(), format!("{}, 3 streams", plan.title()));
        let row = plan.row_of_direction(Direction::Receive);
        assert_eq!(row, "TCP receive (both ways), 3 streams");
    }
}
