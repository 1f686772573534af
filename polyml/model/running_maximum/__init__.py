"""Sums of terms that depend on a maximum run block by block, with the maximum so far: `running_maximum.in_blocks`.

`correction_rules` has the terms and by what sums of them are corrected where the maximum grows, `corrected_sums` finds statements
that are such sums by the `roles` of their iterators, and `column_blocks` writes them as blocks of columns, with `statement_writer`
and `last_values`.
"""
