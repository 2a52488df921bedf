//! Files whose counts stand for more than their bytes: what is opened takes bounded memory, and the rest is refused
//! before anything of that size is allocated.

use std::path::Path;

use cuzk_curve::Bytes;
use cuzk_pce::{FileFault, Pce, PceError};
use cuzk_r1cs::{Matrix, R1csError, Shape};
use peak_alloc::PeakAlloc;
use xxhash_rust::xxh3::xxh3_64;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// The template section and all others but the bit maps, which follow from the shape.
#[derive(Clone, Default)]
struct File {
    counts: [u64; 3],
    templates: Vec<u64>,
    /// Rows of A, B and C.
    rows: [Vec<u8>; 3],
    /// The aux variables of each bit map of classes.
    classes: Vec<u64>,
}

fn leb128(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut out = Vec::new();
    for mut number in numbers {
        while number >= 0x80 {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }
    out
}

/// Bit maps of zeros.
fn zeros(lengths: &[u64]) -> Vec<u8> {
    let words = lengths.iter().map(|bits| bits.div_ceil(64));
    leb128(words.filter(|&words| words > 0).map(|words| words << 2))
}

impl File {
    fn bytes(&self) -> Vec<u8> {
        let [inputs, aux, _] = self.counts;
        let [a, b, c] = self.rows.clone();
        let sections = [
            vec![],
            leb128(self.templates.iter().copied()),
            a,
            b,
            c,
            zeros(&self.classes),
            zeros(&[aux]),
            zeros(&[inputs]),
            zeros(&[aux]),
        ];
        let mut header = b"cuzkPCE\0".to_vec();
        header.extend(2u32.to_le_bytes());
        header.extend(9u32.to_le_bytes());
        self.counts
            .iter()
            .for_each(|count| header.extend(count.to_le_bytes()));
        header.extend([0; 32]);
        let mut content = Vec::new();
        let start = header.len() + 9 * 24 + 8;
        for section in sections {
            let at = (start + content.len()).next_multiple_of(64);
            content.resize(at - start, 0);
            for number in [at as u64, section.len() as u64, xxh3_64(&section)] {
                header.extend(number.to_le_bytes());
            }
            content.extend(section);
        }
        header.extend(xxh3_64(&header).to_le_bytes());
        header.extend(content);
        header
    }

    fn open(&self) -> Result<Pce, PceError> {
        Pce::from_bytes(Path::new("crafted.pce"), Bytes::new(self.bytes()))
    }
}

/// A circuit without constraints.
fn empty(inputs: u64, aux: u64) -> File {
    File {
        counts: [inputs, aux, 0],
        // One template: slots, aux, items, own rows, and the non-zeros of A, B and C.
        templates: vec![1, inputs, aux, 0, 0, 0, 0, 0],
        classes: vec![aux],
        ..File::default()
    }
}

/// A template of one row without terms and `slots` slots, and a root that calls it `calls` times, each time with ONE for
/// all slots.
fn calls(slots: u64, calls: u64) -> File {
    let mut templates = vec![2, slots, 0, 1, 1];
    // For each matrix no non-zero in a block of one byte; then the item, one own row.
    templates.extend([0, 1, 0, 1, 0, 1, 2]);
    templates.extend([1, 0, calls, 0, 0, 0, 0]);
    for _ in 0..calls {
        // A call of template 0 at offset 0; columns that are all input 0.
        templates.extend([1, 0, 0, slots]);
    }
    File {
        counts: [1, 0, calls],
        templates,
        rows: [(); 3].map(|()| vec![0]),
        classes: vec![0, 0],
    }
}

/// Templates of a row and all the aux variables there are, each called by the next one alone, and the last by the root.
fn chain(aux: u64, templates: u64) -> File {
    let mut numbers = vec![templates + 1];
    for index in 0..templates {
        numbers.extend([1, aux, 1 + u64::from(index > 0), 1]);
        numbers.extend([0, 1, 0, 1, 0, 1, 2]);
        if index > 0 {
            numbers.extend([(index - 1) << 1 | 1, 0, 0, 1]);
        }
    }
    numbers.extend([1, aux, 1, 0, 0, 0, 0, (templates - 1) << 1 | 1, 0, 0, 1]);
    File {
        counts: [1, aux, templates],
        templates: numbers,
        rows: [(); 3].map(|()| vec![0; templates as usize]),
        classes: vec![aux],
    }
}

/// What `f` returns, and how many bytes the heap held more at most.
fn peak<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let result = f();
    (result, HEAP.peak_usage().saturating_sub(before))
}

