"""Logs that do not fit into memory, or lie in many places: read where they lie, in one pass.

An episode belongs to the shard in which it begins; what goes on in the next file is read there.
"""
