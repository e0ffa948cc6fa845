"""Logs that do not fit into memory, or lie in many places: counted where they lie, in one pass.

log_files   a file of a log, here or in a store
datasets    the files of a ``pyarrow.dataset``
shards      which files, and which parts of them, make up a log
rows        batches of a file as plain arrays, ready for a compiled loop
constant    does an episode name one cluster?
kernels     the loops: rows in, counts out; a log may be cut anywhere between two rows
tally       counts that grow: a table over a small memory, a hash over a large one
counted     what was counted: parts add up exactly, in any order
files       the same in a Parquet file, `about` with what it says about itself
counting    all of it: `count_logs`

Free to change: how rows are decoded and counted. Held in place: counts are exact in any order, an
episode belongs to the shard in which it begins, and its hash is that of its label: the test deals
episodes by it.
"""
