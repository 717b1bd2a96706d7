#include "cli/source_lines.h"

#include "base/text/text.h"

namespace opdump::cli {
namespace {

using model::SourceSpan;

std::string_view plain_path(std::string_view path) { return path.substr(path.starts_with("./") ? 2 : 0); }

bool is_in_file(std::string_view path, std::string_view file) {
  path = plain_path(path);
  if (!path.ends_with(file)) return false;
  return path.size() == file.size() || file.starts_with('/') || path[path.size() - file.size() - 1] == '/';
}

// "def construct(self, x):" with all its lines.
bool is_function(const SourceSpan& span) {
  const std::string_view code = trim(span.code);
  return span.last_line > span.first_line && (code.starts_with("def ") || code.starts_with("class "));
}

bool overlaps(const SourceSpan& span, const SourceLines& lines) {
  const int last = is_function(span) ? span.first_line : span.last_line;
  return span.first_line <= lines.last && last >= lines.first;
}

}  // namespace

Result<SourceLines> parse_source_lines(std::string_view text) {
  SourceLines lines;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    const std::string_view range = text.substr(colon + 1);
    const std::size_t dash = range.find('-');
    const auto first = parse_int64(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int64(range.substr(dash + 1));
    if (!first || !last || *first < 1 || *last < *first)
      return Error(Code::usage,
                   "--source: '" + std::string(text) + "'; expected FILE, FILE:LINE or FILE:FIRST-LAST");
    lines.first = *first;
    lines.last = *last;
  }
  lines.file = plain_path(text.substr(0, colon));
  if (lines.file.empty()) return Error(Code::usage, "--source: a file is expected");
  return lines;
}

bool made_by(const model::Node& node, const SourceLines& lines) {
  for (const SourceSpan& span : node.source)
    if (is_in_file(span.file, lines.file) && overlaps(span, lines)) return true;
  return false;
}

int line_in(const model::Node& node, const SourceLines& lines) {
  int line = 0;
  for (const SourceSpan& span : node.source)
    if (is_in_file(span.file, lines.file) && !is_function(span)) line = span.first_line;
  return line;
}

}  // namespace opdump::cli
