#!/usr/bin/env python3
"""make_vectors - what NumPy and SciPy answer, for test_statistics.c. Needs Debian's python3-scipy.

    /usr/bin/python3 tests/data/statistics/make_vectors.py > tests/data/statistics/vectors.txt

A case is a line with its name and numbers of values, the values x, the values y, then the answers. The
bootstrap draws with splitmix64 as src/base/random.h specifies it, so that its rounds are the same ones; means
and percentiles are NumPy's.
"""
import sys

import numpy
import scipy
from scipy import stats

MASK = (1 << 64) - 1


class Splitmix:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        reject = (1 << 32) % n
        while True:
            wide = (self.next() >> 32) * n
            if wide & 0xFFFFFFFF >= reject:
                return wide >> 32


def bootstrap(value, weight, rounds, seed, confidence):
    random = Splitmix(seed)
    drawn = []
    for _ in range(rounds):
        k = numpy.array([random.below(len(value)) for _ in value])
        drawn.append(value[k].sum() / weight[k].sum())
    return numpy.percentile(drawn, [50 * (1 - confidence), 50 * (1 + confidence)])


def line(name, *numbers):
    print(name, *(repr(float(v)) for v in numbers))


def pair(x, y):
    """Everything said about two lists of equal length."""
    print("pair", len(x))
    line("x", *x)
    line("y", *y)
    line("mean", numpy.mean(x))
    line("deviation", numpy.std(x, ddof=1))
    line("quantiles", *numpy.percentile(x, [0, 2.5, 25, 50, 75, 97.5, 100]))
    line("ranks", *stats.rankdata(x))
    line("pearson", stats.pearsonr(x, y)[0])
    line("spearman", stats.spearmanr(x, y)[0])
    line("t", *stats.ttest_rel(x, y))
    d = x - y
    d = d[d != 0]
    is_tied = len(numpy.unique(numpy.abs(d))) < len(d)
    how = "exact" if len(d) <= 50 and not is_tied else "approx"
    line("wilcoxon", *stats.wilcoxon(x, y, zero_method="wilcox", mode=how))
    for confidence in (0.95, 0.8):
        line("bootstrap", confidence, *bootstrap(x, numpy.ones(len(x)), 500, 7, confidence))
    weight = numpy.arange(len(x)) % 5 + 1.0
    line("weighted", 0.95, *bootstrap(x * weight, weight, 500, 11, 0.95))
    line("difference", 0.95, *bootstrap(x - y, numpy.ones(len(x)), 500, 1, 0.95))


print("# python", sys.version.split()[0], "numpy", numpy.__version__, "scipy", scipy.__version__)
draw = numpy.random.default_rng(20260716)
pair(draw.normal(size=12), draw.normal(size=12))
x = draw.normal(size=40)
pair(x, 0.7 * x + draw.normal(size=40))
x = draw.integers(0, 5, size=60).astype(float)  # many ties
pair(x, numpy.minimum(x + draw.integers(-1, 2, size=60), 4.0))
x = draw.exponential(size=90)
pair(x, x * draw.uniform(0.9, 1.2, size=90))
x = (draw.uniform(size=75) < 0.7).astype(float)  # right or wrong
pair(x, (draw.uniform(size=75) < 0.5).astype(float))
for right, n in ((0, 10), (10, 10), (3, 10), (57, 60), (912, 1690), (1, 1000)):
    for confidence in (0.95, 0.9, 0.99):
        low, high = stats.binomtest(right, n).proportion_ci(confidence, method="wilson")
        line("wilson", right, n, confidence, low, high)
