"""A first look at a log: which column is what, how to read it, and a rule to start from.

    looking   what stands in each column
    timing    was a column known before the action, or does it tell what came of it?
    parts     which column plays which part, with reasons
    ranges    where to cut a column of readings, and what was done depends on
    drafting  all settings of the project file
    rule      the rule that the log was made by, as far as the log shows it
    telling   the draft, read back in plain words
    writing   all of it as a commented project file and controller file

Everything here is a proposal to a person. Free to change: all of it. Nothing a certificate rests on
is decided here.
"""

from jumar.draft.drafting import Draft, draft

__all__ = ["Draft", "draft"]
