#!/usr/bin/env python3
"""make_permutations - what test_permutation.c expects, computed apart from the program. Needs Debian's python3-scipy.

    /usr/bin/python3 tests/data/statistics/make_permutations.py > tests/data/statistics/permutations.txt

flips       differences, one a picture; then the p of every pattern of signs (up to 16 that are not 0, in exact
            fractions), or of the 9999 patterns that src/base/permutation.h draws, replayed with NumPy; and
            what scipy.stats.permutation_test(permutation_type='samples') answers: the same for few, from
            99999 patterns of its own for many
holm        the p of a family, then as many adjusted ones, from the definition: the largest of
            (n - number of smaller ones) p over all p up to its own
error       n, then values and weights; the standard error of their ratio
smallest    deviation of the paired differences, pictures; the smallest difference for 80 % power; and the
            share of 4000 simulated samples with that true mean that a sign-flip test finds at p <= .05
"""
import itertools
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

import numpy
from scipy import stats

MASK = (1 << 64) - 1
ROUNDS = 9999


def splitmix(seed):
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def exact(differences):
    d = [Fraction(x) for x in differences if x != 0]
    if not d:
        return 1.0
    seen = abs(sum(d))
    n_large = sum(abs(sum(s * x for s, x in zip(signs, d))) >= seen for signs in itertools.product((1, -1), repeat=len(d)))
    return float(Fraction(n_large, 2 ** len(d)))


def drawn(differences):
    d = numpy.array([x for x in differences if x != 0])
    numbers = splitmix(1)
    signs = numpy.ones(len(d), dtype=int)
    n_large = 0
    for _ in range(ROUNDS):
        words = [next(numbers) for _ in range((len(d) + 63) // 64)]
        bits = numpy.array([words[i // 64] >> (i % 64) & 1 for i in range(len(d))])
        signs = numpy.where(bits, -signs, signs)
        n_large += abs((signs * d).sum()) >= abs(d.sum()) - 1e-9 * abs(d).sum()
    return (1 + n_large) / (1 + ROUNDS)


def line(name, *numbers):
    print(name, *(repr(float(x)) for x in numbers))


def flips(differences):
    n = sum(x != 0 for x in differences)
    line("flips", *differences)
    line("p", exact(differences) if n <= 16 else drawn(differences))
    if len(differences) < 2:
        return
    answer = stats.permutation_test((differences, numpy.zeros(len(differences))), lambda x, y: numpy.mean(x - y),
                                    permutation_type="samples", n_resamples=99999 if n > 16 else numpy.inf, random_state=7)
    line("scipy", answer.pvalue)


draw = numpy.random.default_rng(20261118)
flips([])
flips([0.0, 0.0])
flips([1.0])
flips([1.0, 1.0, 1.0, 1.0, 1.0, -1.0])
flips([0.5, 0.25, -0.125, 1.0, 0.0, 0.75])
flips(draw.integers(-2, 3, size=12).astype(float))
flips(draw.integers(-1, 2, size=18).astype(float))  # some are 0
flips(numpy.round(draw.normal(0.4, 1, size=16) * 64) / 64)
flips(draw.normal(0.3, 1, size=17))
flips(draw.normal(0.0, 1, size=60))
flips(draw.integers(-1, 2, size=90).astype(float))
flips((draw.uniform(size=64) < 0.7) - (draw.uniform(size=64) < 0.4).astype(float))
flips(draw.normal(0.25, 1, size=95))
flips(numpy.full(40, 1 / 3))


def holm(*p):
    n = len(p)
    line("holm", *p)
    line("adjusted", *(min(1.0, max((n - sum(r < q for r in p)) * q for q in p if q <= mine)) for mine in p))


holm(0.01, 0.04, 0.03, 0.005)
holm(0.2)
holm(0.6, 0.6, 0.6)
holm(0.02, 0.02, 0.5, 0.001)
holm(*numpy.round(draw.uniform(size=40) ** 3, 4))


def error(value, weight):
    n = len(value)
    r = value.sum() / weight.sum()
    line("error", *value, *weight)
    line("is", sqrt(n / (n - 1) * ((value - r * weight) ** 2).sum()) / weight.sum())


error(draw.normal(size=9), numpy.ones(9))
error(draw.normal(size=30), draw.integers(1, 6, size=30).astype(float))
error(numpy.array([1.0, 2.0]), numpy.array([1.0, 3.0]))


def smallest(deviation, n):
    z = NormalDist().inv_cdf
    delta = (z(0.975) + z(0.8)) * deviation / sqrt(n)
    found = 0
    for _ in range(4000):
        d = draw.normal(delta, deviation, size=n)
        signs = draw.integers(0, 2, size=(499, n)) * 2 - 1
        found += (1 + (abs(signs @ d) >= abs(d.sum())).sum()) / 500 <= 0.05
    line("smallest", deviation, n, delta, found / 4000)


smallest(1.0, 40)
smallest(0.3, 150)
smallest(45.0, 60)
