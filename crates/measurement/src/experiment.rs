//! An experiment ([`Experiment`]): something of a test is changed for a moment, to see whether its
//! rate follows; and what that showed ([`Elasticity`]).

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::host::Role;

/// A part of a test that an experiment changes for a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Hand {
    /// The sender's workers take more CPU time for each block.
    SenderCpu,
    /// The receiver's workers do.
    ReceiverCpu,
    /// The kernel paces the sender's sockets to less than their rate (`SO_MAX_PACING_RATE`, socket(7)).
    Pacing,
}

impl Hand {
    /// All hands.
    pub const ALL: [Self; 3] = [Self::SenderCpu, Self::ReceiverCpu, Self::Pacing];

    /// Whether the sending end has it, and not the receiving one.
    pub const fn is_of_sender(self) -> bool {
        matches!(self, Self::SenderCpu | Self::Pacing)
    }

    /// Part of the rate that is left where the rate follows it wholly, from 0 to 1.
    pub const fn rest(self) -> f64 {
        match self {
            Self::SenderCpu | Self::ReceiverCpu => 0.85,
            Self::Pacing => 0.80,
        }
    }

    /// Its letter in a schedule.
    const fn letter(self) -> char {
        match self {
            Self::SenderCpu => 's',
            Self::ReceiverCpu => 'r',
            Self::Pacing => 'p',
        }
    }
}

/// A schedule: in each slot of time one hand is used, or none. Both ends of a test use the same one, each
/// its own hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    slot: Duration,
    slots: Vec<Option<Hand>>,
}

impl Experiment {
    /// A slot without a hand before and after each slot with one of `hands`, each of which is used
    /// `times` times, in the order of `draw`, which gives a number below its argument.
    pub fn new(
        slot: Duration,
        hands: &[Hand],
        times: usize,
        mut draw: impl FnMut(usize) -> usize,
    ) -> Self {
        let mut left: Vec<_> = hands.iter().flat_map(|hand| vec![*hand; times]).collect();
        let mut slots = vec![None; 1 + RUN_UP];
        while !left.is_empty() {
            slots.extend([Some(left.swap_remove(draw(left.len()) % left.len())), None]);
        }
        Self { slot, slots }
    }

    /// Length of a slot.
    pub const fn slot(&self) -> Duration {
        self.slot
    }

    /// How long it takes.
    pub fn length(&self) -> Duration {
        self.slot * u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }

    /// The hand that is used at a time since the start. `None`: no hand is used.
    pub fn hand_at(&self, since: Duration) -> Option<Hand> {
        let index = since.as_nanos() / self.slot.as_nanos().max(1);
        *self.slots.get(usize::try_from(index).ok()?)?
    }

    /// Each hand that is used, with the index of its slot.
    pub fn uses(&self) -> impl Iterator<Item = (usize, Hand)> {
        self.slots.iter().enumerate().filter_map(|(index, hand)| Some((index, (*hand)?)))
    }

    /// Reads the text that [`Display`] writes. `None`: the text is no schedule, or one of more slots than
    /// are allowed.
    pub fn parse(text: &str) -> Option<Self> {
        let (millis, letters) = text.split_once(':')?;
        let slot = Duration::from_millis(millis.parse().ok()?);
        let hand = |letter| match letter {
            '.' => Some(None),
            _ => Hand::ALL.into_iter().find(|hand| hand.letter() == letter).map(Some),
        };
        let slots: Option<Vec<_>> = letters.chars().take(MOST_SLOTS + 1).map(hand).collect();
        let read = Self { slot, slots: slots? };
        let is_usable = !read.slots.is_empty() && read.slots.len() <= MOST_SLOTS;
        (is_usable && (LEAST_SLOT..=LONGEST_SLOT).contains(&slot)).then_some(read)
    }
}

impl Display for Experiment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.slot.as_millis())?;
        self.slots.iter().try_for_each(|hand| write!(f, "{}", hand.map_or('.', Hand::letter)))
    }
}

/// How a rate followed a hand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Elasticity {
    /// The hand.
    pub hand: Hand,
    /// Relative change of the rate over relative change of what the hand changes: 1: the rate follows
    /// wholly; 0: not at all.
    pub value: f64,
    /// Half the width of its 90 % confidence interval.
    pub margin: f64,
    /// Slots in which the hand was used.
    pub slots: u32,
}

