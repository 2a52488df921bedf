//! A circuit's matrices as blocks: rows that occur at several places once, and a list of the places.
//!
//! A block's columns are its own: aux variables counted from an instance's first, and slots, which an instance resolves
//! to variables of the circuit. A template that is called several times is a block with its calls expanded, up to a
//! limit; of a longer one, and of the root, each run of own rows is a block.

use std::collections::HashMap;
use std::ops::Range;

use cuzk_r1cs::{
    Column, CompactR1cs, Entry, ItemKind, Matrices, Matrix, R1csError, Template, Term,
};

/// Marks a block's column that is a slot, and a resolved slot that is an input.
pub const DENSE: u32 = 1 << 31;
/// Rows of a tile, for which the first instance is stored.
pub const TILE: usize = 256;
/// Terms of A and B that a block may have with its calls expanded.
const EXPANDED_TERMS: usize = 1 << 18;

/// A matrix's rows of all blocks: row i is `terms[starts[i]..starts[i + 1]]`, each a column and a coefficient's index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockRows {
    /// Where each row's terms start, then the end of the last.
    pub starts: Vec<u32>,
    /// The terms.
    pub terms: Vec<[u32; 2]>,
}

impl BlockRows {
    /// The terms of rows, which lie one after the other.
    pub fn terms_of(&self, rows: &Range<usize>) -> &[[u32; 2]] {
        &self.terms[self.starts[rows.start] as usize..self.starts[rows.end] as usize]
    }

    /// Appends rows of another matrix.
    pub fn append(&mut self, from: &Self, rows: &Range<usize>) {
        let (old, new) = (from.starts[rows.start], self.terms.len() as u32);
        let starts = &from.starts[rows.clone()];
        self.starts
            .extend(starts.iter().map(|start| start - old + new));
        self.terms.extend_from_slice(from.terms_of(rows));
    }

    fn size_bytes(&self) -> usize {
        size_of_val(&*self.starts) + size_of_val(&*self.terms)
    }
}

/// A place where a block's rows stand.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The circuit's row that is the block's first.
    pub row: u32,
    /// The block's first row in [`BlockRows::starts`].
    pub first: u32,
    /// The aux variable that is the block's first.
    pub aux: u32,
    /// Where the instance's slots start in [`Blocks::slots`].
    pub slots: u32,
}

impl Instance {
    /// The instance as the kernel reads it.
    pub fn words(&self) -> [u32; 4] {
        [self.row, self.first, self.aux, self.slots]
    }
}

/// The matrices A and B of a circuit.
#[derive(Debug, Default)]
pub struct Blocks {
    /// A.
    pub a: BlockRows,
    /// B.
    pub b: BlockRows,
    /// All places, in the order of their rows.
    pub instances: Vec<Instance>,
    /// The variables behind the slots: `DENSE` and an input, or an aux variable.
    pub slots: Vec<u32>,
    /// The instance that holds row `TILE * i`, and the last instance at the end.
    pub tiles: Vec<u32>,
}

/// A row's terms in A and in B, with columns of a template.
type Row = [Vec<Term>; 2];

struct Builder<'m> {
    matrices: &'m Matrices,
    out: Blocks,
    row: usize,
    /// What a template's rows with its calls expanded come to, where they may be expanded.
    expanded: Vec<Option<usize>>,
    /// Whether a template's runs of own rows are blocks already.
    entered: Vec<bool>,
    /// The first rows of the blocks that exist, by template and by the template's row at which they start.
    known: HashMap<(usize, u32), u32>,
    /// Number of coefficients.
    coefficients: usize,
}

impl Blocks {
    /// The blocks of a circuit.
    pub fn new(r1cs: &CompactR1cs) -> Result<Self, R1csError> {
        Self::expanding(r1cs, EXPANDED_TERMS)
    }

