"""Switches of the original for programs of TensorFlow 1."""


def enable_v1() -> None:
    """Lets sessions use the device. Here they always do."""
