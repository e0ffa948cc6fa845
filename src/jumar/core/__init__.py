"""The data types that all other folders use, and helpers for arrays, names and text."""
