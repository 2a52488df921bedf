//! Calls as a picture: when each was due, and how long it took.

use std::fmt::Write;

use crate::commands::bench::load::Sample;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 420.0;
/// What is left free for labels: left, right, top, bottom.
const MARGINS: [f64; 4] = [64.0, 24.0, 44.0, 48.0];
/// A colour a circuit, which stand out from each other and from white and black.
const COLOURS: [&str; 6] = [
    "#2f6fde", "#d1662c", "#1c8a4c", "#9a4fc4", "#b27500", "#0f8a9a",
];
const FAILED: &str = "#c0362c";

/// From numbers to places.
struct Frame {
    max_x: f64,
    max_y: f64,
}

impl Frame {
    fn x(&self, seconds: f64) -> f64 {
        let [left, right, ..] = MARGINS;
        left + (WIDTH - left - right) * seconds / self.max_x
    }

    fn y(&self, seconds: f64) -> f64 {
        let [.., top, bottom] = MARGINS;
        HEIGHT - bottom - (HEIGHT - top - bottom) * seconds / self.max_y
    }
}

/// A document with a mark for each call; a cross is a call without a proof.
pub fn svg(samples: &[Sample]) -> String {
    let max = |field: fn(&Sample) -> f64| samples.iter().map(field).fold(0.0, f64::max);
    let frame = Frame {
        max_x: round_up(max(|sample| sample.due_s)),
        max_y: round_up(max(|sample| sample.latency_s)),
    };
    let mut circuits: Vec<&str> = samples.iter().map(|sample| sample.circuit).collect();
    circuits.sort_unstable();
    circuits.dedup();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
    );
    axes(&mut out, &frame);
    legend(&mut out, &circuits);
    for sample in samples {
        let index = circuits.binary_search(&sample.circuit).unwrap_or(0);
        mark(&mut out, &frame, sample, colour(index));
    }
    out.push_str("</svg>\n");
    out
}

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// The least of 1, 2 and 5 times a power of ten that is not below.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let fits = steps.into_iter().find(|step| *step >= value);
    fits.unwrap_or(10.0 * power)
}

/// Writing to a string does not fail.
fn put(out: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(line);
    out.push('\n');
}

fn axes(out: &mut String, frame: &Frame) {
    for fifth in 0..=5 {
        let share = f64::from(fifth) / 5.0;
        let (seconds, latency) = (share * frame.max_x, share * frame.max_y);
        let (x, y) = (frame.x(seconds), frame.y(latency));
        let (left, right) = (frame.x(0.0), frame.x(frame.max_x));
        let bottom = frame.y(0.0) + 18.0;
        put(
            out,
            format_args!(
                "<line x1=\"{left:.1}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\" stroke=\"#dfe3e9\"/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#667080\">{}</text>\n\
                 <text x=\"{x:.1}\" y=\"{bottom:.1}\" text-anchor=\"middle\" fill=\"#667080\">{}</text>",
                left - 8.0,
                y + 4.0,
                short(latency),
                short(seconds),
            ),
        );
    }
    let (x, y) = (frame.x(frame.max_x), frame.y(0.0) + 36.0);
    put(
        out,
        format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\" fill=\"#667080\">\
             seconds of the measurement; upwards, seconds to the proof</text>"
        ),
    );
}

/// At most three decimals, and none that is zero at the end.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn legend(out: &mut String, circuits: &[&str]) {
    for (index, circuit) in circuits.iter().enumerate() {
        let x = MARGINS[0] + 150.0 * index as f64;
        put(
            out,
            format_args!(
                "<circle cx=\"{x:.1}\" cy=\"20\" r=\"4\" fill=\"{}\"/>\n\
                 <text x=\"{:.1}\" y=\"24\" fill=\"#1b2027\">{circuit}</text>",
                colour(index),
                x + 10.0,
            ),
        );
    }
}

fn mark(out: &mut String, frame: &Frame, sample: &Sample, colour: &str) {
    let (x, y) = (frame.x(sample.due_s), frame.y(sample.latency_s));
    match sample.error {
        None => put(
            out,
            format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\" fill-opacity=\"0.7\"/>"
            ),
        ),
        Some(_) => put(
            out,
            format_args!(
                "<path d=\"M{:.1} {:.1}l8 8m0 -8l-8 8\" stroke=\"{FAILED}\" stroke-width=\"1.5\"/>",
                x - 4.0,
                y - 4.0
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::load::tests::sample;

    #[test]
    fn axes_end_at_round_numbers() {
        for (value, wanted) in [
            (0.0, 1.0),
            (0.013, 0.02),
            (1.0, 1.0),
            (1.1, 2.0),
            (4.9, 5.0),
            (70.0, 100.0),
        ] {
            assert!((round_up(value) - wanted).abs() < 1e-9, "{value}");
        }
        assert_eq!([0.25, 100.0, 0.0].map(short), ["0.25", "100", "0"]);
    }

    #[test]
    fn every_call_has_its_place() {
        let samples = [
            sample("porep-2k", 0.0, 10.0, None),
            sample("snap-2k", 100.0, 0.0, None),
            sample("snap-2k", 50.0, 5.0, Some("<full>")),
        ];
        let svg = svg(&samples);
        // Two corners of the frame, in the colours of the legend.
        assert!(
            svg.contains("cx=\"64.0\" cy=\"44.0\" r=\"3\" fill=\"#2f6fde\""),
            "{svg}"
        );
        assert!(
            svg.contains("cx=\"876.0\" cy=\"372.0\" r=\"3\" fill=\"#d1662c\""),
            "{svg}"
        );
        assert_eq!(svg.matches("<path").count(), 1);
        assert!(
            !svg.contains("full"),
            "what a daemon says does not get into the picture"
        );
        assert!(svg.ends_with("</svg>\n"));
    }
}
