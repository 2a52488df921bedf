// Affine additions that share an inversion: the caller multiplies many denominators and inverts the product once.
#pragma once
#include "points.cuh"

namespace cuzk {

// The denominator of the slope through p and q. It is one where the sum needs no slope, so never zero.
template <class F> CUZK_FN F slope_denominator(const Affine<F> &p, const Affine<F> &q) {
    F dx = q.x - p.x;
    if (!dx.is_zero() && !p.is_infinity() && !q.is_infinity()) return dx;
    if (p.is_infinity() || q.is_infinity()) return F::one();
    F sum = p.y + q.y;
    return sum.is_zero() ? F::one() : sum;
}

// p + q with a slope that the caller knows: (x3, y3) = (s^2 - xp - xq, s (xp - x3) - yp).
template <class F> CUZK_FN Affine<F> add_with_slope(const Affine<F> &p, const F &xq, const F &slope) {
    F x = slope.square() - p.x - xq;
    return {x, slope * (p.x - x) - p.y};
}

// p + q, given the inverse of slope_denominator(p, q).
template <class F>
CUZK_FN Affine<F> add_with_inverse(const Affine<F> &p, const Affine<F> &q, const F &inverse) {
    F dx = q.x - p.x;
    if (!dx.is_zero() && !p.is_infinity() && !q.is_infinity())
        return add_with_slope(p, q.x, (q.y - p.y) * inverse);
    if (p.is_infinity()) return q;
    if (q.is_infinity()) return p;
    if ((p.y + q.y).is_zero()) return Affine<F>::infinity();
    F square = p.x.square();
    return add_with_slope(p, q.x, (square.twice() + square) * inverse);
}

} // namespace cuzk
