#include "compare/facts/operator_kind.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>
#include <vector>

#include "model/operator.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

std::string plain(std::string_view type) {
  // TensorFlow's versions: "AddV2"
  if (type.size() > 2 && type[type.size() - 2] == 'V' &&
      std::isdigit(static_cast<unsigned char>(type.back())) != 0)
    type.remove_suffix(2);
  std::string text;
  for (const char c : type)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (std::size_t first = 0; first <= text.size();) {
    const std::size_t end = std::min(text.find(separator, first), text.size());
    if (end > first) pieces.push_back(text.substr(first, end - first));
    first = end + 1;
  }
  return pieces;
}

}  // namespace

OperatorKind kind_of(std::string_view type) {
  std::string name = plain(type);
  const model::KindInTable found = model::find_kind(name);
  const OperatorRole role = found.moves   ? OperatorRole::moves
                            : found.makes ? OperatorRole::makes
                                          : OperatorRole::computes;
  return {found.name.empty() ? std::move(name) : std::string(found.name), role};
}

std::string module_path(std::string_view name) {
  const bool has_classes = name.starts_with("Default/") || name.starts_with(model::kGradients);
  std::vector<std::string_view> scopes = split(name, '/');
  if (!scopes.empty()) scopes.pop_back();
  if (has_classes && !scopes.empty()) scopes.erase(scopes.begin());
  std::vector<std::string_view> path;
  for (std::string_view scope : scopes) {
    if (has_classes) scope = scope.substr(0, scope.rfind('-'));
    const std::vector<std::string_view> parts = split(scope, '.');
    // "layer1.0" in "layer1" is "0"
    std::size_t known = std::min(parts.size(), path.size());
    while (known > 0 && !std::equal(path.end() - static_cast<std::ptrdiff_t>(known), path.end(),
                                    parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(known)))
      --known;
    path.insert(path.end(), parts.begin() + static_cast<std::ptrdiff_t>(known), parts.end());
  }
  std::string text;
  for (const std::string_view piece : path) text.append(text.empty() ? "" : ".").append(piece);
  return text;
}

std::string_view framework_of(std::string_view runtime) { return runtime.substr(0, runtime.find(' ')); }

}  // namespace opdump::compare
