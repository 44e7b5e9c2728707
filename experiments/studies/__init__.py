"""Studies: sweeps that answer a question about a protocol, and say what they found."""

from experiments.studies.timeouts import TimeoutStudy, study_timeouts

__all__ = ["TimeoutStudy", "study_timeouts"]
