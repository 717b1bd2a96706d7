#include "dump/read/files/slot_file.h"

#include <algorithm>
#include <cstdint>

#include "format/tensors/npy.h"

namespace opdump::dump {

Result<MappedFile> map_slot_file(const Slot& slot) {
  if (slot.part) return MappedFile::open_part(slot.file, 0, slot.part->offset + slot.part->bytes);
  // An .npy file, whose header need not be the shortest and whose elements may be wider than the slot's.
  constexpr std::uint64_t kStart = 12 + format::kMaxNpyHeader, kLargestElement = 16;
  const auto count = slot.shape ? model::element_count(*slot.shape) : std::nullopt;
  if (!count || *count >= slot.file_bytes / kLargestElement) return MappedFile::open(slot.file);
  return MappedFile::open_part(slot.file, 0, std::min(slot.file_bytes, kStart + *count * kLargestElement));
}

}  // namespace opdump::dump
