#include "model/operator.h"

namespace opdump::model {

std::string sanitise_name(std::string_view name) {
  std::string text(name);
  for (char& c : text)
    if (c == '/' || c == '\\' || c == '.' || c == ' ') c = '_';
  return text;
}

std::string format_source(const Operator& op) {
  if (op.source_file.empty()) return {};
  return op.source_file + ":" + std::to_string(op.source_line);
}

}  // namespace opdump::model
