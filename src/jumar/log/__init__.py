"""Logs: files of any kind in, episodes or shards of rows out.

Free to change: how files are read, as long as the same file gives the same rows, and a bad one an
error with file, row, column, fact and remedy. Held in place: an episode belongs to the shard in
which it begins, and its hash is that of its label, by which the gate deals episodes.
"""
