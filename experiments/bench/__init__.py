"""Measures the product against a yardstick in the same run, so that figures of different machines compare."""

from experiments.bench.report import print_bench

__all__ = ["print_bench"]
