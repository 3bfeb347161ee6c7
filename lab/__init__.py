"""Residual Lab's mathematics: exact laws of speculative sampling. No screen in it."""

from lab.audit import Audit, Finding, audit
from lab.binomial import binomial
from lab.block import block_law, generated_law, target_law
from lab.errors import LabError
from lab.mistakes import MISTAKES
from lab.step import OneStep, one_step
from lab.vectors import parse_vector

__all__ = [
    "MISTAKES",
    "Audit",
    "Finding",
    "LabError",
    "OneStep",
    "audit",
    "binomial",
    "block_law",
    "generated_law",
    "one_step",
    "parse_vector",
    "target_law",
]
