// Texts that are kept by the million until all of them go: one behind the other, each after its length,
// beyond some megabytes in files that the system may put on the disk (base/scratch.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/scratch.h"

namespace opdump {

class TextBlocks {
 public:
  // The place of a copy of `text`, or nothing: all of them may have 4 GiB, and there must be room.
  std::optional<std::uint32_t> add(std::string_view text);
  std::string_view at(std::uint32_t place) const;

  // Of a part of a kept text; it goes with part().
  std::uint32_t place_of_part(std::uint32_t place, std::string_view part) const;
  std::string_view part(std::uint32_t place, std::size_t size) const { return {pointer(place), size}; }

 private:
  static constexpr std::uint64_t kBlockBytes = 1 << 20;
  const char* pointer(std::uint32_t place) const;
  bool make_room(std::uint64_t bytes);

  struct Block {
    Scratch memory;  // empty if it is a part of the one before
    char* begin = nullptr;
  };
  std::vector<Block> blocks_;
  std::uint64_t used_ = 0;  // of all blocks; texts that are longer than a block have several
};

}  // namespace opdump
