// Tensors as an accelerator would have them in its memory: for dumps that are to look like those of a device.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "dump/write/scheme_writer.h"
#include "model/format.h"

namespace opdump::dump {

// The members of a call, those that have to be converted with memory of their own.
struct StoredMembers {
  std::vector<SchemeWriter::Member> members;
  std::vector<std::unique_ptr<std::byte[]>> memory;
};

// Each tensor in the first of `formats` that its own can be converted to; others stay as they are. Tensors of
// less than two dimensions and of packed dtypes stay. Errors: corrupt (a shape that overflows).
Result<StoredMembers> store_in_formats(std::span<const SchemeWriter::Member> members,
                                       std::span<const model::Format> formats);

}  // namespace opdump::dump
