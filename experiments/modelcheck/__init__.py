"""The model check: every order in which a small world's messages can be read, searched breadth first."""

from experiments.modelcheck.config import Config
from experiments.modelcheck.search import Report, check

__all__ = ["Config", "Report", "check"]