    /// The blocks of a circuit, none of which has more terms after its calls are expanded.
    fn expanding(r1cs: &CompactR1cs, limit: usize) -> Result<Self, R1csError> {
        let matrices = &r1cs.matrices;
        let mut builder = Builder {
            matrices,
            out: Self::default(),
            row: 0,
            expanded: expanded_terms(matrices, limit),
            entered: vec![false; matrices.templates().len()],
            known: HashMap::new(),
            coefficients: r1cs.coefficients.len(),
        };
        let inputs: Vec<u32> = (0..r1cs.shape.inputs as u32)
            .map(|input| input | DENSE)
            .collect();
        if let Some(root) = matrices.templates().len().checked_sub(1) {
            builder.enter(root, 0, &inputs)?;
        }
        let mut blocks = builder.out;
        let (what, wanted, found) = ("rows of the blocks", r1cs.shape.constraints, builder.row);
        if wanted != found {
            return Err(R1csError::Count {
                what,
                wanted,
                found,
            });
        }
        for rows in [&blocks.a, &blocks.b] {
            index("terms of the blocks", rows.terms.len())?;
        }
        blocks.close(r1cs.shape.constraints);
        Ok(blocks)
    }

    /// Ends the blocks, which have so many rows.
    pub fn close(&mut self, rows: usize) {
        for rows in [&mut self.a, &mut self.b] {
            rows.starts.push(rows.terms.len() as u32);
        }
        self.tiles = tiles(&self.instances, rows);
    }

    /// Bytes of everything but the slots.
    pub fn size_bytes(&self) -> usize {
        let places = size_of_val(&*self.instances) + size_of_val(&*self.tiles);
        self.a.size_bytes() + self.b.size_bytes() + places
    }
}

impl Builder<'_> {
    /// Appends the instances that make up a template whose slots are these variables.
    fn enter(&mut self, template: usize, aux: u32, slots: &[u32]) -> Result<(), R1csError> {
        let first_slot = index("slots of the blocks", self.out.slots.len())?;
        self.out.slots.extend_from_slice(slots);
        let body = &self.matrices.templates()[template];
        if self.expanded[template].is_some() && self.matrices.occurrences()[template] > 1 {
            let first = match self.known.get(&(template, 0)) {
                Some(&first) => first,
                None => {
                    let rows = self.expand(template)?;
                    self.add_block((template, 0), &rows)?
                }
            };
            return self.place(first, aux, first_slot, body.rows() as usize);
        }
        if !self.entered[template] {
            self.add_runs(template)?;
            self.entered[template] = true;
        }
        for (index, item) in body.items().iter().enumerate() {
            match &item.kind {
                ItemKind::Rows { .. } => {
                    let next = body.items().get(index + 1);
                    let end = next.map_or(body.rows(), |next| next.first_row);
                    let first = self.known[&(template, item.first_row)];
                    self.place(first, aux, first_slot, (end - item.first_row) as usize)?;
                }
                ItemKind::Call(call) => {
                    let variable = |column: &Column| match *column {
                        Column::Dense(slot) => slots[slot as usize],
                        Column::Sparse(local) => aux + local,
                    };
                    let arguments: Vec<u32> =
                        body.arguments_of(call).iter().map(variable).collect();
                    self.enter(call.template as usize, aux + call.offset, &arguments)?;
                }
            }
        }
        Ok(())
    }

    /// Makes a block of each run of a template's own rows.
    fn add_runs(&mut self, template: usize) -> Result<(), R1csError> {
        let body = &self.matrices.templates()[template];
        let mut starts = body.items().iter().filter_map(|item| match item.kind {
            ItemKind::Rows { .. } => Some(item.first_row),
            ItemKind::Call(_) => None,
        });
        let mut run = Vec::new();
        body.visit(|entry| match entry {
            Entry::Row([a, b, _]) => {
                run.push([self.checked(body, a)?, self.checked(body, b)?]);
                Ok::<_, R1csError>(())
            }
            Entry::Call(..) if run.is_empty() => Ok(()),
            Entry::Call(..) => {
                let rows = std::mem::take(&mut run);
                let start = starts.next().unwrap_or(0);
                self.add_block((template, start), &rows).map(drop)
            }
        })?;
        if let Some(start) = starts.next() {
            self.add_block((template, start), &run)?;
        }
        Ok(())
    }

    /// A row's terms, all of which name columns of the template and coefficients of the circuit.
    fn checked(&self, template: &Template, row: &[Term]) -> Result<Vec<Term>, R1csError> {
        for term in row {
            let (found, limit) = match term.column {
                Column::Dense(slot) => (slot, template.slots()),
                Column::Sparse(local) => (local, template.aux()),
            };
            below("columns of a template", found as usize, limit as usize)?;
            let coefficient = term.coefficient as usize;
            below(
                "coefficients of the circuit",
                coefficient,
                self.coefficients,
            )?;
        }
        Ok(row.to_vec())
    }

    fn place(&mut self, first: u32, aux: u32, slots: u32, rows: usize) -> Result<(), R1csError> {
        let row = index("rows of the blocks", self.row)?;
        self.out.instances.push(Instance {
            row,
            first,
            aux,
            slots,
        });
        self.row += rows;
        Ok(())
    }

    /// Appends a block's rows; returns the first's number.
    fn add_block(&mut self, key: (usize, u32), block: &[Row]) -> Result<u32, R1csError> {
        let first = index("rows of the blocks", self.out.a.starts.len())?;
        for (matrix, rows) in [&mut self.out.a, &mut self.out.b].into_iter().enumerate() {
            for row in block {
                rows.starts
                    .push(index("terms of the blocks", rows.terms.len())?);
                rows.terms.extend(row[matrix].iter().map(|term| {
                    let column = match term.column {
                        Column::Dense(slot) => slot | DENSE,
                        Column::Sparse(local) => local,
                    };
                    [column, term.coefficient]
                }));
            }
        }
        self.known.insert(key, first);
        Ok(first)
    }

    /// A template's rows with those of its calls.
    fn expand(&self, template: usize) -> Result<Vec<Row>, R1csError> {
        let mut out = Vec::new();
        let body = &self.matrices.templates()[template];
        body.visit(|entry| {
            match entry {
                Entry::Row([a, b, _]) => {
                    out.push([self.checked(body, a)?, self.checked(body, b)?]);
                }
                Entry::Call(called, offset, arguments) => {
                    let mut inner = self.expand(called as usize)?;
                    for term in inner.iter_mut().flatten().flatten() {
                        term.column = match term.column {
                            Column::Dense(slot) => arguments[slot as usize],
                            Column::Sparse(local) => Column::Sparse(offset + local),
                        };
                    }
                    out.append(&mut inner);
                }
            }
            Ok::<_, R1csError>(())
        })?;
        Ok(out)
    }
}

