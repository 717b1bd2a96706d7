// What files were called before their names were too long, as mapping.csv has it, which may have very many.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/text/text_arena.h"

namespace opdump::dump {

class OriginalNames {
 public:
  // If a name has several originals, the last one counts.
  void add(std::string_view name, std::string_view original) {
    originals_[TextArena::view(texts_.add(name))] = texts_.add(original);
  }

  // Stays as long as the object does.
  std::optional<std::string_view> find(std::string_view name) const {
    const auto found = originals_.find(name);
    if (found == originals_.end()) return std::nullopt;
    return TextArena::view(found->second);
  }

 private:
  TextArena texts_;
  std::unordered_map<std::string_view, ArenaText> originals_;
};

}  // namespace opdump::dump
