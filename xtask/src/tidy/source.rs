//! A Rust file in which code is told from comments and literals.

/// A text, and the same text with every byte of a comment, string or character literal made a space.
///
/// Line breaks stay, so offsets and lines agree between the two.
pub struct Source<'a> {
    /// The text as it is.
    pub text: &'a str,
    /// The code alone.
    pub code: String,
}

impl<'a> Source<'a> {
    /// Reads a text.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            code: mask(text),
        }
    }

    /// The line, from 1, of a byte offset.
    pub fn line(&self, offset: usize) -> usize {
        line_of(self.text, offset)
    }

    /// Offsets at which `word` stands in the code, not as a part of a longer identifier.
    pub fn words<'s>(&'s self, word: &'s str) -> impl Iterator<Item = usize> + 's {
        let code = self.code.as_bytes();
        self.code.match_indices(word).filter_map(move |(at, _)| {
            let before = at.checked_sub(1).map(|i| code[i]);
            let after = code.get(at + word.len()).copied();
            let whole = !before.is_some_and(is_identifier) && !after.is_some_and(is_identifier);
            whole.then_some(at)
        })
    }

    /// The extent of the braces that open at or after `from`, before a `;` outside brackets: offsets of `{` and `}`.
    pub fn body(&self, from: usize) -> Option<(usize, usize)> {
        let code = self.code.as_bytes();
        let mut depth = 0usize;
        let mut open = None;
        for (at, &byte) in code.iter().enumerate().skip(from) {
            match byte {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth = depth.saturating_sub(1),
                b'{' => {
                    if depth == 0 && open.is_none() {
                        open = Some(at);
                    }
                    depth += 1;
                }
                b'}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return open.map(|open| (open, at));
                    }
                }
                b';' if depth == 0 => return None,
                _ => {}
            }
        }
        None
    }
}

/// The line, from 1, of a byte offset.
pub fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|&&byte| byte == b'\n').count() + 1
}

/// Whether a byte can be part of an identifier.
pub fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let skipped = skip(bytes, at).max(1);
        if skipped > 1 {
            let hidden = &bytes[at..(at + skipped).min(bytes.len())];
            code.extend(hidden.iter().map(|&b| if b == b'\n' { b } else { b' ' }));
        } else {
            code.push(bytes[at]);
        }
        at += skipped;
    }
    String::from_utf8_lossy(&code).into_owned()
}

/// Length of the comment or literal that starts at `at`; 0 where none does.
fn skip(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let in_identifier = at > 0 && is_identifier(bytes[at - 1]);
    match rest {
        [b'/', b'/', ..] => rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment(rest),
        [b'"', ..] => quoted(rest, b'"'),
        [b'r', b'"' | b'#', ..] if !in_identifier => raw_string(rest),
        [b'b' | b'c', b'r', b'"' | b'#', ..] if !in_identifier => match raw_string(&rest[1..]) {
            0 => 0,
            length => length + 1,
        },
        [b'\'', b'\\', ..] => quoted(rest, b'\''),
        [b'\'', ..] => character(rest),
        _ => 0,
    }
}

fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at + 1 < rest.len() {
        match (rest[at], rest[at + 1]) {
            (b'/', b'*') => {
                depth += 1;
                at += 2;
            }
            (b'*', b'/') => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#`; 0 for a raw identifier.
fn raw_string(rest: &[u8]) -> usize {
    let hashes = rest[1..].iter().take_while(|&&b| b == b'#').count();
    let start = 1 + hashes + 1;
    if rest.get(start - 1) != Some(&b'"') {
        return 0;
    }
    let mut end = vec![b'#'; hashes + 1];
    end[0] = b'"';
    let found = rest[start..]
        .windows(end.len())
        .position(|window| window == end);
    found.map_or(rest.len(), |found| start + found + end.len())
}

/// `'x'`; 0 for a lifetime.
fn character(rest: &[u8]) -> usize {
    // A character takes one to four bytes, and its last byte is followed by the closing quote.
    let length = match rest.get(1) {
        Some(0xF0..) => 4,
        Some(0xE0..) => 3,
        Some(0x80..) => 2,
        _ => 1,
    };
    if rest.get(1 + length) == Some(&b'\'') {
        length + 2
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        let code = Source::new(text).code;
        assert_eq!(code.len(), text.len());
        code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_literals_are_hidden() {
        assert_eq!(code("a // fn { \" \nb"), "a b");
        assert_eq!(code("a /* { /* } */ \" */ b"), "a b");
        assert_eq!(code(r#"a("{\"}", '{', '\'', '"') b"#), "a( , , , ) b");
        assert_eq!(code("a(r#\"{\" \"#, br\"{\", b\"}\") c"), "a( , , b ) c");
        assert_eq!(
            code("fn f<'a>(x: &'a str) -> 'static {'é'}"),
            "fn f<'a>(x: &'a str) -> 'static { }"
        );
        assert_eq!(code("let r#type = for_r\"x\";"), "let r#type = for_r ;");
    }

    #[test]
    fn words_are_whole() {
        let source = Source::new("unsafe_code; unsafe { } // unsafe");
        assert_eq!(source.words("unsafe").collect::<Vec<_>>(), [13]);
    }

    #[test]
    fn bodies_are_matched() {
        let text = "fn f(x: [u8; 3]) -> X { if y { \"}\" } } fn g();";
        let source = Source::new(text);
        let (open, close) = source.body(0).expect("a body");
        assert_eq!(&text[open..=close], "{ if y { \"}\" } }");
        assert_eq!(source.body(close + 1), None);
    }
}
