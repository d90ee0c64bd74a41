"""Evaluation logs of other tools, read into one shape.

A module for each format turns files into attempts (:mod:`janus_jax.logs.attempt`); what they have
in common happens once, behind them: choosing among filters, scorers, models and runs, and making a
table. No format's own package is needed to read its logs.
"""
