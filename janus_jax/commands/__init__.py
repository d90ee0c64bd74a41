"""The commands of ``janus-jax``, a module each.

Each has ``add``, which registers its parser and sets ``handler``: called with the options and the
arguments as given, it returns the exit status. Commands only read options and print; the work is
done by the Python functions of the same names.
"""