fn fault(opened: Result<Pce, PceError>) -> FileFault {
    match opened {
        Err(PceError::File { path, fault }) => {
            assert_eq!(path, Path::new("crafted.pce"));
            fault
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened"),
    }
}

const MIB: usize = 1 << 20;

/// Inputs and aux variables that no row names, as many as there may be.
fn largest_counts_take_a_bit_or_two() {
    let largest = Shape::LARGEST as u64;
    let file = empty(largest, 0);
    assert!(file.bytes().len() < 1024);
    let (pce, bytes) = peak(|| file.open().unwrap());
    assert!(bytes < MIB, "inputs: {bytes}");
    let row = |_: &[_]| Ok::<_, R1csError>(());
    let (_, bytes) = peak(|| pce.matrices.for_each_row(Matrix::A, 0..0, row).unwrap());
    assert!(bytes < MIB, "rows: {bytes}");
    drop(pce);
    let (pce, bytes) = peak(|| empty(1, largest - 1).open().unwrap());
    assert_eq!(pce.shape.aux, Shape::LARGEST - 1);
    assert!(bytes < 160 * MIB, "aux: {bytes}");
}

/// Counts above the limit, up to what no machine holds.
fn larger_counts_are_refused() {
    let largest = Shape::LARGEST as u64;
    for counts in [
        [largest + 1, 0, 0],
        [2, largest - 1, 0],
        [1, 0, largest],
        [(1 << 32) - 2, 0, 0],
        [u64::MAX; 3],
    ] {
        let mut file = empty(1, 0);
        file.counts = counts;
        let (fault, bytes) = peak(|| fault(file.open()));
        assert!(
            matches!(fault, FileFault::R1cs(R1csError::TooLarge { limit, .. }) if limit == Shape::LARGEST),
            "{fault}"
        );
        assert!(bytes < MIB, "{counts:?}: {bytes}");
    }
    let none = fault(empty(0, 0).open());
    let what = "inputs with ONE";
    assert!(
        matches!(none, FileFault::R1cs(R1csError::Count { what: found, .. }) if found == what),
        "{none}"
    );
}

/// Arguments of calls take eight bytes each, from a few bytes of the file.
fn arguments_are_bounded() {
    assert_eq!(calls(3, 5).open().unwrap().shape.constraints, 5);
    for (slots, count, limit) in [
        ((1 << 32) - 1, 2, MIB),
        (1 << 23, 3, MIB),
        (1 << 16, 4000, 300 * MIB),
    ] {
        let file = calls(slots, count);
        let (fault, bytes) = peak(|| fault(file.open()));
        let arguments = "arguments of a call";
        assert!(
            matches!(fault, FileFault::Number { what, .. } if what == arguments),
            "{fault}"
        );
        assert!(bytes < limit, "{slots} slots: {bytes}");
    }
}

/// Templates have no more variables together than the root has, so their bit maps have no more bits.
fn variables_of_templates_are_bounded() {
    assert_eq!(chain(1 << 10, 1).open().unwrap().shape.constraints, 1);
    let file = chain(Shape::LARGEST as u64 - 1, 60);
    let (fault, bytes) = peak(|| fault(file.open()));
    let variables = "aux variables of templates";
    assert!(
        matches!(fault, FileFault::Number { what, limit: 0, .. } if what == variables),
        "{fault}"
    );
    assert!(bytes < MIB, "a chain: {bytes}");
}

// One test: the heap is that of the whole process.
#[test]
fn memory_is_bounded() {
    largest_counts_take_a_bit_or_two();
    larger_counts_are_refused();
    arguments_are_bounded();
    variables_of_templates_are_bounded();
}
