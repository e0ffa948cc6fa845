"""The data types that all other folders use, and helpers for arrays, names and text.

Free to change: everything but meaning. A history state is a row of words and an observation, and
equal rows mean the same in every log, process and file; sums of rewards are exact until they are
rounded, once. On both rests that the same rows give the same answer however they lie.
"""
