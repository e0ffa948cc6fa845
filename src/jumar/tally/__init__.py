"""The one count table of a log over a memory, and every model that is made of it.

A log is replayed (`replay`) or counted where it lies (`counting`); both give the same tables.
Free to change: how rows are counted. Held in place: counts and sums of rewards are exact in any
order, so that parts add up to the same bits however the log is cut.
"""
