"""Policies with finite memory: the controller, how it acts and shrinks, its files.

Free to change: forms of files and how rows are stored. Held in place: a controller is "this, except
here", and lifting one to more memory changes no probability; the bounds compare two policies over
one memory.
"""
