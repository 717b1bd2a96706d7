#include "origin.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "fields.h"

namespace opdump::onnx {
namespace {

using protozero::pbf_reader;

constexpr protozero::pbf_tag_type kMetadata = 9;  // of a NodeProto
constexpr std::size_t kMaxFrames = 64;

// The last but one of a list of Python, "['', 'layer1', 'layer1.0', 'conv2d']": the last one is the call
// itself.
std::string module_in(std::string_view list) {
  std::string_view last, before;
  for (std::size_t at = list.find('\''); at != std::string_view::npos; at = list.find('\'', at + 1)) {
    const std::size_t end = list.find('\'', at + 1);
    if (end == std::string_view::npos) break;
    before = last;
    last = list.substr(at + 1, end - at - 1);
    at = end;
  }
  return std::string(before);
}

bool is_installed(std::string_view file) {
  return file.find("/site-packages/") != std::string_view::npos ||
         file.find("/dist-packages/") != std::string_view::npos;
}

bool is_of_torch(std::string_view file) {
  return is_installed(file) && file.find("-packages/torch/") != std::string_view::npos;
}

// A line of a traceback: `  File "net.py", line 12, in forward`. Takes nothing of other lines.
void add_frame(std::string_view line, Origin& origin) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kFunction = ", in ";
  const std::size_t file_at = line.find(kFile), line_at = line.find(kLine);
  if (file_at == line.npos || line_at == line.npos || line_at < file_at + kFile.size()) return;
  const std::string_view file = line.substr(file_at + kFile.size(), line_at - file_at - kFile.size());
  const std::string_view rest = line.substr(line_at + kLine.size());
  int number = 0;
  const char* const end = rest.data() + rest.size();
  const auto [after, failed] = std::from_chars(rest.data(), end, number);
  if (failed != std::errc() || number <= 0 || file.empty() || is_of_torch(file)) return;
  std::string_view function(after, static_cast<std::size_t>(end - after));
  if (function.starts_with(kFunction)) function.remove_prefix(kFunction.size());
  origin.frames.push_back(std::string(file) + ":" + std::to_string(number) + ":" + std::string(function));
  // The outermost comes first: a later line of the program is nearer to the operator.
  if (origin.source_file.empty() || !is_installed(file) || is_installed(origin.source_file)) {
    origin.source_file = file;
    origin.source_line = number;
  }
}

void read_traceback(std::string_view text, Origin& origin) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    add_frame(text.substr(0, end), origin);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::ranges::reverse(origin.frames);
  if (origin.frames.size() > kMaxFrames) origin.frames.resize(kMaxFrames);
}

Origin read_origin(std::string_view node) {
  Origin origin;
  for (pbf_reader message(node.data(), node.size()); message.next();) {
    if (message.tag() != kMetadata) {
      message.skip();
      continue;
    }
    std::string_view key, value;
    for (pbf_reader entry = message_of(message); entry.next();) {
      if (entry.tag() == 1)
        key = text_of(entry);
      else if (entry.tag() == 2)
        value = text_of(entry);
      else
        entry.skip();
    }
    if (key == "pkg.torch.onnx.name_scopes") origin.module = module_in(value);
    if (key == "pkg.torch.onnx.stack_trace" && origin.frames.empty()) read_traceback(value, origin);
  }
  return origin;
}

}  // namespace

Origin find_origin(std::string_view node) {
  try {
    return read_origin(node);
  } catch (const protozero::exception&) {
    return {};
  }
}

}  // namespace opdump::onnx
