//! What a person sees while work goes on. Results go to standard output, everything else to standard error.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde::Serialize;

use crate::table::grouped;

/// How to talk to whoever started the command.
#[derive(Clone, Debug)]
pub struct Console {
    json: bool,
    quiet: bool,
}

/// A value and the seconds that it took.
#[derive(Clone, Debug)]
pub struct Timed<T> {
    /// The value.
    pub value: T,
    /// Seconds.
    pub seconds: f64,
}

impl Console {
    /// A console that prints results as JSON or as text, with progress or without.
    pub fn new(json: bool, quiet: bool) -> Self {
        Self { json, quiet }
    }

    /// Whether results are wanted as JSON.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Prints a result: JSON where that is wanted, else the text.
    pub fn result(&self, value: &impl Serialize, text: &str) -> anyhow::Result<()> {
        if self.json {
            print(&serde_json::to_string_pretty(value)?)
        } else {
            print(text.trim_end())
        }
    }

    /// A remark for people.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }

    /// Runs a step whose length is not known, under a spinner.
    pub fn step<T, E>(
        &self,
        what: &str,
        run: impl FnOnce(&ProgressBar) -> Result<T, E>,
    ) -> Result<Timed<T>, E> {
        let spinner = self.bar(ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}");
        spinner.set_message(what.to_owned());
        spinner.enable_steady_tick(Duration::from_millis(120));
        finish(spinner, run)
    }

    /// Runs a step whose length is not known, under a spinner that says how many constraints there are so far.
    pub fn counted<T, E>(
        &self,
        what: &str,
        constraints: &Arc<AtomicUsize>,
        run: impl FnOnce(&ProgressBar) -> Result<T, E>,
    ) -> Result<Timed<T>, E> {
        let spinner = self.bar(ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}");
        let constraints = Arc::clone(constraints);
        let count = move |_: &ProgressState, out: &mut dyn fmt::Write| {
            let count = constraints.load(Ordering::Relaxed) as u64;
            // A line that cannot be written is no reason to stop.
            let _ = write!(out, "{} constraints", grouped(count));
        };
        let style = ProgressStyle::with_template("{spinner} {msg} {constraints} {elapsed}");
        let spinner = match style {
            Ok(style) => spinner.with_style(style.with_key("constraints", count)),
            Err(_) => spinner,
        };
        spinner.set_message(what.to_owned());
        spinner.enable_steady_tick(Duration::from_millis(120));
        finish(spinner, run)
    }

    /// Runs a step of known length, under a bar.
    pub fn measured<T, E>(
        &self,
        what: &str,
        length: u64,
        run: impl FnOnce(&ProgressBar) -> Result<T, E>,
    ) -> Result<Timed<T>, E> {
        let bar = self.bar(
            ProgressBar::new(length),
            "{spinner} {msg} {wide_bar} {percent}% {elapsed} (left {eta})",
        );
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        finish(bar, run)
    }

    fn bar(&self, bar: ProgressBar, template: &str) -> ProgressBar {
        if self.quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        match ProgressStyle::with_template(template) {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        }
    }
}

/// Prints a line. A reader that has gone wants no more of it.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}

fn finish<T, E>(
    bar: ProgressBar,
    run: impl FnOnce(&ProgressBar) -> Result<T, E>,
) -> Result<Timed<T>, E> {
    let start = Instant::now();
    let value = run(&bar);
    bar.finish_and_clear();
    value.map(|value| Timed {
        value,
        seconds: start.elapsed().as_secs_f64(),
    })
}