/// For each template the terms of its rows with its calls expanded, where they are few enough.
fn expanded_terms(matrices: &Matrices, limit: usize) -> Vec<Option<usize>> {
    let mut all: Vec<Option<usize>> = Vec::with_capacity(matrices.templates().len());
    for template in matrices.templates() {
        let mut called = calls(template).map(|call| all[call]);
        let own = [Matrix::A, Matrix::B].map(|matrix| template.own(matrix).terms() as usize);
        let rows = template.rows() as usize;
        // Rows without terms count too, since they take room.
        let terms = called.try_fold(own[0] + own[1] + rows, |sum, called| {
            sum.checked_add(called?)
        });
        all.push(terms.filter(|&terms| terms <= limit));
    }
    all
}

fn calls(template: &Template) -> impl Iterator<Item = usize> + '_ {
    template.items().iter().filter_map(|item| match item.kind {
        ItemKind::Call(call) => Some(call.template as usize),
        ItemKind::Rows { .. } => None,
    })
}

fn below(what: &'static str, found: usize, limit: usize) -> Result<(), R1csError> {
    if found < limit {
        return Ok(());
    }
    Err(R1csError::TooLarge { what, limit, found })
}

fn index(what: &'static str, value: usize) -> Result<u32, R1csError> {
    below(what, value, DENSE as usize)?;
    Ok(value as u32)
}

/// The instance of each tile's first row.
fn tiles(instances: &[Instance], rows: usize) -> Vec<u32> {
    let mut at = 0;
    let mut out: Vec<u32> = (0..rows)
        .step_by(TILE)
        .map(|row| {
            while instances
                .get(at + 1)
                .is_some_and(|next| next.row as usize <= row)
            {
                at += 1;
            }
            at as u32
        })
        .collect();
    out.push(instances.len().saturating_sub(1) as u32);
    out
}

#[cfg(test)]
mod tests {
    use super::super::parts::parts;
    use super::*;
    use cuzk_pce::Pce;
    use cuzk_testing::circuits::{Step, StepCircuit, repeating_circuits};
    use proptest::test_runner::{Config, TestRng, TestRunner};

