"""Where actors live: one event loop, packed cells, or a Ray actor for each."""

import os

# A cell is a handful of processes on purpose, and Ray warns of that in the middle of what a command prints. Its own
# filter of what drivers are told takes this one out, and leaves all else; Ray reads it as it is imported.
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "worker processes have been started on node")
