"""The module under the name that it had in CANN 5."""

from conversion.shape_format_conversion import FormatConversionMain  # noqa: F401
