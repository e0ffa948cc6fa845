"""The ground below all rooms: errors, arrays, exact sums, compiled loops, randomness, text, files.

Free to change: everything but two promises. Sums are exact until they are rounded, once; a file
that is written appears whole or not at all.
"""
