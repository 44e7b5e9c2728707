"""The stress instrument: matches under seeded schedules and faults, with every invariant checked after every item.

`quorum stress GAME` plays; what it finds is shrunk to the shortest schedule found, shown as a trace and saved as a
file that `quorum stress --replay FILE` repeats.
"""
