//! Events and the ends of spans as lines.

use std::io::IsTerminal;
use std::str::FromStr;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::DaemonError;
use crate::config::LogFormat;

/// Writes events and the ends of spans of a level, such as `info` or `cuzk_daemon=debug,warn`, to standard error from now on.
///
/// Errors: [`DaemonError::Config`] where the level does not read or events go elsewhere already.
pub fn start(level: &str, format: LogFormat) -> Result<(), DaemonError> {
    let wrong = |message: String| DaemonError::Config { message };
    let filter = EnvFilter::from_str(level)
        .map_err(|error| wrong(format!("logging.level {level:?}: {error}")))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_span_events(FmtSpan::CLOSE)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| wrong(error.to_string()))
}
