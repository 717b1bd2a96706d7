// Large mapped files. What was read of them counts as memory of the process until it is unmapped, however
// large they are, although the system keeps it cached anyway. So while much is mapped, a thread looks how
// much of it the process has, and gives the pages back when they are many; a later reader finds
// them in the system's cache. Fast readers check themselves: on a busy machine the thread may wake too late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/file/fd.h"

namespace opdump {

// Smaller mappings are not worth it.
inline constexpr std::uint64_t kLeastMapping = 1 << 20;

// What mapped files may take of the process, about, before their pages are given back; no thread looks while
// less than this is mapped.
inline constexpr std::uint64_t kResidentBytes = 64 << 20;

// From here on until forget_mapping() the pages of the mapping may be given back at any time: it must be of
// the file `fd` from its start, whose contents come again. Small ones are ignored.
void note_mapping(std::span<const std::byte> mapped, const Fd& fd);
void forget_mapping(std::span<const std::byte> mapped);

// Gives pages back if the last look at them was too long ago. To be called after each megabyte or so by code
// that reads mapped elements as fast as memory allows; costs nanoseconds while nothing is to be done.
void give_back_when_due();

// Call it in a child of the process that works on: it has the mappings of its parent, and not its threads.
void watch_mappings();

// The file behind a large mapping, for code that reads or writes it here and there: a page that is touched
// may map two megabytes around it, whatever madvise() said (Linux 6.18), faster than the thread gives them
// back.
class MappingFile {
 public:
  // Finds the file of the mapping that `bytes` lie in; nothing if it is not large, or none. It must stay.
  static std::optional<MappingFile> find(std::span<const std::byte> bytes);

  // Copies `bytes` of the mapping to `to`, as memcpy() does.
  void read(std::span<const std::byte> bytes, std::byte* to) const;
  // The parts of `bytes` that the file has on disk, in order. Elsewhere it has holes, as sparse files do:
  // there all bytes are 0. All of `bytes` if the file system does not know.
  std::vector<std::span<const std::byte>> stored_parts(std::span<const std::byte> bytes) const;
  // Copies `bytes` to `to` in the mapping, which must be writable.
  void write(std::span<const std::byte> bytes, std::byte* to) const;

 private:
  MappingFile(int fd, const std::byte* begin) : fd_(fd), begin_(begin) {}
  int fd_;
  const std::byte* begin_;
};

}  // namespace opdump
