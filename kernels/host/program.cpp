// The headers compiled for the host. Reads records from standard input, applies the operation that the argument names,
// and writes the results to standard output; all values are in memory form.
#include <stdio.h>
#include <string.h>

#include "cuzk/ec/batched_affine.cuh"
#include "rows.h"
#include "subsets.h"
#include "sums.h"
#include "transform.h"

using namespace cuzk;

template <class T> static bool read_value(T &value) { return fread(&value, sizeof(T), 1, stdin) == 1; }
template <class T> static void write_value(const T &value) { fwrite(&value, sizeof(T), 1, stdout); }

// a, b -> a + b, a - b, a b, a^2, -a, 2 a, 1 / a.
template <class F> static void field() {
    F a, b;
    while (read_value(a) && read_value(b)) {
        write_value(a + b);
        write_value(a - b);
        write_value(a * b);
        write_value(a.square());
        write_value(-a);
        write_value(a.twice());
        write_value(a.inverse());
    }
}

// a -> its integer, and the element whose integer is a.
template <class F> static void integers() {
    F a;
    while (read_value(a)) {
        write_value(a.to_integer());
        write_value(F::from_integer(a));
    }
}

// p, q -> p + q, 2p + q, 2p + 2q, 4p, 2p - 2p + q, 1000003 (2p) in Jacobian coordinates, then p + q and 2p in affine
// ones.
template <class F> static void group() {
    Affine<F> p, q;
    while (read_value(p) && read_value(q)) {
        typedef Xyzz<F> Sum;
        Sum sum = Sum::from(p), twice_p = Sum::twice_affine(p), twice_q = Sum::twice_affine(q);
        sum.add(q);
        write_value(sum.to_jacobian());
        sum = twice_p;
        sum.add(q);
        write_value(sum.to_jacobian());
        sum = twice_p;
        sum.add(twice_q);
        write_value(sum.to_jacobian());
        write_value(twice_p.twice().to_jacobian());
        sum = twice_p;
        sum.add(Sum::twice_affine(p.negated_if(true)));
        sum.add(q);
        write_value(sum.to_jacobian());
        write_value(twice_p.times(1000003).to_jacobian());
        write_value(add_with_inverse(p, q, slope_denominator(p, q).inverse()));
        write_value(twice_p.to_affine((twice_p.zz * twice_p.zzz).inverse()));
    }
}

// A root of order 2^30, then transforms: the levels of a round (2 or 3), the logarithm of the size and a list of radices
// as 32-bit words, ended by a zero, and the values -> those in bit-reversed order of their transform, and the transform
// in time of these.
static void transforms() {
    Fr root;
    if (!read_value(root)) return;
    host::Tables tables(root);
    NttRoots roots = tables.roots();
    uint32_t levels, log_size, log_radix;
    while (read_value(levels) && read_value(log_size)) {
        std::vector<NttPass> passes;
        for (uint32_t log_block = log_size; read_value(log_radix) && log_radix != 0; log_block -= log_radix)
            passes.push_back({log_block, log_radix});
        std::vector<Fr> data((size_t)1 << log_size);
        for (Fr &value : data) read_value(value);
        auto frequency = levels == 2 ? host::pass<2, false> : host::pass<3, false>;
        auto time = levels == 2 ? host::pass<2, true> : host::pass<3, true>;
        for (const NttPass &pass : passes) frequency(data, log_size, pass, roots);
        for (Fr &value : data) write_value(value = Fr::reduce_once(value));
        std::reverse(passes.begin(), passes.end());
        for (const NttPass &pass : passes) time(data, log_size, pass, roots);
        for (const Fr &value : data) write_value(Fr::reduce_once(value));
    }
}

// The digits' width and a count as 32-bit words, that many scalars and points -> the sum of their products.
template <class F> static void multiplications() {
    uint32_t width, count;
    while (read_value(width) && read_value(count)) {
        std::vector<Fr> scalars(count);
        std::vector<Affine<F>> points(count);
        for (Fr &scalar : scalars) read_value(scalar);
        for (Affine<F> &point : points) read_value(point);
        write_value(host::multiply<F>(scalars, points, width).to_jacobian());
    }
}

int main(int count, char **arguments) {
    const struct {
        const char *name;
        void (*run)();
    } operations[] = {
        {"fr", field<Fr>},       {"fq", field<Fq>},  {"fq2", field<Fq2>}, {"fr-integers", integers<Fr>},
        {"fq-integers", integers<Fq>}, {"g1", group<Fq>}, {"g2", group<Fq2>},
        {"rows", host::rows},    {"transforms", transforms}, {"msm-g1", multiplications<Fq>}, {"msm-g2", multiplications<Fq2>},
        {"selections-g1", host::selections<Fq>}, {"selections-g2", host::selections<Fq2>},
    };
    for (const auto &operation : operations) {
        if (count == 2 && strcmp(arguments[1], operation.name) == 0) {
            operation.run();
            return 0;
        }
    }
    fprintf(stderr, "wanted the name of an operation\n");
    return 1;
}
