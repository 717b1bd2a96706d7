// The tensors of a dump as files of other formats, for `opdump convert`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>

#include "arrays/pieces.h"
#include "base/result.h"
#include "dump/read/dump_set.h"
#include "model/format.h"

namespace opdump::cli {

// "rank_0/graph_0/step_3": where the tensors of a step of a graph go, without an end.
std::filesystem::path place_of(const dump::Runs::Section& section);
// Whether they go to one place.
bool have_same_place(const dump::Runs::Section& a, const dump::Runs::Section& b);

// Whether it is the slot that the user means: "output.0", or any if `wanted` is empty.
bool is_meant(const dump::Slot& slot, const std::string& wanted);
// Whether a tensor has data, and is the one of its operator that the user means.
bool is_wanted(const dump::Slot& slot, const std::string& wanted);

// What the tensors of one step are called: "convolution-op0.output.0", each unlike any other of the step.
class SlotNames {
 public:
  // Of the next tensor, of an execution called `op`.
  std::string next(const std::string& op, const dump::Slot& slot);

 private:
  std::unordered_map<std::string, std::uint32_t> counts_;  // of each name, how often it was wanted
};

// An array in the layout `format`, where the dump says in which it is; else as it lies. What the padding of a
// layout added is cut off where the dump says how large the tensor was. Errors: as dump::StoredTensor::read
// and change_layout.
Result<arrays::Array> open_slot(const dump::Slot& slot, std::optional<model::Format> format,
                                unsigned threads);

}  // namespace opdump::cli
