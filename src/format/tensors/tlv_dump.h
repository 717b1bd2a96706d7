// The dump file of nano devices, cann.md 3.3: the content of dump_data.h's protobuf message as tags, lengths
// and values, all little endian.
//   u64 header length | u32 magic 0x5A5A5A5A | u32 version | TLV 4: inputs | TLV 5: outputs | payload
//   TLV of tensors   u32 tag, u32 length, u32 count, items
//   item             i32 dtype, format, address type [outputs: original index, dtype, format]; u64 address,
//                    offset, size; u32 length of the TLVs that follow: 0 shape and 1 original shape (u64
//                    each), 2 original name
// The payload holds inputs, then outputs. Element types have the numbers of the C interface, not those of
// dump_data.h; what is read here has the latter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "format/tensors/dump_data.h"

namespace opdump::format {

// True if the number after the length is this format's.
bool is_tlv_dump(std::span<const std::byte> file);

// A missing detail of a tensor: another tag is in its position, or too few bytes for a value.
struct TlvGap {
  std::uint32_t wanted = 0, found = 0;  // tags
  std::uint32_t length = 0;             // of what was found
};

// Reads the header at the start of `file`, all of its bytes; notes gaps if `gaps` is given. Every Extent lies
// in the file; where it is shorter than announced there is none. Types that have no number in dump_data.h are
// -1. Errors: corrupt, limit.
Result<DumpData> decode_tlv_dump(std::span<const std::byte> file, std::vector<TlvGap>* gaps = nullptr);

}  // namespace opdump::format
