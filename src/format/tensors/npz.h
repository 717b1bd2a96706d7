// NumPy's .npz: a zip archive of .npy files, as numpy.savez and savez_compressed make it. Read by its central
// directory (PKWARE's APPNOTE 4.3, with the 64-bit records that NumPy writes); members are stored or
// deflated. Encrypted and split archives are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/file/scratch.h"
#include "base/result.h"
#include "format/tensors/dump_data.h"
#include "format/tensors/npy.h"

namespace opdump::format {

struct NpzMember {
  std::string name;  // "conv1.weight.npy"; NumPy's name of the array is it without ".npy"
  Extent stored;     // in the archive, deflated or as it is
  bool is_deflated = false;
  std::uint64_t bytes = 0;  // of the .npy file
};

// True for the first bytes of a zip archive that has members.
bool is_npz(std::span<const std::byte> start);

// Calls take(member) for each member whose name ends in ".npy", in the order of the archive. `file` is all of
// it; every Extent lies in it, and no member's stated size exceeds what its bytes can expand to. Nothing is
// kept, because there may be a million. Errors: corrupt, unsupported, limit; take() is not called then.
using TakeNpzMember = std::function<void(const NpzMember& member)>;
Result<> list_npz(std::span<const std::byte> file, const TakeNpzMember& take);

// The same of each member of a zip archive whose name ends in `end`.
Result<> list_zip(std::span<const std::byte> file, std::string_view end, const TakeNpzMember& take);

// The header of the array; its data_offset counts from the start of the .npy file. Errors: as
// decode_npy_header; corrupt.
Result<NpyHeader> read_npz_header(std::span<const std::byte> file, const NpzMember& member);

// All bytes of a member that is `stored` so in the archive, aligned for any element. Errors: corrupt -- other
// than `bytes` bytes come out, or cannot; as Scratch::make.
Result<Scratch> inflate(std::span<const std::byte> stored, std::uint64_t bytes);

}  // namespace opdump::format
