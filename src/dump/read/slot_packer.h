// Slots as bytes, a tenth of what they take otherwise: a dump may have millions of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/packing.h"
#include "dump/read/operator_run.h"

namespace opdump::dump {

class SlotPacker {
 public:
  // Appends `slot` to `bytes`. The name of a file in `directory` is kept without it.
  void pack(std::string& bytes, const Slot& slot, std::string_view directory);
  // What this packer has packed, with the same directory.
  Slot unpack(Unpacker& in, std::string_view directory) const;

 private:
  std::uint32_t number_of(const SlotStatistics::Names& names);
  std::vector<SlotStatistics::Names> names_;  // of columns: those of each table
};

}  // namespace opdump::dump
