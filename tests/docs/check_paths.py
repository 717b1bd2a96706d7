#!/usr/bin/env python3
"""Checks that the files which pages name exist: links with their anchors, paths in backquotes and in ```sh blocks.

Usage: check_paths.py REPOSITORY
"""
import pathlib
import re
import sys

# What a path in running text begins with; other words with a slash are names of operators or places in a dump.
TOP = (".ci/", "adapters/", "bench/", "cmake/", "docs/", "examples/", "fuzz/", "include/", "python/", "src/", "tests/", "tools/")


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    for heading in re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def linked(text):
    return re.findall(r"\]\(([^)\s]+)\)", text)


PLACEHOLDER = re.compile(r"(?<![A-Z])(?:NAME|FOLDER|FILE)(?![A-Z])")


def named(text):
    """Paths in backquotes and in sh blocks. Patterns and placeholders (src/**, NAME, {h,cc}) name no file."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for piece in [*re.findall(r"`([^`\n]+)`", prose), *blocks]:
        for word in piece.split():
            word = word.strip("();:,'\"").removeprefix("./")
            is_path = word.startswith(TOP) and re.fullmatch(r"[\w./-]+", word) and not PLACEHOLDER.search(word)
            if is_path or re.fullmatch(r"[A-Za-z_]+\.(?:sh|md)", word):
                yield word


def problems(root, page):
    text = page.read_text(encoding="utf-8")
    for link in linked(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield f"there is no {link}"
        elif anchor and anchor not in anchors(target):
            yield f"{target.name} has no heading for #{anchor}"
    for word in named(text):
        if not (root / word).exists() and not (page.parent / word).exists():
            yield f"there is no {word}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = sorted([*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("examples/**/*.md")])
    found = [f"{page.relative_to(root)}: {problem}" for page in pages for problem in problems(root, page)]
    print("\n".join(found) or f"{len(pages)} pages")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
