"""Statistical truth: is what jumar promises true? Measured on processes whose truth is known.

`processes` lists them, `gates` what is tried on them, `measuring` what is counted, and
`jumar study guarantees -o DIR` does it all.
"""
