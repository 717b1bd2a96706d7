// Which operators of an optimizer belong to the update of one parameter, by the recorded wiring: those that
// hand tensors to one another, or read the same gradient or parameter. Two runs may update parameters in
// another order, or in other groups.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compare/facts/element_lists.h"
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

// An operator, by its place in the frame, or one element of its lists.
struct UpdatePart {
  std::uint32_t place = 0, element = 0;
  auto operator<=>(const UpdatePart&) const = default;
};

struct ParameterUpdate {
  std::vector<UpdatePart> parts;        // ascending
  std::vector<std::uint32_t> counters;  // by their place in the frame: they run between them and read nothing
                                        // of others, ascending
  std::vector<UpdateSource> sources;    // ascending
};

// Whether an operator of this full name belongs to an optimizer, also where no execution says so.
inline bool is_of_optimizer(std::string_view name) { return name.starts_with("Default/optimizer-"); }

struct Updates {
  std::vector<ParameterUpdate>
      of_parameters;  // in order of execution; without those that read nothing of others
  std::unordered_map<std::uint32_t, ElementLists> lists;  // of operators that have some, by their place
};

// Empty if nothing is recorded.
Updates find_updates(const FrameRuns& part);

}  // namespace opdump::compare
