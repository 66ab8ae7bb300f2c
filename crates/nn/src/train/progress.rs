//! A progress bar on standard error, if that is a terminal.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// The characters of the bar.
const WIDTH: usize = 24;
/// The time between two drawings.
const EVERY: Duration = Duration::from_millis(100);

pub(super) struct Progress {
    is_shown: bool,
    steps: u64,
    done: u64,
    /// The number of steps that were done when the clock started.
    before: u64,
    start: Instant,
    drawn: Option<Instant>,
}

impl Progress {
    pub fn new(steps: u64, done: u64, is_wanted: bool) -> Progress {
        let is_shown = is_wanted && stderr().is_terminal();
        Progress { is_shown, steps, done, before: done, start: Instant::now(), drawn: None }
    }

    /// One more step, with this loss.
    pub fn step(&mut self, loss: f64) {
        self.done += 1;
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= EVERY);
        if self.is_shown && is_due {
            self.drawn = Some(Instant::now());
            let text = bar(self.done, self.steps, self.done - self.before, self.start.elapsed().as_secs_f64(), loss);
            let _ = write!(stderr(), "\r{text}\x1b[K");
            let _ = stderr().flush();
        }
    }

    /// Removes the bar, so that a line can be printed.
    pub fn clear(&mut self) {
        if self.is_shown && self.drawn.take().is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
            let _ = stderr().flush();
        }
    }
}

/// The text of the bar; `timed` of the `done` steps took `seconds`.
fn bar(done: u64, steps: u64, timed: u64, seconds: f64, loss: f64) -> String {
    let filled = (WIDTH as u64 * done / steps.max(1)).min(WIDTH as u64) as usize;
    let rate = timed as f64 / seconds.max(1e-9);
    let left = (steps.saturating_sub(done)) as f64 / rate.max(1e-9);
    let (minutes, rest) = ((left / 60.0) as u64, (left % 60.0) as u64);
    let bar = format!("{}{}", "=".repeat(filled), " ".repeat(WIDTH - filled));
    format!("  [{bar}] {done}/{steps}  {rate:.0} steps/s  loss {loss:.4}  {minutes}:{rest:02} left")
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn a_bar_shows_rate_loss_and_time_left() {
        let text = bar(50, 200, 50, 10.0, 0.25);
        assert_eq!(text, "  [======                  ] 50/200  5 steps/s  loss 0.2500  0:30 left");
    }

    #[test]
    fn resumed_steps_do_not_count_for_the_rate() {
        assert!(bar(150, 200, 50, 10.0, 0.25).contains("5 steps/s  loss 0.2500  0:10 left"));
    }
}
