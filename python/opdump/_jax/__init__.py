"""Records the modules of Flax. Modules of this package import JAX; the package itself imports nothing."""
