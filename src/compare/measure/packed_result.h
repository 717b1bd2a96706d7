// What became of a pair of slots, as bytes (base/text/packing.h).
#pragma once

#include <string>

#include "base/text/packing.h"
#include "compare/comparison.h"

namespace opdump::compare {

// Everything but the slots themselves.
void pack_result(std::string& bytes, const SlotComparison& slot);
SlotComparison unpack_result(Unpacker& in);

}  // namespace opdump::compare
