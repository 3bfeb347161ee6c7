"""Residual Lab's mathematics: exact laws of speculative sampling. No screen in it."""

from lab.binomial import binomial
from lab.errors import LabError
from lab.step import OneStep, one_step
from lab.vectors import parse_vector

__all__ = ["LabError", "OneStep", "binomial", "one_step", "parse_vector"]
