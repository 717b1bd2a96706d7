// Operators that do the same to each element of several lists, as `_foreach_mul_` and `_fused_adamw_` do:
// which tensors belong together, and which element of another run is the same one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "compare/operator_pair.h"
#include "dump/read/operator_run.h"

namespace opdump::compare {

class ElementLists {
 public:
  // Nothing if an execution has no such lists, or no log says which tensors are in them; `form` may be null.
  static std::optional<ElementLists> of(std::string_view type, const dump::CallForm* form);

  std::uint32_t size() const { return size_; }  // of each list; at least 2
  // Which element an input belongs to; nothing if it is in no such list, as a factor for all of them is not.
  std::optional<std::uint32_t> element_of_input(std::uint32_t index) const;
  // Outputs are lists of the same size, one after another.
  std::uint32_t element_of_output(std::uint32_t index) const { return index % size_; }

 private:
  std::uint32_t size_ = 0;
  std::vector<std::uint32_t> firsts_;  // the first input of each list, ascending
};

// Gives the slots and the wiring of actual's execution the numbers that they have in golden.
void use_order_of_golden(dump::OperatorRun& actual, const ElementOrder& order);

}  // namespace opdump::compare
