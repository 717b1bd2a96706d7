// Who made what the calls of an operator read, as the recorder saw it. Page: docs/formats/operators.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace opdump::dump {

struct CallWiring {
  // How an input lies in what its maker made.
  enum class As : std::uint8_t {
    whole,    // it is that output, unchanged
    view,     // other elements of the same memory, or the same in another order
    changed,  // other operators have written to some of its elements since
  };

  // An output of an operator.
  struct Maker {
    std::string name = {};          // full name of the operator, which has the graph_id of the reader
    std::uint32_t number = 0;       // of the operator in Runs; 0: the log does not have it
    std::uint32_t output = 0;       // operand index
    std::int64_t steps_before = 0;  // 0: the reader's step
    bool operator==(const Maker&) const = default;
  };

  // Where an input begins in the row-major elements of its maker's output, and how far it moves with each of
  // its dimensions, in elements.
  struct View {
    std::int64_t offset;
    std::vector<std::int64_t> strides;
    bool operator==(const View&) const = default;
  };

  struct Input {
    std::uint32_t index = 0;          // operand index
    std::optional<Maker> maker = {};  // nothing: see is_outside
    bool is_outside = false;          // no recorded operator made it; else, without a maker, nobody knows
    bool is_overwritten = false;      // it is replaced without being read, as what copy_ writes to
    bool is_view = false;
    std::optional<View> view = {};       // nothing of a view: it is not known, or not that simple
    std::vector<Maker> changed_by = {};  // the last one first; at most kMaxChanges
    bool operator==(const Input&) const = default;

    As as() const { return !changed_by.empty() ? As::changed : is_view ? As::view : As::whole; }
  };
  static constexpr std::size_t kMaxChanges = 8;

  std::vector<Input> inputs = {};  // of which something is known, by index
  bool operator==(const CallWiring&) const = default;

  // Returns null if nothing is known of that input.
  const Input* find(std::uint32_t index) const {
    const auto found = std::ranges::lower_bound(inputs, index, {}, &Input::index);
    return found != inputs.end() && found->index == index ? &*found : nullptr;
  }
};

}  // namespace opdump::dump
