"""Somebody's own vectors, matrices or counts → findings; their files, and reports."""

from lab.audit.auditor import Progress, audit
from lab.audit.findings import Audit, Finding

__all__ = ["Audit", "Finding", "Progress", "audit"]
