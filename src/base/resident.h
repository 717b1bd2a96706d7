// Large mapped files. What was read of them counts as memory of the process until it is unmapped, however
// large they are, although the system keeps it cached anyway. So while much is mapped, a thread looks how
// much of it the process has, and gives the pages back when they are many; whoever reads them again finds
// them in the system's cache. Code that walks over elements need not care.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/file.h"

namespace opdump {

// Smaller mappings are not worth it.
inline constexpr std::uint64_t kLeastMapping = 1 << 20;

// What mapped files may take of the process, about, before their pages are given back; no thread looks while
// less than this is mapped.
inline constexpr std::uint64_t kResidentBytes = 128 << 20;

// From here on until forget_mapping() the pages of the mapping may be given back at any time: it must be of
// the file `fd` from its start, whose contents come again. Small ones are ignored.
void note_mapping(std::span<const std::byte> mapped, const Fd& fd);
void forget_mapping(std::span<const std::byte> mapped);

// To be called in a child of the process that works on: it has the mappings of its parent, and not its
// threads.
void watch_mappings();

// Reads of a large mapping here and there, past it: a page that is touched may bring two megabytes with it,
// whatever it was told (Linux 6.18).
class MappingReader {
 public:
  // Of the mapping that `bytes` lie in; nothing if it is not large, or none. It must stay.
  static std::optional<MappingReader> find(std::span<const std::byte> bytes);

  // Copies `bytes` of the mapping to `to`.
  void read(std::span<const std::byte> bytes, std::byte* to) const;

 private:
  MappingReader(int fd, const std::byte* begin) : fd_(fd), begin_(begin) {}
  int fd_;
  const std::byte* begin_;
};

}  // namespace opdump
