// Python's pickle (protocols 2 to 5), as far as torch.save needs it. Objects are described, never made:
// nothing is imported or called, so that a file of any origin can be read. What a pickle says of classes that
// are unknown here is kept as a call with its arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace opdump::format {

// A value; those that it consists of are numbers in Pickle::values.
struct PickleValue {
  enum class Kind : std::uint8_t {
    other,       // None, a float, bytes, ...
    number,      // an integer or a boolean
    text,        // a string
    name,        // "torch FloatStorage": what Python would import
    list,        // a list, a tuple or a set
    dict,        // keys and values in turn; also an OrderedDict
    call,        // `items` are what would be called, and the tuple of its arguments
    persistent,  // the only item says what lies outside of the pickle
  };
  Kind kind = Kind::other;
  std::int64_t number = 0;
  std::string text;
  std::vector<std::uint32_t> items;
};

struct Pickle {
  std::vector<PickleValue> values;
  std::uint32_t root = 0;
};

// Errors: corrupt; unsupported -- an opcode that torch.save does not write; limit -- more than 16 MiB.
Result<Pickle> decode_pickle(std::span<const std::byte> bytes);

}  // namespace opdump::format
