// What became of a pair of slots, as bytes (base/packing.h).
#pragma once

#include <string>

#include "base/packing.h"
#include "compare/compare.h"

namespace opdump::compare {

// Everything but the slots themselves.
void pack_result(std::string& bytes, const SlotComparison& slot);
SlotComparison unpack_result(Unpacker& in);

}  // namespace opdump::compare
