// Address space into which a thread maps files one after the other, and which is given back as a whole. To
// unmap a file that was read, the system interrupts each processor that runs another thread of the process;
// for files of some hundred kilobytes that takes longer than what is done with them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "base/file/fd.h"

namespace opdump {

// Files must be smaller to be worth it, and so that not much stays mapped beyond its time.
inline constexpr std::size_t kMostInRoom = 1 << 20;

// A file and the room that it is mapped into, which exists while anybody has it; a thread has its last one.
struct RoomMapping {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> room;
};

// The first `size` bytes of a file, read-only. Nothing if the system has no room, or does not map the file.
std::optional<RoomMapping> map_into_room(const Fd& fd, std::size_t size);

}  // namespace opdump
