// Texts that are kept by the million, in blocks: one allocation for thousands of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace opdump {

// A text in a TextArena; null where there is none.
using ArenaText = const char*;

class TextArena {
 public:
  // Stays where it is as long as the arena exists, also if that is moved.
  ArenaText add(std::string_view text);
  static std::string_view view(ArenaText text);

 private:
  static constexpr std::size_t kBlockBytes = 1 << 18;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;  // in the last block
  std::size_t left_ = 0;  // there
};

// Each text once, by a number: 0, 1, ... in the order in which they first came.
class InternedTexts {
 public:
  std::uint32_t add(std::string_view text);
  std::optional<std::uint32_t> find(std::string_view text) const;
  std::string_view operator[](std::uint32_t number) const { return texts_[number]; }
  std::size_t size() const { return texts_.size(); }

 private:
  TextArena arena_;
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

}  // namespace opdump
