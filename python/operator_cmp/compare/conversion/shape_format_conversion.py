"""FormatConversionMain: converts dump files as `msaccucmp convert -f`."""

from __future__ import annotations

from dump_parse.dump_data_parser import DumpDataParser


class FormatConversionMain(DumpDataParser):
    """`arguments` has a format, too, and may have input, output, shape and custom_script_path."""

    _WORDS = (("format", "-f"), ("input", "-i"), ("output", "-o"), ("shape", "-s"), ("custom_script_path", "-c"))

    def _options(self) -> list[str]:
        given = [(word, getattr(self.arguments, name)) for name, word in self._WORDS]
        return super()._options() + [text for word, value in given if value for text in (word, str(value))]

    def convert_format(self) -> int:
        """Converts dump_path; returns an exit code."""
        return self.parse_dump_data()
