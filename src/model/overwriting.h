// Operators of torch that write to tensors without reading them.
#pragma once

#include <string_view>

namespace opdump::model {

// Whether operators of a type only write to the tensors that are their first arguments and their outputs:
// what was there before has no meaning.
bool only_overwrites(std::string_view type);

}  // namespace opdump::model
