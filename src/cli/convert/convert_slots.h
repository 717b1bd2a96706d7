// Names and selection of the tensors that `opdump convert` writes.
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

// "rank_0/graph_0/step_3": the path for the tensors of a step of a graph, without extension.
std::filesystem::path place_of(const dump::Runs::Section& section);
// True if both go to the same path.
bool have_same_place(const dump::Runs::Section& a, const dump::Runs::Section& b);

// True if the user selected the slot: `wanted` is its name ("output.0"), its side ("output") or empty.
bool is_meant(const dump::Slot& slot, const std::string& wanted);
// True if a tensor has data and the user selected its slot.
bool is_wanted(const dump::Slot& slot, const std::string& wanted);

// Names for the tensors of one step, unique within the step: "convolution-op0.output.0".
class SlotNames {
 public:
  // The name of the next tensor, of an execution of `op`.
  std::string next(const std::string& op, const dump::Slot& slot);
  // The same as msaccucmp looks for golden data: "conv1.0.1700000000000003", with the time.
  std::string next_golden(const std::string& op, const dump::Slot& slot);

 private:
  std::unordered_map<std::string, std::uint32_t> counts_;  // of each name, how often it was wanted
};

// An array in the layout `format` if the dump records the stored layout; else unchanged. Padding is removed
// if the dump records the original shape. Errors: as dump::StoredTensor::read and
// change_layout.
Result<arrays::Array> open_slot(const dump::Slot& slot, std::optional<model::Format> format,
                                unsigned threads);

}  // namespace opdump::cli
