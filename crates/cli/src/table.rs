//! Plain tables for people.

/// Formats rows under a header; text to the left, numbers to the right.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells
            .map(String::len)
            .chain([header[column].len()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(&widths).map(|(cell, &width)| {
            if cell.starts_with(|c: char| c.is_ascii_digit()) {
                format!("{cell:>width$}")
            } else {
                format!("{cell:<width$}")
            }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut out = vec![line(&mut header.iter().copied())];
    out.extend(
        rows.iter()
            .map(|row| line(&mut row.iter().map(String::as_str))),
    );
    out.join("\n")
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn columns_line_up() {
        let rows = [
            vec!["a".to_owned(), "1.5".to_owned()],
            vec!["long".to_owned(), "12.25".to_owned()],
        ];
        assert_eq!(
            table(&["name", "s"], &rows),
            "name  s\na       1.5\nlong  12.25"
        );
    }
}
