"""Files: logs of any kind, controllers, checked documents.

Free to change: how files are read, as long as the same file gives the same `Episodes`, and a bad
one an error with file, row, column, fact and remedy. What is written appears whole or not at all.
"""
