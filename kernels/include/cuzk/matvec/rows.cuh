// The sparse matrix-vector product over a packed witness, from blocks of rows that stand at several places.
#pragma once
#include "../memory.cuh"

namespace cuzk {

// A non-zero of a matrix.
struct alignas(8) Term {
    static constexpr uint32_t DENSE = 1u << 31;
    uint32_t column; // DENSE and a slot of the instance, or an aux variable counted from the instance's first
    uint32_t coefficient;
};

// A place where a block's rows stand.
struct alignas(16) Instance {
    uint32_t row;   // the first
    uint32_t first; // the block's first row
    uint32_t aux;   // the first aux variable
    uint32_t slots; // the first slot
};

// Which of 32 aux variables are of the field class, and the witness's slot of the first that is.
struct alignas(8) ClassWord {
    uint32_t fields, slot;
};

struct BlockMatrix {
    static constexpr uint32_t TILE = 256;
    const uint32_t *tiles; // the instance that holds row TILE i
    const Instance *instances;
    const uint32_t *variables; // behind the instances' slots: Term::DENSE and an input, or an aux variable
    const uint32_t *starts;
    const Term *terms;
    const Fr *coefficients; // 1 and -1 are the first two

    CUZK_FN Instance instance_of(uint32_t row) const {
        uint32_t low = tiles[row / TILE], high = tiles[row / TILE + 1];
        while (low < high) {
            uint32_t middle = (low + high + 1) / 2;
            if (instances[middle].row <= row) low = middle;
            else high = middle - 1;
        }
        return instances[low];
    }
};

struct PackedWitness {
    const ClassWord *classes;
    const Fr *slots;
    const uint32_t *bits;
    const uint32_t *escaped; // in ascending order
    const Fr *escapes;
    uint32_t escape_count;

    // The value of an aux variable that should have been a bit and is not; false where it is one.
    CUZK_CALL bool find_escape(uint32_t aux, Fr &value) const {
        uint32_t low = 0, high = escape_count;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (escaped[middle] < aux) low = middle + 1;
            else high = middle;
        }
        if (low == escape_count || escaped[low] != aux) return false;
        value = load(escapes + low);
        return true;
    }
};

// What coefficient times variable adds to `sum`.
CUZK_FN void add_term(Fr &sum, const BlockMatrix &matrix, const PackedWitness &witness, uint32_t coefficient,
                      uint32_t variable) {
    uint32_t slot;
    if (variable & Term::DENSE) {
        slot = variable & ~Term::DENSE;
    } else {
        ClassWord word = witness.classes[variable / 32];
        uint32_t bit = 1u << (variable % 32);
        if ((word.fields & bit) == 0) {
            Fr value;
            if (witness.escape_count != 0 && witness.find_escape(variable, value))
                sum = sum + load(matrix.coefficients + coefficient) * value;
            else if (witness.bits[variable / 32] & bit)
                sum = sum + load(matrix.coefficients + coefficient);
            return;
        }
        slot = word.slot + count_ones(word.fields & (bit - 1));
    }
    Fr value = load(witness.slots + slot);
    if (coefficient == 0)
        sum = sum + value;
    else if (coefficient == 1)
        sum = sum - value;
    else
        sum = sum + load(matrix.coefficients + coefficient) * value;
}

// The value of a row.
CUZK_FN Fr evaluate_row(const BlockMatrix &matrix, const PackedWitness &witness, uint32_t row) {
    Instance instance = matrix.instance_of(row);
    uint32_t own = instance.first + (row - instance.row);
    Fr sum = Fr::zero();
    for (uint32_t i = matrix.starts[own], end = matrix.starts[own + 1]; i < end; i++) {
        Term term = matrix.terms[i];
        uint32_t variable = term.column & Term::DENSE
                                ? matrix.variables[instance.slots + (term.column & ~Term::DENSE)]
                                : instance.aux + term.column;
        add_term(sum, matrix, witness, term.coefficient, variable);
    }
    return sum;
}

} // namespace cuzk
