// Large mapped files. What was read of them counts as memory of the process until it is unmapped, however
// large they are, although the system keeps it cached anyway. So whoever walks over much memory says so, and
// from time to time all that is mapped is given back; who reads it again finds it in the system's cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/file.h"

namespace opdump {

// Smaller mappings are not worth it.
inline constexpr std::uint64_t kLeastMapping = 1 << 20;

// Bytes that are walked over before pages are given back: about what mapped files take of the process.
inline constexpr std::uint64_t kResidentBytes = 128 << 20;

// From here on until forget_mapping() the pages of the mapping may be given back at any time: it must be of
// the file `fd` from its start, whose contents come again. Small ones are ignored.
void note_mapping(std::span<const std::byte> mapped, const Fd& fd);
void forget_mapping(std::span<const std::byte> mapped);

// Some thread has read or written `bytes` of what may be mapped. Cheap enough for each megabyte.
void note_walk(std::uint64_t bytes);

// Some thread has read or written here and there, so that more pages are taken than bytes tell: the system is
// asked how much the process has. Cheap enough for some hundred kilobytes.
void note_jumps();

// The same, cheap enough for each look at some bytes, which are at `place`.
void note_touch(const void* place);

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
