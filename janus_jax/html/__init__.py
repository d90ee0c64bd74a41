"""``report.html``: the result as one page that people read; made from the documents alone.

``views`` picks what is shown and ``wording`` says it; ``charts`` and ``behaviour_charts`` say how
it is drawn, of the pieces in ``marks``, and ``drawing`` draws it; ``sections`` and ``panels`` are
the parts of the page that ``page`` puts together; ``together`` says which documents may share one.
``plots`` and ``summary`` are for notebooks.
"""
