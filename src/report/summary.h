// A comparison in a few sentences. The last one names the first bad operator.
#pragma once

#include <string>

#include "compare/compare.h"

namespace opdump::report {

// "compared 1304 of 1304 tensors in 412 of 412 operators (1.2 GiB)", and unpaired operators.
std::string coverage_line(const compare::Comparison& comparison);

// One of
//   first bad operator: Default/fc/addmm-op3 (forward, step 0) at train.py:31 — inputs match, output differs
//     (cosine 0.981, max abs 0.37)
//   no difference: 412 operators, 1304 tensors compared
//   no difference found, but the result is incomplete: 400 operators, 1290 tensors compared
//   nothing compared: ...
// on one line, without a line feed.
std::string conclusion(const compare::Comparison& comparison);

// "0.981"; where so few digits would say 1 although elements differ, "1-2.3e-12", or nothing.
std::string format_cosine(const math::Metrics& metrics);

// "(3,0,7)": where element number `index` of row-major elements is.
std::string format_position(std::uint64_t index, const model::Shape& shape);

// The remark for one slot: "cosine 0.981, max abs 0.37", "shape (2,3) against (3,2)"; empty if there is
// no remark.
std::string describe_slot(const compare::SlotComparison& slot);

}  // namespace opdump::report
