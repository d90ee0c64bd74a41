"""The backends that come with janus-jax: plain NumPy, and JAX for CPUs, GPUs and TPUs.

Each module stands alone, and of the core it sees the contract only
(:mod:`janus_jax.interface` and the random streams and errors that the contract rests on). Importing
this package imports neither of them.
"""
