"""Renderings for people and machines. Nothing is computed here.

Free to change: all of it, as long as every rendering says what the assessment says.
"""