impl Elasticity {
    /// The elasticity of this and of another experiment with the same hand, pooled.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let (own, others) = (f64::from(self.slots), f64::from(other.slots));
        let all = (own + others).max(1.0);
        let value = (self.value * own + other.value * others) / all;
        let margin = (self.margin * own).hypot(other.margin * others) / all;
        Self { value, margin, slots: self.slots + other.slots, ..self }
    }

    /// Whether it shows neither that the rate follows nor that it does not.
    pub fn is_open(&self) -> bool {
        !self.is_followed() && !self.is_ignored()
    }

    /// Whether it shows that the rate follows most of the change.
    pub fn is_followed(&self) -> bool {
        self.value - self.margin >= HALF
    }

    /// Whether it shows that the rate follows little of the change, or nothing. One that goes up far where
    /// it should go down varies by itself.
    pub fn is_ignored(&self) -> bool {
        self.value.abs() + self.margin < HALF
    }
}

impl Display for Elasticity {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ± {:.2}", self.value, self.margin)
    }
}

/// The end at which a hand is used, of payload that `sender` sends.
pub fn end_of(hand: Hand, sender: &Role) -> Role {
    let is_here = (*sender == Role::Here) == hand.is_of_sender();
    if is_here { Role::Here } else { Role::Peer }
}

/// Slots in which a test begins.
const RUN_UP: usize = 2;
/// Between following and not.
const HALF: f64 = 0.5;
/// Most slots of a schedule that a peer sends.
const MOST_SLOTS: usize = 1_000;
const LEAST_SLOT: Duration = Duration::from_millis(10);
const LONGEST_SLOT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hand_stands_between_slots_without_one() {
        let slot = Duration::from_millis(40);
        let experiment = Experiment::new(slot, &[Hand::SenderCpu, Hand::Pacing], 2, |_| 0);
        assert_eq!(experiment.to_string(), "40:...s.p.p.s.");
        assert_eq!(experiment.length(), Duration::from_millis(440));
        assert_eq!(experiment.hand_at(Duration::from_millis(119)), None);
        assert_eq!(experiment.hand_at(Duration::from_millis(120)), Some(Hand::SenderCpu));
        assert_eq!(experiment.hand_at(Duration::from_hours(1)), None);
        let uses: Vec<_> = experiment.uses().map(|(index, _)| index).collect();
        assert_eq!(uses, [3, 5, 7, 9]);
    }

    #[test]
    fn a_schedule_is_read_as_it_is_written() {
        let experiment =
            Experiment::new(Duration::from_millis(40), &Hand::ALL, 3, |below| below / 2);
        assert_eq!(Experiment::parse(&experiment.to_string()), Some(experiment));
        for text in ["", "40", "40:", "0:..", "40:.x", "9:.", "99999999:.", "a:."] {
            assert_eq!(Experiment::parse(text), None, "{text}");
        }
        assert_eq!(Experiment::parse(&format!("40:{}", ".".repeat(1_001))), None);
    }

    #[test]
    fn an_interval_decides_what_is_followed() {
        let of = |value, margin| Elasticity { hand: Hand::SenderCpu, value, margin, slots: 3 };
        assert!(of(1.0, 0.3).is_followed() && !of(1.0, 0.3).is_ignored());
        assert!(of(0.0, 0.3).is_ignored() && !of(0.0, 0.3).is_followed());
        assert!(!of(-11.5, 7.2).is_ignored() && of(-0.1, 0.1).is_ignored());
        assert!(!of(0.4, 0.2).is_ignored() && !of(0.6, 0.2).is_followed());
    }

    #[test]
    fn further_slots_narrow_an_interval() {
        let of = |value, margin| Elasticity { hand: Hand::SenderCpu, value, margin, slots: 6 };
        let both = of(0.9, 0.6).with(of(1.1, 0.6));
        assert!(of(0.9, 0.6).is_open() && both.is_followed(), "{both}");
        assert_eq!((both.slots, both.to_string()), (12, "1.00 ± 0.42".to_owned()));
    }

    #[test]
    fn a_hand_is_at_the_end_that_sends_or_receives() {
        assert_eq!(end_of(Hand::SenderCpu, &Role::Here), Role::Here);
        assert_eq!(end_of(Hand::ReceiverCpu, &Role::Here), Role::Peer);
        assert_eq!(end_of(Hand::Pacing, &Role::Peer), Role::Peer);
        assert_eq!(end_of(Hand::ReceiverCpu, &Role::Peer), Role::Here);
    }
}