    /// A row's terms with columns of the circuit, found as the kernel finds them.
    fn row(blocks: &Blocks, rows: &BlockRows, row: usize) -> Vec<Term> {
        let range = [row / TILE, row / TILE + 1].map(|tile| blocks.tiles[tile] as usize);
        let candidates = &blocks.instances[range[0]..=range[1]];
        let at = candidates.partition_point(|instance| instance.row as usize <= row) - 1;
        let instance = candidates[at];
        let own = (instance.first + (row as u32 - instance.row)) as usize;
        let terms = &rows.terms[rows.starts[own] as usize..rows.starts[own + 1] as usize];
        let column = |column: u32| match column & DENSE {
            0 => Column::Sparse(instance.aux + column),
            _ => match blocks.slots[(instance.slots + (column & !DENSE)) as usize] {
                input if input & DENSE != 0 => Column::Dense(input & !DENSE),
                aux => Column::Sparse(aux),
            },
        };
        let terms = terms.iter().map(|&[at, coefficient]| Term {
            column: column(at),
            coefficient,
        });
        terms.collect()
    }

    fn check(circuit: &StepCircuit, limit: usize) {
        let pce = Pce::record(circuit.to_blank()).unwrap();
        let blocks = Blocks::expanding(pce.r1cs(), limit).unwrap();
        for (matrix, rows) in [(Matrix::A, &blocks.a), (Matrix::B, &blocks.b)] {
            let mut index = 0;
            let all = 0..pce.shape.constraints;
            let compare = |wanted: &[Term]| {
                assert_eq!(
                    row(&blocks, rows, index),
                    wanted,
                    "row {index}, limit {limit}"
                );
                index += 1;
                Ok(())
            };
            pce.matrices.for_each_row(matrix, all, compare).unwrap();
            assert_eq!(index, pce.shape.constraints);
        }
        for most in [1, 300, 3000, usize::MAX] {
            check_parts(&blocks, pce.shape.constraints, most);
        }
    }

    /// The parts have the rows of the whole, each once.
    fn check_parts(whole: &Blocks, rows: usize, most: usize) {
        let mut next = 0;
        let parts = parts(whole, rows, most);
        assert!(most < usize::MAX || parts.len() <= 1);
        for mut part in parts {
            assert_eq!(part.rows.start, next);
            next = part.rows.end;
            // The tiles and the ends of the starts are not counted.
            let tiles = 4 * part.blocks.tiles.len() + 8;
            let size = part.blocks.size_bytes();
            assert!(
                part.rows.len() == 1 || size - tiles <= most,
                "{size} {most}"
            );
            part.blocks.slots.clone_from(&whole.slots);
            for at in 0..part.rows.len() {
                let found = row(&part.blocks, &part.blocks.a, at);
                assert_eq!(found, row(whole, &whole.a, part.rows.start + at));
                let found = row(&part.blocks, &part.blocks.b, at);
                assert_eq!(found, row(whole, &whole.b, part.rows.start + at));
            }
        }
        assert_eq!(next, rows);
    }

    #[test]
    fn blocks_are_the_rows() {
        let rng = TestRng::deterministic_rng(Config::default().rng_algorithm);
        let mut runner = TestRunner::new_with_rng(Config::with_cases(200), rng);
        let compared = runner.run(&repeating_circuits(), |circuit| {
            for limit in [0, 100, EXPANDED_TERMS] {
                check(&circuit, limit);
            }
            Ok(())
        });
        compared.unwrap();
    }

    #[test]
    fn repeated_rows_are_stored_once() {
        let rounds = (0..60).map(|i| Step::Round(i % 3)).collect();
        let circuit = StepCircuit {
            steps: vec![
                Step::Bit(true),
                Step::Aux(7),
                Step::Bit(true),
                Step::Repeat(500, rounds),
            ],
            blank: false,
        };
        check(&circuit, EXPANDED_TERMS);
        let pce = Pce::record(circuit.to_blank()).unwrap();
        let blocks = Blocks::new(pce.r1cs()).unwrap();
        assert!(blocks.a.starts.len() < 1000, "{}", blocks.a.starts.len());
        assert!(pce.shape.constraints > 30_000);
    }
}
