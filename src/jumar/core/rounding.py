"""What computing with 16 digits leaves behind: told once, relative to what is added or compared."""

ROUNDING = 1e-12  # what is smaller is what rounding left of a sum, and counts as none
ALIKE = 1e-9  # numbers that differ by less are equal: decimals in files, sums of many shares
