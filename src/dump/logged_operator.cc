#include "dump/logged_operator.h"

#include <string_view>

namespace opdump::dump {
namespace {

// The path of a file below the folder of installed packages; empty if it is not in one.
std::string_view path_in_packages(std::string_view file) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"})
    if (const std::size_t at = file.rfind(folder); at != std::string_view::npos)
      return file.substr(at + folder.size());
  return {};
}

}  // namespace

std::string describe_source(const LoggedOperator& op) {
  std::string text = model::format_source(op);
  if (text.empty() || op.stack.empty() || !path_in_packages(op.source_file).empty()) return text;
  const model::Frame& caller = op.stack.front();
  const std::string_view path = path_in_packages(caller.file);
  if (!path.empty()) text.append(" by ").append(path).append(":").append(std::to_string(caller.line));
  return text;
}

}  // namespace opdump::dump
