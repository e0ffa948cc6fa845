"""What is to be said about a result, computed once, before anything is shown.

Free to change: sentences and their order. Held in place: `verdict` says what each verdict may show,
and every number goes through `evidence.plausible`.
"""
