#include "model/operator_traits.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/text/json.h"
#include "base/text/text.h"
#include "model/operator_traits_table.h"

namespace opdump::model {
namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using TextSet = std::unordered_set<std::string, TextHash, std::equal_to<>>;

std::vector<std::string> texts_of(const nlohmann::json& object, const char* key) {
  std::vector<std::string> texts;
  if (const auto found = object.find(key); found != object.end())
    for (const nlohmann::json& text : *found) texts.push_back(text.get<std::string>());
  return texts;
}

struct Pattern {
  TextSet is, but;
  std::vector<std::string> begins, contains;

  bool matches(std::string_view type) const {
    if (is.contains(type)) return true;
    const auto begins_so = [&](const std::string& text) { return type.starts_with(text); };
    if (std::ranges::any_of(begins, begins_so)) return true;
    if (contains.empty()) return false;
    const std::string lower = to_lower(type);
    return !but.contains(lower) && std::ranges::any_of(contains, [&](const std::string& text) {
      return lower.find(text) != std::string::npos;
    });
  }
};

struct TraitTable {
  std::array<Pattern, std::size(kTraitNames)> traits;
  std::unordered_map<std::string, KindInTable, TextHash, std::equal_to<>> kinds;
  std::vector<std::string> kind_names;
};

TraitTable read_table() {
  TraitTable table;
  const nlohmann::json root = parse_json(kOperatorTraits);
  for (std::size_t i = 0; i < std::size(kTraitNames); ++i) {
    const nlohmann::json& trait = root["traits"][std::string(kTraitNames[i])];
    Pattern& pattern = table.traits[i];
    for (std::string& text : texts_of(trait, "is")) pattern.is.insert(std::move(text));
    for (std::string& text : texts_of(trait, "but")) pattern.but.insert(std::move(text));
    pattern.begins = texts_of(trait, "begins");
    pattern.contains = texts_of(trait, "contains");
  }
  table.kind_names.reserve(root["kinds"].size());  // which the kinds point into
  for (const auto& [name, types] : root["kinds"].items()) {
    const std::string& kept = table.kind_names.emplace_back(name);
    for (const nlohmann::json& type : types) table.kinds[type.get<std::string>()].name = kept;
  }
  for (const std::string& type : texts_of(root, "moves")) table.kinds[type].moves = true;
  for (const std::string& type : texts_of(root, "makes")) table.kinds[type].makes = true;
  return table;
}

const TraitTable& table() {
  static const TraitTable kTable = read_table();
  return kTable;
}

}  // namespace

bool has_trait(std::string_view type, Trait trait) {
  return table().traits[static_cast<std::size_t>(trait)].matches(type);
}

KindInTable find_kind(std::string_view plain_type) {
  const auto found = table().kinds.find(plain_type);
  return found == table().kinds.end() ? KindInTable() : found->second;
}

}  // namespace opdump::model
