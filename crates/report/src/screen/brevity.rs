//! How much stands under the table: less, step by step, until it is one screen. What is left out
//! is counted in the last line.

/// How much of each block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brevity {
    /// Doubts; never none, as no stamp is without its reason.
    pub doubts: usize,
    /// What the trials of a search came to.
    pub trials: bool,
    /// The first of what shows a limit.
    pub evidence: bool,
    pub remedies: usize,
    /// Limits of rows that differ.
    pub limits: usize,
}

impl Brevity {
    /// With most first.
    pub(super) const STEPS: [Self; 9] = {
        let most =
            Self { doubts: 3, trials: true, evidence: true, remedies: 2, limits: usize::MAX };
        let one_doubt = Self { doubts: 1, ..most };
        let no_trials = Self { trials: false, ..one_doubt };
        let no_evidence = Self { evidence: false, ..no_trials };
        [
            most,
            Self { doubts: 2, ..most },
            one_doubt,
            no_trials,
            no_evidence,
            Self { limits: 2, ..no_evidence },
            Self { remedies: 1, ..no_evidence },
            Self { limits: 2, remedies: 1, ..no_evidence },
            Self { limits: 1, remedies: 1, ..no_evidence },
        ]
    };
}
