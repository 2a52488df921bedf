//! Byte sizes as people write them.

use std::fmt;

/// A number of bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// The units, by what they multiply with.
const UNITS: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

impl Bytes {
    /// Reads `256GiB`, `1.5 TB` or `1024`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let with_unit = UNITS.iter().find_map(|(unit, factor)| {
            let (number, end) = text.split_at_checked(text.len().checked_sub(unit.len())?)?;
            end.eq_ignore_ascii_case(unit).then_some((number, *factor))
        });
        let (number, factor) = with_unit.unwrap_or((text, 1));
        let number = number.trim();
        if let Ok(whole) = number.parse::<u64>() {
            return Some(Self(whole.checked_mul(factor)?));
        }
        let plain = number
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
        let bytes = number.parse::<f64>().ok()? * factor as f64;
        // The greatest number of bytes is far from where a float loses whole numbers' neighbours that matter here.
        (plain && bytes < u64::MAX as f64).then_some(Self(bytes as u64))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = UNITS[..4].iter().rev();
        match units.into_iter().find(|(_, factor)| self.0 >= *factor) {
            Some((unit, factor)) if self.0 % factor == 0 => write!(f, "{}{unit}", self.0 / factor),
            Some((unit, factor)) => write!(f, "{:.1}{unit}", self.0 as f64 / *factor as f64),
            None => write!(f, "{}B", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("0", 0),
            ("1024", 1024),
            ("12B", 12),
            ("256GiB", 256 << 30),
            ("256 gib", 256 << 30),
            ("1.5KiB", 1536),
            ("2GB", 2_000_000_000),
            (" 1 TiB ", 1 << 40),
        ] {
            assert_eq!(Bytes::parse(text), Some(Bytes(bytes)), "{text}");
        }
        for text in [
            "",
            "GiB",
            "-1",
            "1e9",
            "inf",
            "NaN",
            "1..2",
            "1 2",
            "99999999999TiB",
            "9é",
        ] {
            assert_eq!(Bytes::parse(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_written_as_people_read_them() {
        for (bytes, text) in [
            (0, "0B"),
            (1023, "1023B"),
            (1536, "1.5KiB"),
            (256 << 30, "256GiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }
}
