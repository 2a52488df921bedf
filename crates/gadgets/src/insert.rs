//! Choosing among numbers and inserting one, as `storage-proofs-core`'s insertion gadgets do.

use cuzk_curve::Fr;

use crate::Sink;

/// Allocates `a` where the condition holds and `b` elsewhere.
pub fn pick(writer: &mut impl Sink, condition: bool, a: Fr, b: Fr) -> Fr {
    let picked = if condition { a } else { b };
    writer.number(picked);
    picked
}

/// Selects the number at `index` of a list whose length is a power of two, by a tree of picks from the index's highest
/// bit down.
///
/// # Panics
/// Where `from` is empty.
pub fn select(writer: &mut impl Sink, from: &[Fr], index: usize) -> Fr {
    let mut state = from.to_vec();
    while state.len() > 1 {
        let half = state.len() / 2;
        let upper = index & half != 0;
        for j in 0..half {
            state[j] = pick(writer, upper, state[half + j], state[j]);
        }
        state.truncate(half);
    }
    state[0]
}

/// The numbers that inserting among a node's siblings allocates in a tree of this arity, 2, 4 or 8; None for others.
pub fn numbers(arity: usize) -> Option<usize> {
    match arity {
        2 => Some(2),
        4 => Some(8),
        8 => Some(20),
        _ => None,
    }
}

/// Inserts `element` before place `index` of `others`, of which there are one fewer than a power of two. The index's
/// bits are allocated already.
pub fn insert(writer: &mut impl Sink, element: Fr, index: usize, others: &[Fr]) -> Vec<Fr> {
    match *others {
        [b] => insert_2(writer, element, index, b).to_vec(),
        [b, c, d] => insert_4(writer, [element, b, c, d], index).to_vec(),
        [b, c, d, e, f, g, h] => insert_8(writer, [element, b, c, d, e, f, g, h], index).to_vec(),
        _ => insert_any(writer, element, index, others),
    }
}

fn insert_2(writer: &mut impl Sink, element: Fr, index: usize, other: Fr) -> [Fr; 2] {
    let second = index & 1 == 1;
    [
        pick(writer, second, other, element),
        pick(writer, second, element, other),
    ]
}

fn insert_4(writer: &mut impl Sink, [a, b, c, d]: [Fr; 4], index: usize) -> [Fr; 4] {
    let [b0, b1] = [0, 1].map(|bit| index >> bit & 1 == 1);
    let first = pick(writer, b0, b, a);
    let p0 = pick(writer, b1, b, first);
    let first = pick(writer, b0, a, b);
    let p1 = pick(writer, b1, c, first);
    let second = pick(writer, b0, d, a);
    let p2 = pick(writer, b1, second, c);
    let second = pick(writer, b0, a, d);
    let p3 = pick(writer, b1, second, d);
    [p0, p1, p2, p3]
}

fn insert_8(writer: &mut impl Sink, [a, b, c, d, e, f, g, h]: [Fr; 8], index: usize) -> [Fr; 8] {
    let [b0, b1, b2] = [0, 1, 2].map(|bit| index >> bit & 1 == 1);
    let (neither, both) = (!b0 && !b1, b0 && b1);
    writer.bit(neither);
    writer.bit(both);

    let low = pick(writer, neither, a, b);
    let p0 = pick(writer, b2, b, low);

    let low = pick(writer, b0, a, b);
    let low = pick(writer, b1, c, low);
    let p1 = pick(writer, b2, c, low);

    let low = pick(writer, b0, d, a);
    let low = pick(writer, b1, low, c);
    let p2 = pick(writer, b2, d, low);

    let low = pick(writer, both, a, d);
    let p3 = pick(writer, b2, e, low);

    let high = pick(writer, neither, a, f);
    let p4 = pick(writer, b2, high, e);

    let high = pick(writer, b0, a, f);
    let high = pick(writer, b1, g, high);
    let p5 = pick(writer, b2, high, f);

    let high = pick(writer, b0, h, a);
    let high = pick(writer, b1, high, g);
    let p6 = pick(writer, b2, high, g);

    let high = pick(writer, both, a, h);
    let p7 = pick(writer, b2, high, h);
    [p0, p1, p2, p3, p4, p5, p6, p7]
}

/// For each place, selects among what the place would hold for each index.
fn insert_any(writer: &mut impl Sink, element: Fr, index: usize, others: &[Fr]) -> Vec<Fr> {
    let size = others.len() + 1;
    let choices = |place: usize| {
        (0..size)
            .map(|index| match place.cmp(&index) {
                std::cmp::Ordering::Less => others[place],
                std::cmp::Ordering::Equal => element,
                std::cmp::Ordering::Greater => others[place - 1],
            })
            .collect::<Vec<_>>()
    };
    (0..size)
        .map(|place| select(writer, &choices(place), index))
        .collect()
}
