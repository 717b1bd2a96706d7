"""Records TensorFlow. Modules of this package import it; the package itself imports nothing."""
