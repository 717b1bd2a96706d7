// Which operators of an optimizer belong to the update of one parameter, by the recorded wiring: those that
// hand tensors to one another, or read the same gradient or parameter. Two runs may update parameters in
// another order, or in other groups.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compare/pairs/frame/frame.h"

namespace opdump::compare {

// An output of an operator outside of the optimizer that an update reads: a gradient, a parameter's first
// value.
struct UpdateSource {
  std::uint32_t maker = 0, output = 0;  // by its place in the frame
  std::string name;                     // instead of a place: of views, which later steps do not list
  std::int64_t steps_before = 0;        // it ran so many steps before the frame's
  auto operator<=>(const UpdateSource&) const = default;
};

struct ParameterUpdate {
  std::vector<std::uint32_t> operators;  // by their place in the frame, ascending
  std::vector<std::uint32_t> counters;   // that run between them and read nothing of others, ascending
  std::vector<UpdateSource> sources;     // ascending
};

// Whether an operator of this full name belongs to an optimizer, also where no execution says so.
inline bool is_of_optimizer(std::string_view name) { return name.starts_with("Default/optimizer-"); }

// In order of execution; without those that read nothing of others. Empty if nothing is recorded.
std::vector<ParameterUpdate> find_updates(const FrameRuns& part);

}  // namespace opdump::compare
