//! Why points of a sweep are not VALID, below the table of the points.

use std::io::{self, Write};

use measurement::{Order, Reason, Stamp};

use super::Sweep;
use crate::page::wrap;

impl Sweep<'_> {
    /// Writes each rule that found something once, the worst first: the sentence of the first point
    /// that it is of, and which others it is of. Nothing: all points are VALID.
    pub(super) fn write_reasons(&self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        let reasons = self.reasons();
        if !reasons.is_empty() {
            writeln!(out)?;
        }
        for (reason, points) in reasons {
            let (first, others) = points.split_first().map_or(("", &[][..]), |(a, b)| (a, b));
            let also = if others.is_empty() {
                String::new()
            } else {
                format!(" (also at {})", others.join("; "))
            };
            let text = format!("at {first}: {}{also}", reason.text);
            let lines = wrap(&text, width.saturating_sub(HEAD).max(HEAD));
            for (number, line) in lines.into_iter().enumerate() {
                let head = if number == 0 { reason.stamp.to_string() } else { String::new() };
                writeln!(out, "{head:HEAD$}{line}")?;
            }
        }
        Ok(())
    }

    /// The first reason of each rule and host that leave a point without VALID, and its points.
    fn reasons(&self) -> Vec<(&Reason, Vec<String>)> {
        let mut found: Vec<(&Reason, Vec<String>)> = Vec::new();
        for point in &self.points {
            let judgement = point.record.judgement.iter();
            let reasons = judgement.flat_map(|judgement| &judgement.reasons);
            for reason in reasons.filter(|reason| reason.stamp > Stamp::Valid) {
                let settings = self.axes.iter().zip(&point.settings);
                let at = settings.map(|(axis, setting)| axis.titled(setting)).collect::<Vec<_>>();
                let at = at.join(", ");
                let alike = |(one, _): &&mut (&Reason, Vec<String>)| {
                    (&one.rule, one.stamp, &one.host) == (&reason.rule, reason.stamp, &reason.host)
                };
                match found.iter_mut().find(alike) {
                    Some((_, points)) if points.contains(&at) => {}
                    Some((_, points)) => points.push(at),
                    None => found.push((reason, vec![at])),
                }
            }
        }
        found.order_by_key(|(reason, _)| std::cmp::Reverse(reason.stamp));
        found
    }
}

/// Columns of a stamp in front of a sentence.
const HEAD: usize = 9;
