// Points of y^2 = x^3 + b over any field F with the operators of Fq; b is not needed.
//
// Affine infinity is (0, 0), as in blst. XYZZ stands for x = X/ZZ, y = Y/ZZZ with ZZ^3 = ZZZ^2, infinity where ZZ = 0.
// Formulas are those of the Explicit-Formulas Database for a = 0 in XYZZ coordinates. All of them are exact for
// infinity, equal and opposite points.
#pragma once
#include "../ff/bls12_381.cuh"

namespace cuzk {

template <class F> struct Affine {
    F x, y;

    static CUZK_FN Affine infinity() { return {F::zero(), F::zero()}; }
    CUZK_FN bool is_infinity() const { return x.is_zero() && y.is_zero(); }
    CUZK_FN Affine negated_if(bool negate) const { return {x, negate ? -y : y}; }
};

// Jacobian coordinates x = X/Z^2, y = Y/Z^3: what blst reads.
template <class F> struct Jacobian {
    F x, y, z;
};

template <class F> struct Xyzz {
    F x, y, zz, zzz;

    static CUZK_FN Xyzz infinity() { return {F::zero(), F::zero(), F::zero(), F::zero()}; }
    CUZK_FN bool is_infinity() const { return zz.is_zero(); }
    static CUZK_FN Xyzz from(const Affine<F> &p) {
        if (p.is_infinity()) return infinity();
        return {p.x, p.y, F::one(), F::one()};
    }

    static CUZK_CALL Xyzz twice_affine(const Affine<F> &p) {
        if (p.is_infinity()) return infinity();
        F u = p.y.twice(), v = u.square(), w = u * v, s = p.x * v;
        F square = p.x.square(), m = square.twice() + square;
        F x = m.square() - s.twice();
        return {x, m * (s - x) - w * p.y, v, w};
    }

    CUZK_CALL Xyzz twice() const {
        F u = y.twice(), v = u.square(), w = u * v, s = x * v;
        F square = x.square(), m = square.twice() + square;
        F x3 = m.square() - s.twice();
        return {x3, m * (s - x3) - w * y, v * zz, w * zzz};
    }

    CUZK_FN void add(const Affine<F> &p) {
        if (p.is_infinity()) return;
        if (is_infinity()) {
            *this = from(p);
            return;
        }
        F dx = p.x * zz - x, dy = p.y * zzz - y;
        if (dx.is_zero()) {
            *this = dy.is_zero() ? twice_affine(p) : infinity();
            return;
        }
        F dx2 = dx.square(), dx3 = dx * dx2, q = x * dx2;
        F x3 = dy.square() - dx3 - q.twice();
        y = dy * (q - x3) - y * dx3;
        x = x3;
        zz = zz * dx2;
        zzz = zzz * dx3;
    }

    CUZK_FN void add(const Xyzz &p) {
        if (p.is_infinity()) return;
        if (is_infinity()) {
            *this = p;
            return;
        }
        F u = x * p.zz, s = y * p.zzz;
        F dx = p.x * zz - u, dy = p.y * zzz - s;
        if (dx.is_zero()) {
            *this = dy.is_zero() ? twice() : infinity();
            return;
        }
        F dx2 = dx.square(), dx3 = dx * dx2, q = u * dx2;
        F x3 = dy.square() - dx3 - q.twice();
        y = dy * (q - x3) - s * dx3;
        x = x3;
        zz = zz * p.zz * dx2;
        zzz = zzz * p.zzz * dx3;
    }

    // `add`, called and not inlined: for the places where additions are few.
    CUZK_CALL void merge(const Xyzz &p) { add(p); }

    // scalar * this, by doubling and adding.
    CUZK_CALL Xyzz times(uint32_t scalar) const {
        Xyzz out = infinity();
        uint32_t bit = 1u << 31;
        while (bit > scalar) bit >>= 1;
        for (; bit != 0; bit >>= 1) {
            out = out.twice();
            if (scalar & bit) out.merge(*this);
        }
        return out;
    }

    // With Z = ZZ: x = X ZZ / Z^2 and y = Y ZZZ / Z^3, since ZZ^3 = ZZZ^2.
    CUZK_FN Jacobian<F> to_jacobian() const { return {x * zz, y * zzz, zz}; }

    // Given 1 / (ZZ ZZZ), which is zero at infinity.
    CUZK_FN Affine<F> to_affine(const F &inverse) const {
        return {x * (inverse * zzz), y * (inverse * zz)};
    }
};

typedef Affine<Fq> G1Affine;
typedef Affine<Fq2> G2Affine;

} // namespace cuzk
